"""Floats of 16 bits: the upper half of a float32 (bfloat16), its range and 8 bits of precision.

Four of them lie where one float64 does, so that values that are read at random miss the cache less often.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from tgraph.kernels.cpu.team import JIT


@intrinsic
def _bits_of(typing_context, value):
    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.uint32(types.float32), codegen


@intrinsic
def lengthen(typing_context, short):
    """Return a short float as a float32."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(32)
        return builder.bitcast(builder.shl(builder.zext(args[0], word), word(16)), ir.FloatType())

    return types.float32(types.uint16), codegen


@njit(**JIT)
def shorten(value):
    """Return the nearest short float, the even one of two; NaN stays one, and what is too large becomes infinite."""
    bits = np.int64(_bits_of(np.float32(value)))
    if value != value:
        return np.uint16(0x7FC0)
    return np.uint16((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)
