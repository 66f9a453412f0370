"""Sums of some features of rows of a table, kept in registers from the first edge of a row to the last.

A loop over features inside one over edges reads and writes its sums for every edge, and Numba cannot hold an array in
registers; these are written in LLVM's words, the other way round: for a block of features, add up all edges.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

VECTOR_BYTES = 32
LINE_BYTES = 64
BYTE, WORD, LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
ARGUMENTS = (
    *("feature", "begin", "end", "sources", "row_ids", "weights", "table"),
    *("scale", "factors", "factor_row", "ahead", "new_sums", "row"),
)
FUSED = ("contract", "nsz")  # a product and its sum may be rounded once


def build_block_sum(num_vectors: int, is_masked: bool):
    """Return an intrinsic that sums `num_vectors` vectors of features of one row; masked: only those before the last.

    `sum(feature, begin, end, sources, row_ids, weights, table, scale, factors, factor_row, ahead, new_sums, row)`
    writes `new_sums[row, feature:]`, the sum over the edges e from `begin` to `end` of `weights[e] * table[s]` with s
    being `row_ids[sources[e]]`, times `scale`, times 1 + `factors[factor_row]`. What is None is left out. It asks for
    what is read `ahead` edges later, 0 = for nothing. All arrays are contiguous, ids unsigned, numbers uint64.
    """

    @intrinsic
    def sum_block(
        typing_context,
        feature,
        begin,
        end,
        sources,
        row_ids,
        weights,
        table,
        scale,
        factors,
        factor_row,
        ahead,
        new_sums,
        row,
    ):
        place = types.uint64
        read = (place, place, place, sources, row_ids, weights, table)
        written = (table.dtype, factors, place, place, new_sums, place)

        def codegen(context, builder, signature, values):
            _Block(context, builder, signature, values, num_vectors, is_masked).emit()
            return context.get_dummy_value()

        return types.void(*read, *written), codegen

    return sum_block


class _Block:
    """The code of one such sum."""

    def __init__(self, context, builder, signature, values, num_vectors, is_masked) -> None:
        self.context, self.builder, self.num_vectors = context, builder, num_vectors
        self.kinds, self.values = (dict(zip(ARGUMENTS, given, strict=True)) for given in (signature.args, values))
        element = self.kinds["table"].dtype
        self.item_bytes = element.bitwidth // 8
        self.lanes = VECTOR_BYTES // self.item_bytes
        self.element = context.get_value_type(element)
        self.vector = ir.VectorType(self.element, self.lanes)
        self.width = self._shape("table")
        self.masks = [self._mask(number) for number in range(num_vectors)] if is_masked else None

    def emit(self) -> None:
        """A loop over the edges, then what becomes of the sums."""
        builder, values = self.builder, self.values
        before = builder.block
        check, body, after = (builder.append_basic_block(name) for name in ("edges", "edge", "summed"))
        builder.branch(check)
        builder.position_at_end(check)
        edge = builder.phi(LONG)
        sums = [builder.phi(self.vector) for _ in range(self.num_vectors)]
        builder.cbranch(builder.icmp_unsigned("<", edge, values["end"]), body, after)
        builder.position_at_end(body)
        self._ask_for_later(edge)
        begin = self._table_row(edge)
        new = [self._added(number, edge, begin, sums[number]) for number in range(self.num_vectors)]
        following = builder.add(edge, LONG(1))
        firsts = [values["begin"], *[self._zeros()] * self.num_vectors]
        for phi, first, later in zip([edge, *sums], firsts, [following, *new], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, builder.block)
        builder.branch(check)
        builder.position_at_end(after)
        self._write(sums)

    def _added(self, number, edge, begin, sum_so_far):
        row = self._load(number, begin)
        if self.kinds["weights"] != types.none:
            weight = self.builder.load(self.builder.gep(self._data("weights"), [edge], inbounds=True))
            row = self.builder.fmul(row, self._spread(weight), flags=FUSED)
        return self.builder.fadd(sum_so_far, row, flags=FUSED)

    def _write(self, sums) -> None:
        builder, values = self.builder, self.values
        scale = self._spread(values["scale"])
        target = self._place("new_sums", values["row"])
        own = None if self.kinds["factors"] == types.none else self._place("factors", values["factor_row"])
        for number, found in enumerate(sums):
            result = builder.fmul(found, scale)
            if own is not None:
                result = builder.fadd(result, builder.fmul(result, self._load(number, own), flags=FUSED), flags=FUSED)
            self._store(number, target, result)

    # --- memory ------------------------------------------------------------------------------------------------------
    def _table_row(self, edge):
        """Where the features of the block begin in the row that an edge reads."""
        source = self._id("sources", edge)
        return self._place("table", source if self.kinds["row_ids"] == types.none else self._id("row_ids", source))

    def _place(self, name, row):
        """Where the features of the block begin in a row of an array."""
        offset = self.builder.add(self.builder.mul(row, self.width), self.values["feature"])
        return self.builder.gep(self._data(name), [offset], inbounds=True)

    def _id(self, name, place):
        found = self.builder.load(self.builder.gep(self._data(name), [place], inbounds=True))
        return found if found.type == LONG else self.builder.zext(found, LONG)

    def _ask_for_later(self, edge) -> None:
        """Ask for the same features of a row that is read later; the last edge stands for those that are not there."""
        builder = self.builder
        last = builder.sub(self._shape("sources", 0), LONG(1))
        later = builder.add(edge, self.values["ahead"])
        later = builder.select(builder.icmp_unsigned("<", later, last), later, last)
        with builder.if_then(builder.icmp_unsigned("!=", self.values["ahead"], LONG(0))):
            begin = builder.bitcast(self._table_row(later), BYTE.as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), WORD, WORD, WORD])
            prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            for byte in range(0, self.num_vectors * VECTOR_BYTES, LINE_BYTES):
                builder.call(prefetch, [builder.gep(begin, [LONG(byte)]), WORD(0), WORD(3), WORD(1)])

    def _load(self, number, begin):
        pointer = self._vector_at(number, begin)
        if self.masks is None:
            return self.builder.load(pointer, align=self.item_bytes)
        kind = ir.FunctionType(self.vector, [pointer.type, WORD, self.masks[0].type, self.vector])
        load = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.load.{self._suffix()}")
        return self.builder.call(load, [pointer, WORD(self.item_bytes), self.masks[number], self._zeros()])

    def _store(self, number, begin, value) -> None:
        pointer = self._vector_at(number, begin)
        if self.masks is None:
            self.builder.store(value, pointer, align=self.item_bytes)
            return
        kind = ir.FunctionType(ir.VoidType(), [self.vector, pointer.type, WORD, self.masks[0].type])
        store = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.store.{self._suffix()}")
        self.builder.call(store, [value, pointer, WORD(self.item_bytes), self.masks[number]])

    def _vector_at(self, number, begin):
        moved = self.builder.gep(begin, [LONG(number * self.lanes)])
        return self.builder.bitcast(moved, self.vector.as_pointer())

    def _suffix(self) -> str:
        kind = f"v{self.lanes}f{self.item_bytes * 8}"
        return f"{kind}.p0{kind}"

    # --- values ------------------------------------------------------------------------------------------------------
    def _mask(self, number):
        """Which lanes of a vector are features of a row."""
        lanes = ir.Constant(ir.VectorType(LONG, self.lanes), [LONG(number * self.lanes + i) for i in range(self.lanes)])
        left = self.builder.sub(self.width, self.values["feature"])
        return self.builder.icmp_unsigned("<", lanes, self._spread(left))

    def _spread(self, value):
        kind = ir.VectorType(value.type, self.lanes)
        single = self.builder.insert_element(ir.Constant(kind, ir.Undefined), value, WORD(0))
        return self.builder.shuffle_vector(
            single,
            ir.Constant(kind, ir.Undefined),
            ir.Constant(ir.VectorType(WORD, self.lanes), [WORD(0)] * self.lanes),
        )

    def _zeros(self):
        return ir.Constant(self.vector, [self.element(0.0)] * self.lanes)

    def _array(self, name):
        return self.context.make_array(self.kinds[name])(self.context, self.builder, self.values[name])

    def _data(self, name):
        return self._array(name).data

    def _shape(self, name, dimension=-1):
        return cgutils.unpack_tuple(self.builder, self._array(name).shape)[dimension]
