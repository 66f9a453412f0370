"""Random numbers by counting, the same as those of `tgraph.kernels.cpu.counter_random`, on blocks of uint64."""

from __future__ import annotations

import triton
import triton.language as tl

STEP = tl.constexpr(0x9E3779B97F4A7C15)
FIRST_FACTOR = tl.constexpr(0xBF58476D1CE4E5B9)
SECOND_FACTOR = tl.constexpr(0x94D049BB133111EB)
UNIT = tl.constexpr(2.0**-53)


@triton.jit
def hash_number(key, counter):
    """Return 64 random bits for each counter. Both are uint64; the product wraps around."""
    bits = key + (counter + 1) * STEP
    bits = (bits ^ (bits >> 30)) * FIRST_FACTOR
    bits = (bits ^ (bits >> 27)) * SECOND_FACTOR
    return bits ^ (bits >> 31)


@triton.jit
def unit(bits):
    """Turn 64 random bits into a number in [0, 1), float64."""
    return (bits >> 11).to(tl.float64) * tl.full([], UNIT, tl.float64)


@triton.jit
def below(bits, count):
    """Turn 64 random bits into a whole number below `count` (uint64, above 0)."""
    high, low = bits >> 32, bits & 0xFFFFFFFF
    product = (high * count + ((low * count) >> 32)) >> 32
    return tl.where(count >> 32 != 0, bits % count, product)
