"""Sampling the edges of many rows at once: the same edges, in the same order, as the CPU kernel of this name draws.

What is drawn for a vertex is a function of the layer's key and the vertex, so nothing depends on programs or devices.
`draw_each` gives every drawn edge a lane of its own; `draw_different` gives a program some rows and draws for all of
them at the same time, one edge of each after the other (Floyd's method: Bentley, Floyd 1987). No atomics.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.counter_random import below, hash_number, unit
from tgraph.kernels.gpu.segments import find_rows, first_rows

ALL = -1  # as a fan-out: every edge of the row
ROWS = 16  # that a program draws for at the same time


@triton.jit
def draw_each_kernel(
    vertices,
    firsts,
    degrees,
    offsets,
    rows_of_blocks,
    neighbors,
    sums,
    key,
    new_edges,
    new_neighbors,
    total,
    num_steps,
    num_search_steps,
    DRAWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the edges of all rows in order or, if it DRAWS, one drawn with replacement for each place."""
    block = tl.program_id(0).to(tl.int64)
    places = block * BLOCK + tl.arange(0, BLOCK)
    mask = places < total
    row = find_rows(offsets, rows_of_blocks, block, places, mask, num_steps)
    first = tl.load(firsts + row, mask=mask, other=0)
    number = places - tl.load(offsets + row, mask=mask, other=0)
    edge = first + number
    if DRAWS:
        degree = tl.load(degrees + row, mask=mask, other=1)
        vertex = tl.load(vertices + row, mask=mask, other=0).to(tl.uint64)
        own_key = hash_number(tl.load(key + places * 0).to(tl.uint64), vertex)
        bits = hash_number(own_key, number.to(tl.uint64))
        if sums is None:
            edge = first + below(bits, degree.to(tl.uint64)).to(tl.int64)
        else:
            edge = search_sums(sums, first, first + degree, bits, mask, num_search_steps)
    tl.store(new_edges + places, edge, mask=mask)
    tl.store(new_neighbors + places, tl.load(neighbors + edge, mask=mask, other=0), mask=mask)


@triton.jit
def search_sums(sums, first, last, bits, mask, num_steps):
    """Return edges with the probability of their weights, by bisection of the running sums of each row."""
    wanted = unit(bits) * tl.load(sums + last - 1, mask=mask, other=1)
    low, high = first, last - 1
    for _ in range(num_steps):
        middle = (low + high) // 2
        is_above = tl.load(sums + middle, mask=mask, other=1) > wanted
        is_open = low < high
        high = tl.where(is_open & is_above, middle, high)
        low = tl.where(is_open & ~is_above, middle + 1, low)
    is_light = has_no_weight(sums, low, first, mask)
    while tl.max(is_light.to(tl.int32), 0) > 0:  # rounding may lead to an edge without weight
        low = tl.where(is_light, low - 1, low)
        is_light = has_no_weight(sums, low, first, mask)
    return low


@triton.jit
def has_no_weight(sums, edge, first, mask):
    """Say whether the running sum does not rise at an edge that is not the first of its row."""
    has_before = mask & (edge > first)
    before = tl.load(sums + edge - 1, mask=has_before, other=0)
    return has_before & ~(tl.load(sums + edge, mask=has_before, other=1) > before)


@triton.jit
def draw_different_kernel(
    vertices,
    firsts,
    degrees,
    offsets,
    neighbors,
    key,
    new_edges,
    new_neighbors,
    num_rows,
    fanout,
    LANES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write `fanout` different edges of each row, or all of a row that has no more."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, LANES)
    mask = row < num_rows
    first = tl.load(firsts + row, mask=mask, other=0)[:, None]
    degree = tl.load(degrees + row, mask=mask, other=0)[:, None]
    vertex = tl.load(vertices + row, mask=mask, other=0).to(tl.uint64)
    own_key = hash_number(tl.load(key + row * 0).to(tl.uint64), vertex)[:, None]
    top = degree - fanout + lanes[None, :]
    bits = hash_number(own_key, lanes[None, :].to(tl.uint64))
    tried = below(bits, tl.maximum(top + 1, 1).to(tl.uint64)).to(tl.int64)
    numbers = tl.full([BLOCK, LANES], -1, tl.int64)
    for i in range(fanout):
        is_now = lanes[None, :] == i
        candidate = tl.sum(tl.where(is_now, tried, 0), 1)[:, None]
        is_met = tl.max((numbers == candidate).to(tl.int32), 1)[:, None] > 0
        numbers = tl.where(is_now, tl.where(is_met, top, candidate), numbers)
    numbers = tl.where(degree <= fanout, lanes[None, :].to(tl.int64), numbers)
    is_drawn = mask[:, None] & (lanes[None, :] < tl.minimum(degree, fanout))
    places = tl.load(offsets + row, mask=mask, other=0)[:, None] + lanes[None, :]
    tl.store(new_edges + places, first + numbers, mask=is_drawn)
    tl.store(new_neighbors + places, tl.load(neighbors + first + numbers, mask=is_drawn, other=0), mask=is_drawn)


def draw_edges(
    places: list[torch.Tensor],
    neighbors: torch.Tensor,
    sums: torch.Tensor | None,
    fanout: int,
    replace: bool,
    key: int,
    total: int,
    largest_degree: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the positions of the drawn edges `[total] int64` and their neighbours.

    `places` are vertices, firsts and degrees `[N]` and where the edges of each go, `[N + 1]`; all int64.
    """
    vertices, *_, offsets = places
    device, num_rows = vertices.device, vertices.shape[0]
    sizes = launch.sizes_on(device)
    edges = torch.empty(total, dtype=torch.int64, device=device)
    found = torch.empty(total, dtype=neighbors.dtype, device=device)
    keys = torch.full((1,), key, dtype=torch.int64, device=device)
    if not total:
        return edges, found
    if fanout == ALL or replace:
        draw_each_kernel[launch.programs(total, sizes.pull_edges)](
            *places,
            first_rows(offsets, total, sizes.pull_edges),
            neighbors,
            sums,
            keys,
            edges,
            found,
            total,
            num_rows.bit_length(),
            largest_degree.bit_length(),
            DRAWS=fanout != ALL,
            BLOCK=sizes.pull_edges,
            num_warps=sizes.pull_warps,
        )
    else:
        lanes = 1 << max(0, fanout - 1).bit_length()
        draw_different_kernel[launch.programs(num_rows, ROWS)](
            *places,
            neighbors,
            keys,
            edges,
            found,
            num_rows,
            fanout,
            LANES=lanes,
            BLOCK=ROWS,
            num_warps=sizes.pull_warps,
        )
    return edges, found
