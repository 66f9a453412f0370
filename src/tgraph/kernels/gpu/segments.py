"""Reductions of segments, balanced by edges: every program takes the same number of values, however long rows are.

A program finds the row of each of its values by bisection between the first and the last row that it touches, scans
its values row by row, and stores the rows that lie in it as a whole. Of a row that begins before the program it stores
its part in `heads`, of one that goes on behind it in `tails`; `join_cut_rows` then joins the parts of each such row, in
their order. So there are no atomics, a hub is shared by as many programs as it needs, and the answer is the same in
every run. A row without values keeps what the result was filled with.

Min and max let NaN win, as the runtimes do. Integers keep their type and wrap around; half precision is summed in
float32, narrow integers and truth values are computed in int32.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.dtypes import identity, reduced_dtype
from tgraph.kernels.gpu import launch
from tgraph.runtime.torch.runtime import numpy_dtype


@triton.jit
def smaller(left, right):
    """The smaller; NaN if either is."""
    return tl.where((left < right) | (left != left), left, right)


@triton.jit
def larger(left, right):
    """The larger; NaN if either is."""
    return tl.where((left > right) | (left != left), left, right)


@triton.jit
def added(left, right):
    """The sum."""
    return left + right


@triton.jit
def _scan_min(row, value, next_row, next_value):
    return next_row, tl.where(row == next_row, smaller(value, next_value), next_value)


@triton.jit
def _scan_max(row, value, next_row, next_value):
    return next_row, tl.where(row == next_row, larger(value, next_value), next_value)


@triton.jit
def _scan_sum(row, value, next_row, next_value):
    return next_row, tl.where(row == next_row, value + next_value, next_value)


@triton.jit
def scan_rows(rows, values, REDUCE: tl.constexpr):
    """Return for each value the reduction of those of its row up to it. Sums are made of `count` too, max of `any`."""
    if REDUCE == "min":
        _, scanned = tl.associative_scan((rows, values), 0, _scan_min)
    elif REDUCE == "max" or REDUCE == "any":
        _, scanned = tl.associative_scan((rows, values), 0, _scan_max)
    else:
        _, scanned = tl.associative_scan((rows, values), 0, _scan_sum)
    return scanned


@triton.jit
def combine(left, right, REDUCE: tl.constexpr):
    """Return the reduction of two."""
    if REDUCE == "min":
        joined = smaller(left, right)
    elif REDUCE == "max" or REDUCE == "any":
        joined = larger(left, right)
    else:
        joined = left + right
    return joined


@triton.jit
def find_rows(offsets, first_rows, block, edges, mask, num_steps):
    """Return the row of each edge: the last whose offset is not behind it. Rows without edges are passed over."""
    low = tl.load(first_rows + block) + edges * 0
    high = tl.load(first_rows + block + 1) + edges * 0
    for _ in range(num_steps):
        middle = (low + high + 1) // 2
        is_before = tl.load(offsets + middle, mask=mask, other=0) <= edges
        low = tl.where(is_before, middle, low)
        high = tl.where(is_before, high, middle - 1)
    return low


@triton.jit
def store_rows(
    offsets, rows, values, block, edges, mask, new_reduced, heads, tails, REDUCE: tl.constexpr, BLOCK: tl.constexpr
):
    """Write the reductions of a program's rows. A lane writes where its row ends in the program, nobody else does."""
    scanned = scan_rows(tl.where(mask, rows, -1), values, REDUCE)
    first = tl.load(offsets + rows, mask=mask, other=0)
    last = tl.load(offsets + rows + 1, mask=mask, other=0)
    begin, end = block * BLOCK, (block + 1) * BLOCK
    is_end = mask & ((edges + 1 == last) | (edges + 1 == end))
    is_head, is_tail = first < begin, last > end
    tl.store(new_reduced + rows, scanned, mask=is_end & ~is_head & ~is_tail)
    tl.store(heads + block + rows * 0, scanned, mask=is_end & is_head)
    tl.store(tails + block + rows * 0, scanned, mask=is_end & ~is_head & is_tail)


@triton.jit
def join_cut_rows(
    offsets,
    first_rows,
    heads,
    tails,
    new_reduced,
    num_blocks,
    nothing,
    REDUCE: tl.constexpr,
    EDGES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Join the parts of the row that begins in a program's edges and goes on behind them: it has a tail and heads.

    Writes new_reduced[row], one program per row. Deterministic.
    """
    block = tl.program_id(0).to(tl.int64)
    row = tl.load(first_rows + block + 1)
    first, last = tl.load(offsets + row), tl.load(offsets + row + 1)
    if (block + 1 < num_blocks) & (first < (block + 1) * EDGES) & (first >= block * EDGES):
        last_block = (last - 1) // EDGES
        lanes = tl.arange(0, BLOCK)
        empty = tl.load(nothing)
        joined = tl.full([BLOCK], 0, heads.dtype.element_ty) + empty
        for begin in range(block + 1, last_block + 1, BLOCK):
            parts = tl.load(heads + begin + lanes, mask=begin + lanes <= last_block, other=0)
            joined = combine(joined, tl.where(begin + lanes <= last_block, parts, empty), REDUCE)
        if REDUCE == "min":
            total = tl.reduce(joined, 0, smaller)
        elif REDUCE == "max" or REDUCE == "any":
            total = tl.reduce(joined, 0, larger)
        else:
            total = tl.reduce(joined, 0, added)
        tl.store(new_reduced + row, combine(tl.load(tails + block), total, REDUCE))


@triton.jit
def reduce_segments(
    offsets,
    first_rows,
    values,
    new_reduced,
    heads,
    tails,
    num_edges,
    num_steps,
    first_edge,
    REDUCE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Reduce values in the order of their rows, `BLOCK` per program; `first_edge` is where the first row begins."""
    block = tl.program_id(0).to(tl.int64)
    edges = block * BLOCK + tl.arange(0, BLOCK)
    mask = edges < num_edges
    rows = find_rows(offsets, first_rows, block, edges, mask, num_steps)
    found = tl.load(values + first_edge + edges, mask=mask, other=0).to(heads.dtype.element_ty)
    store_rows(offsets, rows, found, block, edges, mask, new_reduced, heads, tails, REDUCE, BLOCK)


class Schedule:
    """Which rows each program touches: made once for offsets, by operations of torch. Waits for the device once."""

    def __init__(self, offsets: torch.Tensor, num_edges: int) -> None:
        sizes = launch.sizes_on(offsets.device)
        self.offsets, self.num_edges = offsets, num_edges
        self.block, self.warps = sizes.pull_edges, sizes.pull_warps
        self.num_blocks = launch.programs(num_edges, self.block)[0]
        self.first_rows = first_rows(offsets, num_edges, self.block)
        widest = int(torch.diff(self.first_rows).max()) if num_edges else 0
        self.num_steps = widest.bit_length()


def first_rows(offsets: torch.Tensor, num_edges: int, block: int) -> torch.Tensor:
    """Return the row of the first edge of every program of `block` edges, and the last row of all, `[programs + 1]`."""
    begins = torch.arange(0, max(num_edges, 1), block, device=offsets.device)
    rows = torch.searchsorted(offsets, begins, right=True) - 1
    return torch.cat([rows, torch.full_like(rows[:1], max(offsets.shape[0] - 2, 0))])


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the type that values are reduced in."""
    if dtype in (torch.float16, torch.bfloat16):
        return torch.float32
    return torch.int32 if dtype in (torch.bool, torch.uint8, torch.int8, torch.int16) else dtype


class Parts:
    """Room for the parts of rows that several programs share, and what a reduction of nothing is, on the device."""

    def __init__(self, num_blocks: int, reduce: str, dtype: torch.dtype, device: torch.device) -> None:
        wide = wide_dtype(dtype)
        self.heads, self.tails = (torch.empty(num_blocks, dtype=wide, device=device) for _ in range(2))
        self.reduce, self.dtype = reduce, dtype
        self.start = identity("sum" if reduce == "mean" else reduce, numpy_dtype(dtype))
        self.nothing = torch.full((1,), self.start, dtype=wide, device=device)

    def empty(self, num_rows: int) -> torch.Tensor:
        """Return the reductions of rows without values, `[num_rows]`."""
        return torch.full((num_rows,), self.start, dtype=self.dtype, device=self.heads.device)

    def join(self, schedule: Schedule, new_reduced: torch.Tensor) -> None:
        """Join what was stored in parts."""
        if schedule.num_blocks > 1:
            read = (schedule.offsets, schedule.first_rows, self.heads, self.tails, self.nothing)
            torch.ops.tgraph.join_rows(*read, new_reduced, self.reduce, schedule.num_blocks, schedule.block)


def join_rows(
    offsets: torch.Tensor,
    rows: torch.Tensor,
    heads: torch.Tensor,
    tails: torch.Tensor,
    nothing: torch.Tensor,
    new_reduced: torch.Tensor,
    reduce: str,
    num_blocks: int,
    block: int,
) -> None:
    """Join the parts of every row that several of the `num_blocks` programs share; `rows` are their first rows."""
    sizes = launch.sizes_on(offsets.device)
    join_cut_rows[(num_blocks - 1,)](
        offsets,
        rows,
        heads,
        tails,
        new_reduced,
        num_blocks,
        nothing,
        REDUCE=reduce,
        EDGES=block,
        BLOCK=sizes.carries,
        num_warps=max(1, sizes.carries // launch.LANES),
    )


def segment_reduce(values: torch.Tensor, offsets: torch.Tensor, reduce: str) -> torch.Tensor:
    """Return the reduction of `values[offsets[i]:offsets[i + 1]]` for every i, `[R]`: like the runtimes' primitive."""
    num_rows = offsets.shape[0] - 1
    if reduce == "count":
        return torch.diff(offsets)
    if reduce == "mean":
        return segment_reduce(values, offsets, "sum") / torch.diff(offsets).clamp(min=1).to(values.dtype)
    reduced_dtype(reduce, numpy_dtype(values.dtype))
    first, last = (int(edge) for edge in offsets[[0, -1]].tolist()) if num_rows > 0 else (0, 0)
    schedule = Schedule(offsets - first, last - first)
    parts = Parts(schedule.num_blocks, reduce, values.dtype, values.device)
    new_reduced = parts.empty(num_rows)
    if schedule.num_edges:
        reduce_segments[(schedule.num_blocks,)](
            schedule.offsets,
            schedule.first_rows,
            values.contiguous(),
            new_reduced,
            parts.heads,
            parts.tails,
            schedule.num_edges,
            schedule.num_steps,
            first,
            REDUCE=reduce,
            BLOCK=schedule.block,
            num_warps=schedule.warps,
        )
        parts.join(schedule, new_reduced)
    return new_reduced
