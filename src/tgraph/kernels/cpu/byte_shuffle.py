"""Four ids at once from coded differences: one shuffle of bytes and a running sum, where the processor has it.

The twin in plain Numba is what other processors run; both give the same bits. Numba may be told to compile for another
processor than this one (`NUMBA_CPU_NAME`), which may not know the instruction: then the twin is used too.
"""

from __future__ import annotations

import platform

from llvmlite import binding, ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tgraph.kernels.cpu.atomics import pointer_to
from tgraph.kernels.cpu.team import JIT

READ_BYTES = 16  # that one call reads, however few it needs
NO_BYTE = 255  # in a row of `places`: this byte of the result is 0

_INSTRUCTIONS = {
    "x86_64": ("ssse3", "llvm.x86.ssse3.pshuf.b.128"),
    "amd64": ("ssse3", "llvm.x86.ssse3.pshuf.b.128"),
    "aarch64": ("neon", "llvm.aarch64.neon.tbl1.v16i8"),
    "arm64": ("neon", "llvm.aarch64.neon.tbl1.v16i8"),
}


def find_shuffle() -> str | None:
    """Return LLVM's name of the instruction, None where code must do without it."""
    feature, name = _INSTRUCTIONS.get(platform.machine().lower(), ("", None))
    is_for_this = not config.CPU_NAME and not config.CPU_FEATURES
    return name if is_for_this and binding.get_host_cpu_features().get(feature, False) else None


_SHUFFLE = find_shuffle()
_BYTES, _WORDS = ir.VectorType(ir.IntType(8), 16), ir.VectorType(ir.IntType(32), 4)
_WORD = ir.IntType(32)


@intrinsic
def add_four_shuffled(typing_context, coded, place, places, row, last, ids, at):
    """Do what `add_four` does, with vectors of the processor."""

    def codegen(context, builder, signature, args):
        def vector_at(number, kind):
            kinds = signature.args[number], args[number], signature.args[number + 1], args[number + 1]
            return builder.bitcast(pointer_to(context, builder, *kinds), kind.as_pointer())

        shuffle = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_BYTES, [_BYTES] * 2), _SHUFFLE)
        read, wanted = (builder.load(vector_at(number, _BYTES), align=1) for number in (0, 2))
        folded = builder.bitcast(builder.call(shuffle, [read, wanted]), _WORDS)
        sign = builder.sub(_same(0), builder.and_(folded, _same(1)))
        sums = builder.add(builder.xor(builder.lshr(folded, _same(1)), sign), _same(1))
        for order in ((4, 0, 1, 2), (4, 4, 0, 1)):  # lanes from 4 on are zeros
            sums = builder.add(sums, builder.shuffle_vector(sums, _same(0), _lanes(order)))
        first = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), args[4], _WORD(0))
        sums = builder.add(sums, builder.shuffle_vector(first, first, _lanes((0, 0, 0, 0))))
        builder.store(sums, vector_at(5, _WORDS), align=1)
        return builder.extract_element(sums, _WORD(3))

    return types.uint32(coded, place, places, row, types.uint32, ids, at), codegen


def _same(number):
    return ir.Constant(_WORDS, [_WORD(number)] * 4)


def _lanes(numbers):
    return ir.Constant(_WORDS, [_WORD(number) for number in numbers])


@njit(**JIT)
def add_four_bytewise(coded, place, places, row, last, ids, at):
    """Do what `add_four` does, byte by byte."""
    for lane in range(4):
        folded = types.uint32(0)
        for byte in range(4):
            position = places[row + types.uint64(4 * lane + byte)]
            if position != NO_BYTE:
                found = types.uint32(coded[place + types.uint64(position)])
                folded |= types.uint32(found << types.uint32(8 * byte))
        sign = types.uint32(types.uint32(0) - (folded & types.uint32(1)))
        last = types.uint32(last + ((folded >> types.uint32(1)) ^ sign) + types.uint32(1))
        ids[at + types.uint64(lane)] = last
    return last


@njit(**JIT)
def add_four(coded, place, places, row, last, ids, at):
    """Write the four ids at `ids[at]` that follow `last`, and return the fourth.

    `places[row:row + 16]` says which byte behind `coded[place]` is each byte of the four folded differences, NO_BYTE
    for none; a difference d is folded as 2 (d - 1), or as 1 - 2 d where d < 1. `coded [N] uint8` must have READ_BYTES
    from `place` on; positions are uint64, `last` and `ids` uint32, and sums wrap around.
    """
    return _add_four(coded, place, places, row, last, ids, at)


_add_four = add_four_bytewise if _SHUFFLE is None else add_four_shuffled
