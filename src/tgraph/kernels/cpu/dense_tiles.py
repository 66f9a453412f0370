"""A few rows of a matrix product, kept in registers while all of the depth is added up.

Numba cannot hold an array in registers, so these are written in LLVM's words, as `tgraph.kernels.cpu.row_blocks` are.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

VECTOR_BYTES = 64
WORD, LONG = ir.IntType(32), ir.IntType(64)
FUSED = ("contract",)  # a product and its sum are rounded once
ARGUMENTS = (
    *("a", "a_begin", "a_row", "a_step", "b", "b_begin", "b_step"),
    *("depth", "new", "new_begin", "new_row", "width", "adds"),
)


def build_tile(num_rows: int, num_vectors: int):
    """Return an intrinsic that computes `num_rows` rows and `num_vectors` vectors of columns of a product.

    `tile(a, a_begin, a_row, a_step, b, b_begin, b_step, depth, new, new_begin, new_row, width, adds)` writes
    `new[new_begin + r * new_row + c]` for `c < width`, the sum over k below `depth` of
    `a[a_begin + r * a_row + k * a_step] * b[b_begin + k * b_step + c]`, added to what is there if it `adds`. Arrays are
    contiguous `[N]`, numbers uint64. `width` is more than `num_vectors - 1` vectors and at most `num_vectors`.
    """

    @intrinsic
    def multiply_tile(
        typing_context, a, a_begin, a_row, a_step, b, b_begin, b_step, depth, new, new_begin, new_row, width, adds
    ):
        n = types.uint64
        signature = types.void(a, n, n, n, b, n, n, n, new, n, n, n, types.boolean)

        def codegen(context, builder, signature, values):
            _Tile(context, builder, signature, values, num_rows, num_vectors).emit()
            return context.get_dummy_value()

        return signature, codegen

    return multiply_tile


class _Tile:
    """The code of one tile."""

    def __init__(self, context, builder, signature, values, num_rows, num_vectors) -> None:
        self.context, self.builder, self.num_rows, self.num_vectors = context, builder, num_rows, num_vectors
        self.kinds, self.values = (dict(zip(ARGUMENTS, given, strict=True)) for given in (signature.args, values))
        item = self.kinds["a"].dtype
        self.item_bytes = item.bitwidth // 8
        self.lanes = VECTOR_BYTES // self.item_bytes
        self.element = context.get_value_type(item)
        self.vector = ir.VectorType(self.element, self.lanes)
        lanes = ir.Constant(ir.VectorType(LONG, self.lanes), [LONG(i) for i in range(self.lanes)])
        left = builder.sub(self.values["width"], LONG((num_vectors - 1) * self.lanes))
        self.mask = builder.icmp_unsigned("<", lanes, self._spread(left))  # of the last vector

    def emit(self) -> None:
        """A loop over the depth, then what becomes of the sums."""
        builder, values = self.builder, self.values
        places = [(row, number) for row in range(self.num_rows) for number in range(self.num_vectors)]
        rows = [self._row("a", "a_begin", "a_row", row) for row in range(self.num_rows)]
        columns, before = self._row("b", "b_begin", "b_step", 0), builder.block
        check, body, after = (builder.append_basic_block(name) for name in ("depths", "depth", "summed"))
        builder.branch(check)
        builder.position_at_end(check)
        step, a_place, b_place = (builder.phi(LONG) for _ in range(3))
        sums = [builder.phi(self.vector) for _ in places]
        builder.cbranch(builder.icmp_unsigned("<", step, values["depth"]), body, after)
        builder.position_at_end(body)
        begin = builder.gep(columns, [b_place], inbounds=True)
        vectors = [self._load(begin, number) for number in range(self.num_vectors)]
        spread = [self._spread(builder.load(builder.gep(row, [a_place], inbounds=True))) for row in rows]
        products = [builder.fmul(spread[row], vectors[number], flags=FUSED) for row, number in places]
        new = [builder.fadd(found, product, flags=FUSED) for found, product in zip(sums, products, strict=True)]
        counters = [(step, LONG(1)), (a_place, values["a_step"]), (b_place, values["b_step"])]
        for phi, by in counters:
            phi.add_incoming(LONG(0), before)
            phi.add_incoming(builder.add(phi, by), body)
        for phi, later in zip(sums, new, strict=True):
            phi.add_incoming(ir.Constant(self.vector, [self.element(0.0)] * self.lanes), before)
            phi.add_incoming(later, body)
        builder.branch(check)
        builder.position_at_end(after)
        for (row, number), found in zip(places, sums, strict=True):
            self._write(self._row("new", "new_begin", "new_row", row), number, found)

    def _write(self, begin, number, found) -> None:
        builder = self.builder
        with builder.if_else(self.values["adds"]) as (then, otherwise):
            with then:
                self._store(begin, number, builder.fadd(self._load(begin, number), found))
            with otherwise:
                self._store(begin, number, found)

    def _row(self, array, begin, stride, row):
        place = self.builder.add(self.values[begin], self.builder.mul(self.values[stride], LONG(row)))
        data = self.context.make_array(self.kinds[array])(self.context, self.builder, self.values[array]).data
        return self.builder.gep(data, [place], inbounds=True)

    def _is_last(self, number) -> bool:
        return number == self.num_vectors - 1

    def _load(self, begin, number):
        pointer = self._vector_at(begin, number)
        if not self._is_last(number):
            return self.builder.load(pointer, align=self.item_bytes)
        kind = ir.FunctionType(self.vector, [pointer.type, WORD, self.mask.type, self.vector])
        load = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.load.{self._suffix()}")
        zeros = ir.Constant(self.vector, [self.element(0.0)] * self.lanes)
        return self.builder.call(load, [pointer, WORD(self.item_bytes), self.mask, zeros])

    def _store(self, begin, number, value) -> None:
        pointer = self._vector_at(begin, number)
        if not self._is_last(number):
            self.builder.store(value, pointer, align=self.item_bytes)
            return
        kind = ir.FunctionType(ir.VoidType(), [self.vector, pointer.type, WORD, self.mask.type])
        store = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.store.{self._suffix()}")
        self.builder.call(store, [value, pointer, WORD(self.item_bytes), self.mask])

    def _vector_at(self, begin, number):
        moved = self.builder.gep(begin, [LONG(number * self.lanes)])
        return self.builder.bitcast(moved, self.vector.as_pointer())

    def _suffix(self) -> str:
        kind = f"v{self.lanes}f{self.item_bytes * 8}"
        return f"{kind}.p0{kind}"

    def _spread(self, value):
        kind = ir.VectorType(value.type, self.lanes)
        nothing = ir.Constant(kind, ir.Undefined)
        single = self.builder.insert_element(nothing, value, WORD(0))
        return self.builder.shuffle_vector(
            single, nothing, ir.Constant(ir.VectorType(WORD, self.lanes), [WORD(0)] * self.lanes)
        )
