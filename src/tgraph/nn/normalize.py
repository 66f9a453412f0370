"""Graphs as layers want them: with an edge from every vertex to itself, and weights that keep sums in proportion."""

from __future__ import annotations

import numpy as np

from tgraph.errors import check_choice
from tgraph.graph import Graph, from_csr
from tgraph.kernels.cpu.csr import ascending_rows
from tgraph.runtime import Array

KINDS = ("symmetric", "mean")


def with_self_loops(graph: Graph) -> Graph:
    """Return the graph with one edge from every vertex to itself, of weight 1 where edges have weights.

    >>> import tgraph as tg
    >>> with_self_loops(tg.from_edges([0, 1, 1], [1, 1, 2], runtime="numpy")).edges()[1].tolist()
    [0, 1, 1, 2, 2]
    """
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    everyone = np.arange(graph.num_vertices, dtype=targets.dtype)
    sources = np.repeat(everyone, np.diff(offsets))
    kept = np.flatnonzero(sources != targets)
    new_sources, new_targets = (np.concatenate([column[kept], everyone]) for column in (sources, targets))
    if weights is not None:
        weights = np.concatenate([weights[kept], np.ones(everyone.size, weights.dtype)])
    return _graph(graph, *ascending_rows(new_sources, new_targets, weights, graph.num_vertices, targets.dtype))


def normalized(graph: Graph, kind: str = "symmetric", self_loops: bool = True) -> Graph:
    """Return the graph with weights for sums over neighbours; weights that it has are multiplied.

    Args:
        graph: Any graph.
        kind: `"symmetric"`: 1 / the root of (what leaves the source * what reaches the target), as GCN has it;
            `"mean"`: 1 / what reaches the target. That is the sum of weights, or the number of edges.
        self_loops: Whether every vertex counts among its own neighbours.

    >>> import tgraph as tg
    >>> path = tg.from_edges([0, 1], [1, 2], directed=False, runtime="numpy")
    >>> tuple(round(float(weight), 3) for weight in normalized(path).weights)
    (0.5, 0.408, 0.408, 0.333, 0.408, 0.408, 0.5)
    """
    check_choice("kind", kind, KINDS)
    looped = with_self_loops(graph) if self_loops else graph
    offsets, targets, weights = looped.adjacency("out").to_numpy()
    count = looped.num_vertices
    sources = np.repeat(np.arange(count), np.diff(offsets))
    given = np.ones(targets.size, np.float32) if weights is None else weights.astype(np.float32)
    leaving, reaching = (np.bincount(ends, given, minlength=count) for ends in (sources, targets))
    with np.errstate(divide="ignore"):
        scales = 1 / np.sqrt(leaving), 1 / np.sqrt(reaching)
    factors = scales[0][sources] * scales[1][targets] if kind == "symmetric" else scales[1][targets] ** 2
    return _graph(looped, offsets, targets, (given * np.where(np.isfinite(factors), factors, 0)).astype(np.float32))


def _graph(graph: Graph, offsets: Array, targets: Array, weights: Array | None) -> Graph:
    """Return a graph like another one, with other rows."""
    where = {"runtime": graph.runtime.name, "device": graph.runtime.device}
    return from_csr(offsets, targets, weights, graph.directed, graph.vertex_labels, **where)
