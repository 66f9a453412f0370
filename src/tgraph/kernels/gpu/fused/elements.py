"""What the element-wise functions of a program become inside a Triton kernel. Operands have one type already."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def minimum(left, right):
    """The smaller; NaN if either is."""
    return tl.where((left < right) | (left != left), left, right)


@triton.jit
def maximum(left, right):
    """The larger; NaN if either is."""
    return tl.where((left > right) | (left != left), left, right)


@triton.jit
def divide(left, right):
    """The quotient of floats, rounded as IEEE 754 says; the default of float32 on a GPU is less exact."""
    if left.dtype == tl.float32:
        quotient = tl.div_rn(left, right)
    else:
        quotient = left / right
    return quotient


@triton.jit
def floor_divide(left, right):
    """The quotient rounded down, as Python has it; a GPU rounds that of integers towards 0."""
    if left.dtype.is_floating():
        quotient = tl.floor(divide(left, right))
    else:
        quotient = left // right
        has_rest = (left != quotient * right) & ((left < 0) != (right < 0))
        quotient = tl.where(has_rest, quotient - 1, quotient)
    return quotient


@triton.jit
def modulo(left, right):
    """The rest of a division that is rounded down: its sign is that of the divisor."""
    if left.dtype.is_floating():
        rest = left - floor_divide(left, right) * right
    else:
        rest = left % right
        rest = tl.where((rest != 0) & ((rest < 0) != (right < 0)), rest + right, rest)
    return rest


@triton.jit
def sqrt(value):
    """The square root, rounded as IEEE 754 says; NaN below 0."""
    if value.dtype == tl.float32:
        root = tl.sqrt_rn(value)
    else:
        root = tl.sqrt(value)
    return root


@triton.jit
def differs(old, new):
    """Whether a value changed; NaN equals NaN."""
    return (old != new) & ((old == old) | (new == new))


@triton.jit
def change(old, new):
    """The magnitude of a change as float64; 0 where, and only where, nothing changed."""
    changed = differs(old, new)
    if old.dtype.is_floating():
        difference = tl.where(changed, new, 0.0) - tl.where(changed, old, 0.0)
    else:
        difference = tl.where(changed, new.to(tl.int64), 0) - tl.where(changed, old.to(tl.int64), 0)
    return tl.abs(difference.to(tl.float64))
