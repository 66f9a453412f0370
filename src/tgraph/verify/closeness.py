"""Proof of closeness by one serial search against the edges for each vertex.

The algorithm follows the edges from many sources at once and adds up at the vertices that they reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tgraph.algorithms.sources import choose_sources
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import as_values, check_vertices
from tgraph.verify.searches import search_each


def check_closeness(
    graph: Graph,
    scores: Any,
    *,
    vertices: Iterable[Any] | None = None,
    samples: int | None = None,
    seed: int = 0,
    harmonic: bool = False,
    tolerance: float = 1e-9,
) -> None:
    """Raise `VerificationError` unless `scores` are what `tgraph.closeness` finds with the same arguments.

    Args:
        graph: The graph that was searched.
        scores: `[V]` floats.
        vertices: As they were given to `closeness`.
        samples: As it was given to `closeness`.
        seed: As it was given to `closeness`.
        harmonic: As it was given to `closeness`.
        tolerance: The largest relative difference.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_closeness(graph, [0.0, 0.5, 2 / 3])
    >>> check_closeness(graph, [0.0, 0.5, 0.5])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 (score 0.5, search 0.6666666666666666) breaks the rule: a score follows \
from the distances
    """
    given = as_values(graph, "scores", scores, "f").astype(np.float64)
    asked = choose_sources(graph, vertices, None, 0)
    sampled = choose_sources(graph, None, samples, seed)
    expected = np.full(graph.num_vertices, np.nan)
    for vertex, distances in zip(asked.tolist(), search_each(graph, asked, "in"), strict=True):
        seen_from = sampled[sampled != vertex]
        expected[vertex] = _score(distances[seen_from], graph.num_vertices - 1, harmonic)
    known = ~np.isnan(expected)
    wrong = np.isnan(given) == known
    wrong[known] |= ~(np.abs(given[known] - expected[known]) <= tolerance * expected[known])
    check_vertices(graph, "a score follows from the distances", wrong, score=given, search=expected)


def _score(distances: Array, others: int, harmonic: bool) -> float:
    """Return the score of a vertex with these distances from other ones; all vertices but itself are `others`."""
    if others and not distances.size:
        return float("nan")
    reached = distances[distances > 0]
    if not reached.size:
        return 0.0
    if harmonic:
        return float((1 / reached).sum() * others / distances.size)
    return float(1 / reached.mean() * reached.size / distances.size)
