"""Sampling on a GPU, from a graph that lies there: the sample of the CPU, edge by edge, as tensors of the device.

The host waits twice per layer: for the number of drawn edges and for the number of vertices met for the first time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tgraph.kernels.cpu.counter_random import hash_number, stream_key
from tgraph.kernels.cpu.neighbor_sampling import ALL
from tgraph.kernels.registry import kernels_for
from tgraph.nn.block import Block

if TYPE_CHECKING:
    from tgraph.nn.sampler import NeighborSampler

MOST_DIFFERENT = 256  # fan-out without replacement that the kernel has lanes for
UNSEEN = 2**62


def can_sample_on_device(sampler: NeighborSampler) -> bool:
    """Say whether the kernel draws what a sampler asks for: not by time, and by weight only with replacement."""
    if kernels_for(sampler.graph.runtime) != "gpu" or sampler.graph.is_far or sampler.timed or sampler.edges:
        return False
    is_few = max(sampler.fanouts, default=0) <= MOST_DIFFERENT
    return sampler.replace or (is_few and not sampler.weighted)


class DeviceRows:
    """The rows to draw from, on the device, and the numbers of vertices in the batch at hand: 16 bytes per vertex."""

    def __init__(self, sampler: NeighborSampler) -> None:
        import tgraph.kernels.gpu.sampling_operators  # noqa: F401 - which defines the operator

        graph = sampler.graph
        adjacency = graph.adjacency("in" if sampler.along == "out" else "out")
        self.device = adjacency.offsets.device
        self.offsets, self.neighbors, self.weights = adjacency.offsets, adjacency.neighbors, adjacency.weights
        self.sums: Tensor | None = None
        if sampler.weighted:
            rows = sampler.rows
            self.offsets, self.neighbors = (self._moved(array) for array in (rows.offsets, rows.neighbors))
            self.weights, self.sums = (None if one is None else self._moved(one) for one in (rows.weights, rows.sums))
        degrees = torch.diff(self.offsets)
        self.largest_degree = int(degrees.max()) if degrees.numel() else 0
        self.numbers = torch.full((graph.num_vertices,), -1, dtype=torch.int64, device=self.device)
        self.first_places = torch.full((graph.num_vertices,), UNSEEN, dtype=torch.int64, device=self.device)

    def _moved(self, array: Any) -> Tensor:
        signed = array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array
        return torch.from_numpy(np.ascontiguousarray(signed)).to(self.device)


class DeviceExpansion:
    """One sample in the making."""

    def __init__(self, sampler: NeighborSampler, rows: DeviceRows, number: int) -> None:
        self._sampler, self._rows = sampler, rows
        self._key = np.uint64(hash_number(stream_key(sampler.seed, 0), np.uint64(number)))
        self._vertices = torch.empty(0, dtype=torch.int64, device=rows.device)

    def run(self, seeds: Tensor) -> tuple[Tensor, tuple[Block, ...], Tensor, dict[str, float]]:
        """Return vertices, blocks from the outermost layer on, where the seeds are, and seconds."""
        started = time.perf_counter()
        try:
            positions = self._number(seeds)
            blocks = [self._layer(i, fanout) for i, fanout in enumerate(self._sampler.fanouts)]
        finally:
            self._rows.numbers.index_fill_(0, self._vertices, -1)  # for the next batch
        return self._vertices, tuple(blocks[::-1]), positions, {"sample": time.perf_counter() - started}

    def _layer(self, layer: int, fanout: int) -> Block:
        rows, replace = self._rows, self._sampler.replace
        firsts = rows.offsets.index_select(0, self._vertices)
        degrees = rows.offsets.index_select(0, self._vertices + 1) - firsts
        counts = degrees
        if fanout != ALL:
            counts = torch.where(degrees > 0, fanout, 0) if replace else degrees.clamp(max=fanout)
        offsets = (
            torch.cat([torch.zeros_like(counts[:1]), torch.cumsum(counts, 0)]) if len(counts) else counts.new_zeros(1)
        )
        total = int(offsets[-1])
        key = np.uint64(hash_number(self._key, np.uint64(layer))).view(np.int64)
        edges, neighbors = torch.ops.tgraph.draw_edges(
            [self._vertices, firsts, degrees, offsets],
            rows.neighbors,
            rows.sums,
            fanout,
            replace,
            int(key),
            total,
            rows.largest_degree,
        )
        sources = self._number(neighbors.long()).to(torch.int32)
        weights = None if rows.weights is None else rows.weights.index_select(0, edges)
        block = Block(offsets, sources, int(self._vertices.shape[0]), weights)
        is_outermost = layer == len(self._sampler.fanouts) - 1
        if self._sampler.reverse is True or (self._sampler.reverse and not is_outermost):
            block = block.with_reverse(block.reverse)
        return block

    def _number(self, items: Tensor) -> Tensor:
        """Return the numbers of vertices among all so far; new ones follow in the order in which they are met first."""
        numbers, firsts = self._rows.numbers, self._rows.first_places
        places = torch.arange(items.shape[0], device=items.device)
        is_new = numbers.index_select(0, items) < 0
        firsts.scatter_reduce_(0, items, torch.where(is_new, places, UNSEEN), "amin")
        is_first = is_new & (firsts.index_select(0, items) == places)
        added = torch.masked_select(items, is_first)
        count = self._vertices.shape[0]
        self._vertices = torch.cat([self._vertices, added])
        numbers.index_copy_(0, added, torch.arange(count, count + added.shape[0], device=items.device))
        firsts.index_fill_(0, added, UNSEEN)
        return numbers.index_select(0, items)
