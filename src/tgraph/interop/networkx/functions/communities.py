"""Communities: Louvain with NetworkX's own moves, label propagation, and how good a partition is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from tgraph.interop.networkx.functions.coloring import colors_of
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX, Rows
from tgraph.interop.networkx.random_order import shuffled_numbers
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.kernels.cpu.ordered.first_pairs import first_occurrences
from tgraph.kernels.cpu.ordered.labels import propagate
from tgraph.kernels.cpu.ordered.louvain import move_vertices
from tgraph.runtime import Array


@dataclass(frozen=True)
class Level:
    """The graph of one level: edges in the order in which NetworkX added them, and rows of its adjacency."""

    num_vertices: int
    sources: Array
    targets: Array
    weights: Array  # float64
    directed: bool

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        """Every edge at both ends, in the order of adding, a self-loop once: offsets, neighbours, weights."""
        ends = np.stack([self.sources, self.targets], axis=1).ravel()
        others = np.stack([self.targets, self.sources], axis=1).ravel()
        weights = np.repeat(self.weights, 2)
        kept = np.ones(ends.size, bool)
        kept[1::2] = self.sources != self.targets
        return _rows(ends[kept], others[kept], weights[kept], self.num_vertices)

    @cached_property
    def degrees(self) -> tuple[Array, Array]:
        """Outgoing and incoming weights; of an undirected graph both are the degrees, self-loops twice."""
        if self.directed:
            ends = self.sources, self.targets
            outgoing, incoming = (np.bincount(end, self.weights, self.num_vertices) for end in ends)
            return outgoing, incoming
        offsets, neighbors, weights = self.rows  # added in their order, as NetworkX does, and loops once more
        sources = np.repeat(np.arange(self.num_vertices), np.diff(offsets))
        sums = np.bincount(sources, weights, self.num_vertices)
        loops = sources == neighbors
        sums[sources[loops]] += weights[loops]
        return sums, sums

    def in_networkx_order(self) -> tuple[Array, Array, Array]:
        """Return the edges as NetworkX's `edges()` has them: by vertex, each at the end met first."""
        if self.directed:
            order = np.argsort(self.sources, kind="stable")
            return self.sources[order], self.targets[order], self.weights[order]
        offsets, neighbors, weights = self.rows
        sources = np.repeat(np.arange(self.num_vertices), np.diff(offsets))
        once = sources <= neighbors
        return sources[once], neighbors[once].astype(np.int64), weights[once]

    def modularity(self, labels: Array, resolution: Any) -> float:
        """Return the modularity of a partition; communities are numbered from 0."""
        return sum(self.contributions(labels, resolution).tolist())

    def contributions(self, labels: Array, resolution: Any) -> Array:
        """Return what each community adds to the modularity."""
        count = int(labels.max(initial=-1)) + 1
        outgoing, incoming = self.degrees
        ends = labels[self.sources]
        inside = np.flatnonzero(ends == labels[self.targets])
        weights = np.bincount(ends[inside], self.weights[inside], count)
        total = float(outgoing.sum())
        edges, norm = (total, 1 / total**2) if self.directed else (total / 2, 1 / total**2)
        sums = np.bincount(labels, outgoing, count), np.bincount(labels, incoming, count)
        return weights / edges - resolution * sums[0] * sums[1] * norm

    def move(self, resolution: Any, state: Any) -> Array:
        """Return the community of every vertex after its moves, numbered as NetworkX does, without gaps."""
        order, degrees = shuffled_numbers(self.num_vertices, state), self.degrees
        total = sum((degrees[0] + degrees[1]).tolist()) / (2 if self.directed else 4)
        found = move_vertices(*self._neighbors(), degrees, order, total, resolution, directed=self.directed)
        is_used = np.zeros(self.num_vertices, bool)
        is_used[found] = True
        return (np.cumsum(is_used) - 1)[found]

    def _neighbors(self) -> tuple[Rows, Array]:
        """Return rows without self-loops; of a directed graph outgoing edges come first, joined with edges back."""
        straight = self.sources != self.targets
        sources, targets, weights = self.sources[straight], self.targets[straight], self.weights[straight]
        if self.directed:
            ends, others = np.concatenate([sources, targets]), np.concatenate([targets, sources])
            firsts, sums = _merged(ends, others, np.concatenate([weights, weights]), self.num_vertices)
            found = _rows(ends[firsts], others[firsts], sums, self.num_vertices)
        elif straight.all():
            found = self.rows
        else:
            found = Level(self.num_vertices, sources, targets, weights, False).rows
        return (found[0], found[1]), found[2]

    def joined(self, labels: Array) -> Level:
        """Return the graph of the communities, its edges in the order in which NetworkX adds them."""
        sources, targets, weights = self.in_networkx_order()
        sources, targets = labels[sources], labels[targets]
        count = int(labels.max()) + 1
        low, high = (
            (sources, targets) if self.directed else (np.minimum(sources, targets), np.maximum(sources, targets))
        )
        firsts, sums = _merged(low, high, weights, count)
        return Level(count, sources[firsts], targets[firsts], sums, self.directed)


def _rows(ends: Array, others: Array, weights: Array, num_vertices: int) -> tuple[Array, Array, Array]:
    """Return offsets, neighbours and weights by end; inside a row they keep their order."""
    offsets, neighbors, row_weights = rows_from_edges(ends, others.astype(np.int32), weights, num_vertices)
    assert row_weights is not None
    return offsets, neighbors, row_weights


def _merged(ends: Array, others: Array, weights: Array, num_vertices: int) -> tuple[Array, Array]:
    """Return where each pair of vertices occurs first, ascending, and the sum of its weights in their order."""
    first_of = first_occurrences(ends, others, num_vertices)
    is_first = first_of == np.arange(first_of.size)
    numbers = np.cumsum(is_first) - 1
    firsts = np.flatnonzero(is_first)
    return firsts, np.bincount(numbers[first_of], weights, firsts.size)


def _first_level(graph: ConvertedGraph, weight: Any) -> Level:
    """Return the graph itself as a level, the same object every time."""
    return graph.kept(("level", weight), lambda: _build_first_level(graph, weight))


def _build_first_level(graph: ConvertedGraph, weight: Any) -> Level:
    weights = graph.float_weights(weight)[graph.once]
    if weights.size and not (weights.min() >= 0 and 0 < weights.sum() < 2**52):
        raise LeaveToNetworkX
    sources, targets = graph.sources[graph.once], graph.out_rows[1][graph.once]
    return Level(len(graph), sources.astype(np.int64), targets.astype(np.int64), weights, graph.directed)


def _partitions(graph: ConvertedGraph, weight: Any, resolution: Any, threshold: Any, state: Any) -> Iterator[Array]:
    """Yield the community of every vertex after each level."""
    level = _first_level(graph, weight)
    if not graph.num_arcs:
        yield np.arange(len(graph))
        return
    quality = level.modularity(np.arange(len(graph)), resolution)
    labels = level.move(resolution, state)
    communities, is_better = labels, True
    while is_better:
        yield communities
        new_quality = level.modularity(labels, resolution)
        if new_quality - quality <= threshold:
            return
        quality, level = new_quality, level.joined(labels)
        labels = level.move(resolution, state)
        is_better = int(labels.max()) + 1 < level.num_vertices
        communities = labels[communities]


def _is_odd(arguments: Arguments) -> bool | str:
    level = arguments.get("max_level")
    if not isinstance(arguments["resolution"], (int, float)):
        return "a resolution that is no number"
    return "no level" if level is not None and not (isinstance(level, int) and level > 0) else False


@networkx_function(effort="heavy", refuses=_is_odd)
def louvain_communities(
    G: Any,
    weight: Any = "weight",
    resolution: Any = 1,
    threshold: Any = 1e-07,
    max_level: Any = None,
    seed: Any = None,
) -> list[set[Any]]:
    if not len(G):
        raise LeaveToNetworkX
    partitions = islice(_partitions(G, weight, resolution, threshold, seed), max_level)
    return G.sets_by_label(deque(partitions, maxlen=1).pop())


@networkx_function(effort="heavy", generator=True, refuses=_is_odd)
def louvain_partitions(
    G: Any, weight: Any = "weight", resolution: Any = 1, threshold: Any = 1e-07, seed: Any = None
) -> Any:
    if not len(G):
        raise LeaveToNetworkX
    return (G.sets_by_label(labels) for labels in _partitions(G, weight, resolution, threshold, seed))


def _labels(graph: ConvertedGraph, communities: Any) -> Array:
    """Return the community of every vertex; NetworkX says what is wrong with what is no partition."""
    if not isinstance(communities, (list, tuple)) or not all(hasattr(part, "__len__") for part in communities):
        raise LeaveToNetworkX
    members = graph.numbers_of(node for part in communities for node in part)
    labels = np.full(len(graph), -1)
    labels[members] = np.repeat(np.arange(len(communities)), [len(part) for part in communities])
    if members.size != len(graph) or (labels < 0).any():
        raise LeaveToNetworkX
    return labels


@networkx_function()
def modularity(G: Any, communities: Any, weight: Any = "weight", resolution: Any = 1) -> float:
    labels = _labels(G, communities)
    if not G.num_arcs or not all(len(part) for part in communities):
        raise LeaveToNetworkX
    return _first_level(G, weight).modularity(labels, resolution)


@networkx_function()
def partition_quality(G: Any, partition: Any) -> tuple[float, float]:
    labels = _labels(G, partition)
    count, edges = len(G), G.once.size
    if count < 2 or not edges:
        raise LeaveToNetworkX
    sizes = np.bincount(labels)
    times = 1 if G.directed else 2
    between = (count**2 - int((sizes**2).sum())) // times
    inside = int((labels[G.sources[G.once]] == labels[G.out_rows[1][G.once]]).sum())
    return inside / edges, (inside + between - (edges - inside)) / (count * (count - 1) // times)


@networkx_function(effort="heavy")
def label_propagation_communities(G: Any) -> Any:
    order, colors = colors_of(G)
    parts: dict[int, set[Any]] = {}
    for node, color in zip(G.nodes_of(order), colors[order].tolist(), strict=True):
        parts.setdefault(color, set()).add(node)
    turns = G.numbers_of(node for part in parts.values() for node in part)  # sets have an order of their own
    clusters: dict[int, set[Any]] = {}
    for node, label in G.by_node(propagate(G.out_rows, turns)).items():
        clusters.setdefault(label, set()).add(node)
    return clusters.values()
