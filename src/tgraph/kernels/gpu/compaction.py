"""The vertices of a mask as a queue, ascending: programs count, the counts are summed up, programs write.

No atomics. Deterministic. The queue has room for all vertices, so nobody has to wait for its length.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu import launch


@triton.jit
def count_set(mask, new_counts, size, BLOCK: tl.constexpr):
    """Write how many entries of the mask are set in each program's part."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_set = tl.load(mask + places, mask=places < size, other=0) != 0
    tl.store(new_counts + tl.program_id(0), tl.sum(is_set.to(tl.int64), 0))


@triton.jit
def write_set(mask, ends, new_queue, size, BLOCK: tl.constexpr):
    """Write the places that are set, from where the programs before end."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_set = tl.load(mask + places, mask=places < size, other=0) != 0
    ones = is_set.to(tl.int64)
    begin = tl.load(ends + tl.program_id(0)) - tl.sum(ones, 0)
    tl.store(new_queue + begin + tl.cumsum(ones, 0) - ones, places, mask=is_set)


def fill_queue(mask: torch.Tensor, new_queue: torch.Tensor) -> torch.Tensor:
    """Write the places `[N]` where a mask is set into a queue with room for all; return their number `[1] int64`."""
    size, sizes = mask.shape[0], launch.sizes_on(mask.device)
    grid = launch.programs(size, sizes.vertices)
    counts = torch.empty(grid[0], dtype=torch.int64, device=mask.device)
    count_set[grid](mask, counts, size, BLOCK=sizes.vertices, num_warps=sizes.vertex_warps)
    ends = torch.cumsum(counts, 0)
    write_set[grid](mask, ends, new_queue, size, BLOCK=sizes.vertices, num_warps=sizes.vertex_warps)
    return ends[-1:]
