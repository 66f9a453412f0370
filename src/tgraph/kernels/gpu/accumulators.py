"""Where messages from several programs meet: one cell per vertex, changed by atomic operations of 32 or 64 bits.

Min and max of floats are made of integers: the bits of a float, those of a negative one turned around, have the order
of the floats, and NaN becomes the number that beats all others. So every reduction of every type needs only integer
atomics and additions of float32 and float64, which all GPUs have. A message that would not change a cell costs a read
and no atomic. Order: of min, max, any, count and integers the answer is always the same; sums of floats are not
associative, and their last digits differ from run to run.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu.segments import wide_dtype

_KEYS = {torch.float32: torch.int32, torch.float64: torch.int64}


def cell_dtype(reduce: str, dtype: torch.dtype) -> torch.dtype:
    """Return the type of cells for reductions of a type.

    >>> cell_dtype("min", torch.float16), cell_dtype("sum", torch.float64)
    (torch.int32, torch.float64)
    """
    wide = wide_dtype(dtype)
    return _KEYS.get(wide, wide) if reduce in ("min", "max") else wide


def empty_cell(reduce: str, dtype: torch.dtype, nothing: torch.Tensor) -> torch.Tensor:
    """Return the cell of a reduction of nothing, from `nothing [1]` in the type that is reduced in."""
    if cell_dtype(reduce, dtype) == nothing.dtype:
        return nothing
    bits = nothing.view(cell_dtype(reduce, dtype))
    return torch.where(bits < 0, bits ^ torch.iinfo(bits.dtype).max, bits)


@triton.jit
def to_cells(values, REDUCE: tl.constexpr):
    """Return values, in the type that is reduced in, as cells hold them."""
    cells = values
    if REDUCE == "min" or REDUCE == "max":
        if values.dtype == tl.float32:
            bits = values.to(tl.int32, bitcast=True)
            keys = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
            cells = tl.where(values != values, -0x80000000 if REDUCE == "min" else 0x7FFFFFFF, keys)
        elif values.dtype == tl.float64:
            bits = values.to(tl.int64, bitcast=True)
            keys = tl.where(bits < 0, bits ^ 0x7FFFFFFFFFFFFFFF, bits)
            cells = tl.where(values != values, -0x8000000000000000 if REDUCE == "min" else 0x7FFFFFFFFFFFFFFF, keys)
    return cells


@triton.jit
def from_cells(cells, REDUCE: tl.constexpr, WIDE: tl.constexpr):
    """Return what cells hold, in the type that is reduced in. All keys beyond infinity are NaN turned back."""
    values = cells
    if REDUCE == "min" or REDUCE == "max":
        if tl.float32 == WIDE:
            values = tl.where(cells < 0, cells ^ 0x7FFFFFFF, cells).to(tl.float32, bitcast=True)
        elif tl.float64 == WIDE:
            values = tl.where(cells < 0, cells ^ 0x7FFFFFFFFFFFFFFF, cells).to(tl.float64, bitcast=True)
    return values


@triton.jit
def accumulate(cells, targets, values, mask, REDUCE: tl.constexpr):
    """Let values meet what is in the cells of their targets. Writes cells, by atomics."""
    if REDUCE == "min":
        now = tl.load(cells + targets, mask=mask, other=0)
        tl.atomic_min(cells + targets, values, mask=mask & (values < now), sem="relaxed")
    elif REDUCE == "max" or REDUCE == "any":
        now = tl.load(cells + targets, mask=mask, other=0)
        tl.atomic_max(cells + targets, values, mask=mask & (values > now), sem="relaxed")
    else:
        tl.atomic_add(cells + targets, values, mask=mask, sem="relaxed")


@triton.jit
def note_first(marks, vertices, mask):
    """Mark vertices; return which lanes were the first to do it. Writes marks, by atomics where there is none yet."""
    tried = mask & (tl.load(marks + vertices, mask=mask, other=1) == 0)
    before = tl.atomic_xchg(marks + vertices, 1, mask=tried, sem="relaxed")
    return tried & (before == 0)


@triton.jit
def append(queue, counter, vertices, chosen):
    """Append the chosen vertices to a queue, in any order among programs: one atomic per program."""
    ones = chosen.to(tl.int32)
    place = tl.atomic_add(counter, tl.sum(ones, 0).to(tl.int64), sem="relaxed")
    tl.store(queue + place + tl.cumsum(ones, 0) - ones, vertices, mask=chosen)
