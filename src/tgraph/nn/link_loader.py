"""Batches of edges with others that are not there, as recommendation and link prediction learn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from torch import Tensor

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_whole
from tgraph.kernels.cpu.counter_random import hash_number, stream_key
from tgraph.kernels.cpu.csr import transpose
from tgraph.kernels.cpu.negative_edges import draw_negatives
from tgraph.nn.block import Block
from tgraph.nn.lookup import Features
from tgraph.nn.pipeline import Draft, Options, Pipeline, Settings
from tgraph.nn.sampler import Sample
from tgraph.runtime import Array

NEGATIVE_STREAM = 1  # of random numbers; the sampler has stream 0


@dataclass(frozen=True, eq=False)
class LinkBatch:
    """Some edges, vertices that their sources have no edge to, and the neighbourhoods of all of them."""

    vertices: Tensor  # [N] int64: vertex numbers, the targets first; sources of blocks[0]
    targets: Tensor  # [T] int64: the distinct ends of edges and negatives, targets of blocks[-1]
    blocks: tuple[Block, ...]
    features: Features  # of the vertices, [N, ...]
    sources: Tensor  # [B] int64: where the source of each edge is among the targets
    positives: Tensor  # [B] int64: where its other end is
    negatives: Tensor  # [B, num_negatives] int64: where the vertices are that the source has no edge to
    times: Tensor | None = None  # [N], where edges have times
    number: int = 0  # in its epoch
    seconds: dict[str, float] = field(default_factory=dict)  # of each stage


class LinkLoader(Pipeline):
    """Batches of edges, each with some vertices that its source has no edge to; every `iter` is an epoch.

    The edges to be told apart are sampled like all others: where that gives the answer away, build the graph without
    them, or sample by `times` that are earlier.

    >>> import tgraph as tg
    >>> likes = tg.from_edges(["ann", "ann", "bob"], ["tea", "milk", "tea"], directed=False)
    >>> loader = LinkLoader(likes, (["bob"], ["tea"]), (2,), 8, candidates=["tea", "milk"])
    >>> batch = next(iter(loader))
    >>> likes.labels_of(batch.targets).tolist()
    ['bob', 'tea', 'milk']
    >>> batch.sources.tolist(), batch.positives.tolist(), batch.negatives.tolist()
    ([0], [1], [[2]])
    """

    def __init__(
        self,
        graph: Graph,
        edges: tuple[Iterable[Any], Iterable[Any]] | None = None,
        fanouts: Sequence[int] = (10, 15),
        batch_size: int = 1024,
        num_negatives: int = 1,
        *,
        candidates: Iterable[Any] | None = None,
        tries: int = 32,
        features: Any = None,
        seed_times: Any = None,
        **options: Unpack[Options],
    ) -> None:
        """Prepare batches.

        Args:
            graph: Any graph, see `NeighborSampler`.
            edges: The user's ids of sources and of targets; None = all edges of the graph.
            fanouts: How many neighbours, from the ends of edges outwards; -1 = all.
            batch_size: How many edges a batch has.
            num_negatives: How many vertices are drawn for each edge, each on its own.
            candidates: The user's ids of the vertices that they are drawn from, all alike (for example items); None =
                all vertices.
            tries: How often a vertex is drawn that the source has an edge to, or that is the source, before it stays.
            features: A table with a row per vertex, or a mapping of names to tables; see `Loader`.
            seed_times: One per edge, where `times` of the graph's edges are given; both ends and negatives have it.
            options: See `Options`.
        """
        pairs = graph.edges()[:2] if edges is None else edges
        self._sources, self._targets = (graph.vertices_of(ends) for ends in pairs)
        if self._sources.size != self._targets.size:
            raise InvalidArgumentError(f"edges has {self._sources.size} sources and {self._targets.size} targets")
        self._times = None if seed_times is None else np.asarray(seed_times)
        if self._times is not None and self._times.shape != self._sources.shape:
            raise InvalidArgumentError(f"seed_times has the shape {self._times.shape}; give one for each edge")
        super().__init__(graph, self._sources.size, fanouts, batch_size, features, Settings(**options))
        self.num_negatives = check_whole("num_negatives", num_negatives, 0, 2**31 - 1)
        self._tries = check_whole("tries", tries, 1, 2**31 - 1)
        self._candidates = np.arange(graph.num_vertices) if candidates is None else graph.vertices_of(candidates)
        if not self._candidates.size and self._sources.size:
            raise InvalidArgumentError("candidates is empty; name at least one vertex")
        self._rows = _ascending_rows(graph)

    def _seeds(self, chosen: Array, key: int) -> tuple[Array, Array | None, Any]:
        sources, targets = self._sources[chosen], self._targets[chosen]
        negative_key = np.uint64(hash_number(stream_key(self.settings.seed, NEGATIVE_STREAM), np.uint64(key)))
        negatives = draw_negatives(
            *self._rows, sources, self._candidates, self.num_negatives, self._tries, negative_key
        )
        seeds = np.concatenate([sources, targets, negatives.reshape(-1)])
        if self._times is None:
            return seeds, None, None
        times = self._times[chosen]
        return seeds, np.concatenate([times, times, np.repeat(times, self.num_negatives)]), None

    def _finish(self, draft: Draft, sample: Sample, features: Features) -> LinkBatch:
        count = sample.positions.shape[0] // (2 + self.num_negatives)
        sources, positives, negatives = sample.positions.split([count, count, count * self.num_negatives])
        ends = (sources, positives, negatives.reshape(count, self.num_negatives))
        targets = sample.vertices[: sample.num_targets]
        return LinkBatch(
            sample.vertices, targets, sample.blocks, features, *ends, sample.times, draft.number, draft.seconds
        )


def _ascending_rows(graph: Graph) -> tuple[Array, Array]:
    """Return offsets and neighbours with every row in ascending order."""
    offsets, neighbors, _ = graph.adjacency("out").to_numpy()
    if not graph.is_sorted:
        count = graph.num_vertices
        offsets, neighbors, _ = transpose(*transpose(offsets, neighbors, None, count), count)
    return offsets, neighbors
