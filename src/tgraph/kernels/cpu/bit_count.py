"""Counting bits inside compiled code: one LLVM instruction, which the compiler also spreads over vectors of words.

>>> import numpy as np
>>> from numba import njit
>>> @njit
... def count(word):
...     return bit_count(word)
>>> count(np.uint64(0b10110))
3
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic


@intrinsic
def bit_count(typing_context, bits):
    """Return how many bits of a uint64 are set."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen
