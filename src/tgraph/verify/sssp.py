"""Proof of shortest distances by edge rules, without searching.

Upper bound: the source has distance 0 and no edge offers a shorter way, so no distance exceeds the true one.
Lower bound: every reached vertex hangs on the source by tight edges (distance + weight = distance, exactly), so a path
of that length exists. Edges of weight 0 may be tight in a circle, so that hanging on the source is proved as well.

Sums are compared exactly also in floating point: rounded addition is monotonic, so that the least rounded sum over all
paths is one definite number, whatever the order in which an algorithm finds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, arcs_of, as_values, check_vertices

NOT_REACHED_INT = np.iinfo(np.int64).max
EXACT_FLOAT_LIMIT = 2.0**53  # integers up to here are exact in float64


def check_sssp(graph: Graph, source: Any, distances: Any, parents: Any = None) -> None:
    """Raise `VerificationError` unless `distances` and `parents` are shortest paths of `graph` from `source`.

    Args:
        graph: The graph that was searched; without weights, every edge has length 1.
        source: The user's id of the first vertex.
        distances: `[V]` float64 with inf = not reached, or int64 with 2^63 - 1 = not reached.
        parents: `[V]` vertex numbers, the source its own parent, -1 = not reached; None = not checked.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1], [1, 2, 2], [1.0, 5.0, 1.5])
    >>> check_sssp(graph, 0, [0.0, 1.0, 2.5], [0, 0, 1])
    >>> check_sssp(graph, 0, [0.0, 1.0, 5.0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: edge 1 -> 2 (distances 1.0 and 5.0, weight 1.5) breaks the rule: no edge offers a \
shorter way
    """
    first = graph.vertex_of(source)
    lengths = as_values(graph, "distances", distances, "if")
    lengths = lengths.astype(np.int64 if lengths.dtype.kind == "i" else np.float64)
    arcs = arcs_of(graph)
    if lengths.dtype.kind == "i" and arcs.weights is not None and arcs.weights.dtype.kind == "f":
        raise VerificationError("sums of float weights are floats", f"type {lengths.dtype.name}")
    reached = _check_range(arcs, first, lengths)
    tight = _check_edges(arcs, reached, lengths)
    if parents is None:
        _check_hanging(arcs, first, reached, lengths, tight)
    else:
        _check_parents(arcs, first, reached, as_values(graph, "parents", parents, "i").astype(np.int64), tight)


def _check_range(arcs: Arcs, first: int, lengths: Array) -> Array:
    """Check what a distance may be and return the mask of the reached vertices."""
    graph = arcs.graph
    is_first = np.arange(graph.num_vertices) == first
    check_vertices(graph, "a distance is 0 or more", ~(lengths >= 0), distance=lengths)
    check_vertices(graph, "the source has distance 0", is_first & (lengths != 0), distance=lengths)
    if lengths.dtype.kind == "i":
        return np.asarray(lengths != NOT_REACHED_INT)
    reached = np.isfinite(lengths)
    if arcs.weights is None or arcs.weights.dtype.kind == "i":
        rounded = reached & (lengths > EXACT_FLOAT_LIMIT)
        check_vertices(graph, "sums of integer weights beyond 2^53 are int64", rounded, distance=lengths)
    return np.asarray(reached)


def _check_edges(arcs: Arcs, reached: Array, lengths: Array) -> Array:
    """Check that no edge offers a shorter way and return the mask of the tight edges.

    Integers are subtracted, which cannot overflow between numbers that are not negative; floats are added, because the
    rounded sum is what a distance is.
    """
    near, far = lengths[arcs.sources], lengths[arcs.targets]
    steps = np.ones(near.size, np.int64) if arcs.weights is None else arcs.weights
    counts = reached[arcs.sources]
    if lengths.dtype.kind == "i":
        excess, tight = far - near > steps, far - near == steps
    else:
        sums = near + steps.astype(np.float64)
        excess, tight = ~(far <= sums), far == sums
    arcs.check("no edge offers a shorter way", counts & excess, distances=lengths)
    return np.asarray(counts & reached[arcs.targets] & tight)


def _check_parents(arcs: Arcs, first: int, reached: Array, parents: Array, tight: Array) -> None:
    graph = arcs.graph
    is_first = np.arange(graph.num_vertices) == first
    check_vertices(graph, "the source is its own parent", is_first & (parents != first), parent=parents)
    check_vertices(graph, "a vertex not reached has parent -1", ~reached & (parents != -1), parent=parents)
    wild = reached & ((parents < 0) | (parents >= graph.num_vertices))
    check_vertices(graph, "the parent of a reached vertex is a vertex", wild, parent=parents)
    joined = arcs.reach(tight & (parents[arcs.targets] == arcs.sources))
    loose = reached & ~is_first & ~joined
    check_vertices(graph, "an edge from the parent gives the distance exactly", loose, parent=parents)
    ancestors = np.where(reached, parents, first)
    for _ in range(graph.num_vertices.bit_length()):  # each round doubles how far up an ancestor is
        ancestors = ancestors[ancestors]
    check_vertices(graph, "parents lead to the source", ancestors != first, parent=parents)


def _check_hanging(arcs: Arcs, first: int, reached: Array, lengths: Array, tight: Array) -> None:
    """Check that tight edges lead from the source to every reached vertex.

    A tight edge from a smaller distance is as good as a path: distances fall along it until the source. Only vertices
    without one have to be found by walking along tight edges between equal distances.
    """
    graph = arcs.graph
    falls = lengths[arcs.sources] < lengths[arcs.targets]
    hanging = arcs.reach(tight & falls)
    hanging[first] = True
    flat = np.flatnonzero(tight & ~falls)
    while flat.size:
        begins = hanging[arcs.sources[flat]]
        fresh = flat[begins & ~hanging[arcs.targets[flat]]]
        if not fresh.size:
            break
        hanging[arcs.targets[fresh]] = True
        flat = flat[~begins]
    check_vertices(graph, "tight edges lead from the source", reached & ~hanging, distance=lengths)
