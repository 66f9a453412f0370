"""Neighbour sampling: for some vertices a few neighbours each, for these a few more, layer by layer.

Returns: the vertices that take part, and one block of edges per layer, as GraphSAGE (Hamilton et al. 2017) and the
samplers of DGL and PyTorch Geometric make them.
Technique: random numbers are hashes of seed, batch, layer and vertex, so a sample is the same on any number of threads
(`tgraph.kernels.cpu.neighbor_sampling`); vertices are numbered without locks (`tgraph.kernels.cpu.place_numbers`).
From a graph on a GPU the same sample is drawn there (`tgraph.nn.device_sampler`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import InvalidArgumentError, OutOfRangeError, check_choice
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed, check_whole
from tgraph.graph.sharded import ShardedGraph
from tgraph.kernels.cpu.block_reverse import fill_reverse
from tgraph.kernels.cpu.counter_random import hash_number, stream_key
from tgraph.kernels.cpu.neighbor_sampling import ALL
from tgraph.kernels.cpu.place_numbers import TimedTable, VertexTable
from tgraph.nn.block import Block, Reverse
from tgraph.nn.buffers import BufferPool
from tgraph.nn.device_sampler import DeviceExpansion, DeviceRows, can_sample_on_device
from tgraph.nn.draws import Drawn, Draws, LocalDraws
from tgraph.nn.owners import OwnerDraws
from tgraph.nn.sampled_rows import SampledRows, build_rows, order_times, restore_times
from tgraph.runtime import Array

LARGEST_FANOUT = MOST_VERTICES = 2**31 - 1

Known = Callable[[Array, int], None]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a sampler found around some seeds.

    The targets of `blocks[-1]` are the distinct seeds, and the sources of each block are the targets of the one
    before it, so a network goes through the blocks in order.
    """

    vertices: Tensor  # [N] int64: vertex numbers, the distinct seeds first; sources of blocks[0]
    blocks: tuple[Block, ...]
    positions: Tensor  # [seeds] int64: where each seed is among the vertices
    times: Tensor | None = None  # [N], None = edges have no times
    seconds: dict[str, float] = field(default_factory=dict)  # of "sample", "reindex" and "reverse"

    @property
    def num_targets(self) -> int:
        """The number of distinct seeds."""
        return self.blocks[-1].num_targets if self.blocks else int(self.vertices.shape[0])


class NeighborSampler:
    """Samples neighbours of vertices, layer by layer.

    Beside the graph it holds 4 bytes per vertex. Of each edge it holds 8 bytes more to draw by weight with replacement,
    8 more for `edges`, and a copy of the rows with 8 bytes more for `times`. Threads may share it; they take turns.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([1, 2, 3, 4, 5], [0, 0, 0, 3, 3], runtime="numpy")
    >>> sample = NeighborSampler(graph, fanouts=(2, -1)).sample([0])
    >>> tuple((block.num_targets, block.num_sources, block.num_edges) for block in sample.blocks)
    ((3, 4, 3), (1, 3, 2))
    >>> sample.vertices.tolist()
    [0, 2, 1, 3]
    """

    def __init__(
        self,
        graph: Graph,
        fanouts: Sequence[int] = (10, 15),
        *,
        along: str = "out",
        replace: bool = False,
        weighted: bool = False,
        times: Any = None,
        edges: bool = False,
        reverse: bool | str = False,
        seed: int = 0,
        pool: BufferPool | None = None,
    ) -> None:
        """Prepare sampling from a graph.

        Args:
            graph: Any graph; one that is opened from a file is paged in where it is sampled. Of one that is divided
                among ranks, owners draw: all ranks sample together, each around seeds of its own, and each gets what
                one machine would draw for these.
            fanouts: How many neighbours, from the seeds outwards: the first number for each seed, the next for each
                vertex known by then, seeds included. -1 = all neighbours.
            along: The way that messages take: `"out"` from source to target of an edge, so neighbours are those that
                point at a vertex; `"in"` the other way.
            replace: Draw every neighbour anew, so that some may come twice; otherwise a vertex with no more edges
                than asked for gives all of them, each once.
            weighted: Draw edges by their weights, which must be finite and not negative; 0 is never drawn.
            times: One number per edge, in the order of `graph.edges()` (so an undirected edge has one). Then seeds
                have times too, which are handed down to neighbours, and only edges that are not later are drawn.
            edges: Also return which edges were drawn, `Block.edges`, as numbers in the order of `graph.edges()`.
            reverse: Also make `Block.reverse`, which gradients need; `"inner"`: of all blocks but the first, whose
                sources are features that usually want no gradient.
            seed: Another seed, other samples.
            pool: Where memory for results comes from; None = a pool of its own.
        """
        check_choice("along", along, ("out", "in"))
        if not isinstance(reverse, bool):
            check_choice("reverse", reverse, ("inner",))
        self.fanouts = _check_fanouts(fanouts)
        self.graph, self.along, self.replace, self.weighted = graph, along, bool(replace), bool(weighted)
        self.edges, self.reverse, self.seed = edges, reverse, check_seed(seed)
        self._direction = "in" if along == "out" else "out"
        self._build_rows = partial(
            build_rows, graph, self._direction, weighted=weighted, replace=self.replace, times=times, with_numbers=edges
        )
        self._times_dtype = np.asarray(times).dtype if times is not None else None
        self._table: Any = VertexTable(graph.num_vertices) if times is None else TimedTable()
        self._pool = pool or BufferPool()
        self._lock = threading.Lock()
        self._rows: SampledRows | None = None
        self._draws: Draws | None = None
        self._on_device = DeviceRows(self) if can_sample_on_device(self) else None
        if self._on_device is None:
            _ = self.rows  # what is wrong with weights and times is said now

    @property
    def rows(self) -> SampledRows:
        """The rows that the CPU draws from, in its memory."""
        if self._rows is None:
            self._rows = self._build_rows()
        return self._rows

    @property
    def draws(self) -> Draws:
        """What the CPU draws by."""
        if self._draws is None:
            local = LocalDraws(self.rows, self._pool, replace=self.replace, weighted=self.weighted)
            graph = self.graph
            self._draws = OwnerDraws(graph, self._direction, local) if isinstance(graph, ShardedGraph) else local
        return self._draws

    @property
    def is_on_device(self) -> bool:
        """Whether `sample` draws on a GPU, where the graph lies, and returns tensors there."""
        return self._on_device is not None

    @property
    def timed(self) -> bool:
        """Whether edges have times, so that seeds need them too."""
        return self._times_dtype is not None

    def sample(self, seeds: Iterable[Any], number: int = 0, times: Any = None) -> Sample:
        """Return what is sampled around seeds.

        Args:
            seeds: The user's ids of vertices; one that is named twice has one place. Ranks of a group name the same
                ones; `expand` takes numbers of their own choice.
            number: Of the batch: another number, another sample.
            times: One per seed, where the sampler has times. The same vertex with two times has two places.
        """
        vertices = self.graph.vertices_of(seeds)
        return self.expand_on_device(vertices, number) if self.is_on_device else self.expand(vertices, number, times)

    def expand_on_device(self, vertices: Array, number: int = 0) -> Sample:
        """Return what is sampled around vertex numbers, as tensors on the graph's device: the sample of `expand`."""
        assert self._on_device is not None
        self._check_vertices(vertices)
        seeds = torch.from_numpy(np.ascontiguousarray(vertices, np.int64)).to(self._on_device.device)
        batch = check_whole("number", number, 0, 2**64 - 1)
        with self._lock:
            found, blocks, positions, seconds = DeviceExpansion(self, self._on_device, batch).run(seeds)
        return Sample(found, blocks, positions, None, seconds)

    def expand(self, vertices: Array, number: int = 0, times: Any = None, known: Known | None = None) -> Sample:
        """Return what is sampled around vertex numbers; otherwise like `sample`.

        `known(vertices, most)` is called before the last layer is sampled, with the vertices of all layers before it
        and the number that there can be at most in the end, so that others can begin to work on them.
        """
        if (times is not None) != self.timed:
            raise InvalidArgumentError(
                "times must be given for the seeds if and only if the sampler was given times of edges"
            )
        moments = None if times is None else self._moments(times, len(vertices))
        self._check_vertices(vertices)
        with self._lock:
            return _Expansion(self, self._table, self._pool, number, known).run(vertices, moments)

    def _check_vertices(self, vertices: Array) -> None:
        if len(vertices) and not 0 <= vertices.min() <= vertices.max() < self.graph.num_vertices:
            raise OutOfRangeError(
                f"vertices run from {vertices.min()} to {vertices.max()}; the graph has {self.graph.num_vertices}"
            )

    def _moments(self, times: Any, count: int) -> Array:
        assert self._times_dtype is not None
        given = np.asarray(times)
        if self._times_dtype.kind == "f":
            given = given.astype(np.float64)
        elif given.dtype.kind == "f":
            raise InvalidArgumentError("times of seeds are floats and those of edges integers; use the same for both")
        return order_times("times", given, count)

    def restore_times(self, ordered: Array) -> Array:
        """Return times as they were given."""
        assert self._times_dtype is not None
        return restore_times(ordered, self._times_dtype)


class _Expansion:
    """One sample in the making."""

    def __init__(
        self,
        sampler: NeighborSampler,
        table: Any,
        pool: BufferPool,
        number: int,
        known: Known | None,
    ) -> None:
        self._sampler, self._table, self._known = sampler, table, known
        self._take = pool.take
        batch = check_whole("number", number, 0, 2**64 - 1)
        self._key = np.uint64(hash_number(stream_key(sampler.seed, 0), np.uint64(batch)))
        self._seconds = {"sample": 0.0, "reindex": 0.0, "reverse": 0.0}
        self._vertices: Array = np.empty(0, np.int64)  # [N], vertex numbers
        self._times: Array | None = None  # [N]

    def run(self, seeds: Array, times: Array | None) -> Sample:
        """Sample all layers."""
        self._table.begin()
        positions = self._number(seeds, times)
        blocks = [self._layer(i, fanout) for i, fanout in enumerate(self._sampler.fanouts)]
        moments = None if self._times is None else torch.from_numpy(self._sampler.restore_times(self._times))
        vertices = torch.from_numpy(self._vertices)
        return Sample(vertices, tuple(blocks[::-1]), torch.from_numpy(positions).long(), moments, self._seconds)

    def _layer(self, layer: int, fanout: int) -> Block:
        started = time.perf_counter()
        found = self._draw(layer, fanout)
        drawn = time.perf_counter()
        sources = self._number(found.neighbors, found.times)
        numbered = time.perf_counter()
        weights, numbers = (None if one is None else torch.from_numpy(one) for one in (found.weights, found.numbers))
        block = Block(torch.from_numpy(found.offsets), torch.from_numpy(sources), self._vertices.size, weights, numbers)
        is_outermost = layer == len(self._sampler.fanouts) - 1
        if self._sampler.reverse is True or (self._sampler.reverse and not is_outermost):
            block = self._with_reverse(block)
        self._seconds["sample"] += drawn - started
        self._seconds["reindex"] += numbered - drawn
        self._seconds["reverse"] += time.perf_counter() - numbered
        return block

    def _draw(self, layer: int, fanout: int) -> Drawn:
        key = np.uint64(hash_number(self._key, np.uint64(layer)))
        counted = self._announce if self._known is not None and layer == len(self._sampler.fanouts) - 1 else None
        return self._sampler.draws.draw(self._vertices, self._times, fanout, key, counted)

    def _announce(self, total: int) -> None:
        assert self._known is not None
        self._known(self._vertices, self._vertices.size + total)

    def _number(self, items: Array, times: Array | None) -> Array:
        """Return the numbers of vertices among all so far; new ones are added."""
        count, most = self._vertices.size, self._vertices.size + len(items)
        if most > MOST_VERTICES:
            raise InvalidArgumentError(f"a sample may reach {most:,} vertices, above 2^31 - 1; use smaller fanouts")
        vertices, numbers = self._take(most, np.int64), self._take(len(items), np.int32)
        vertices[:count] = self._vertices
        if times is None:
            total = self._table.add(items, vertices, numbers)
        else:
            moments = self._take(most, np.int64)
            moments[:count] = self._times if self._times is not None else 0
            total = self._table.add(items, times, vertices, moments, numbers)
            self._times = moments[:total]
        self._vertices = vertices[:total]
        return numbers

    def _with_reverse(self, block: Block) -> Block:
        offsets = self._take(block.num_sources + 1, np.int64)
        targets, edges = (self._take(block.num_edges, np.int32) for _ in range(2))
        fill_reverse(block.offsets.numpy(), block.sources.numpy(), offsets, targets, edges)
        return block.with_reverse(Reverse(*(torch.from_numpy(array) for array in (offsets, targets, edges))))


def _check_fanouts(fanouts: Sequence[int]) -> tuple[int, ...]:
    return tuple(check_whole("fanouts", fanout, ALL, LARGEST_FANOUT, "-1 = all") for fanout in fanouts)
