"""Proof of betweenness by the sums of Brandes, one edge after the other, where the algorithm lets each vertex collect.

Edges that lead one level further are walked in the order of their levels: forwards they push path counts, backwards
they push shares. Path counts are extended floats, so that none overflows on graphs of a size that can be checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from tgraph.algorithms.betweenness import scale_of
from tgraph.algorithms.sources import choose_sources
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import arcs_of, as_values, check_vertices
from tgraph.verify.searches import search_each


def check_betweenness(
    graph: Graph,
    scores: Any,
    *,
    sources: Iterable[Any] | None = None,
    samples: int | None = None,
    seed: int = 0,
    normalized: bool = True,
    tolerance: float = 1e-9,
) -> None:
    """Raise `VerificationError` unless `scores` are what `tgraph.betweenness` finds with the same arguments.

    Args:
        graph: The graph that was searched.
        scores: `[V]` floats.
        sources: As they were given to `betweenness`.
        samples: As it was given to `betweenness`.
        seed: As it was given to `betweenness`.
        normalized: As it was given to `betweenness`.
        tolerance: The largest difference, relative to the score or to the mean score.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_betweenness(graph, [0.0, 0.5, 0.0])
    >>> check_betweenness(graph, [0.0, 1.0, 0.0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 1 (score 1.0, sum 0.5) breaks the rule: a score is the sum of its shares
    """
    given = as_values(graph, "scores", scores, "f").astype(np.float64)
    chosen = choose_sources(graph, sources, samples, seed)
    sums = _sum_shares(graph.simplify(), chosen) * scale_of(graph, None if samples is None else chosen, normalized)
    known = ~np.isnan(sums)
    allowed = tolerance * (np.abs(sums) + (np.abs(sums[known]).mean() if known.any() else 0.0))
    wrong = np.isnan(given) == known
    wrong[known] |= ~(np.abs(given[known] - sums[known]) <= allowed[known])
    check_vertices(graph, "a score is the sum of its shares", wrong, score=given, sum=sums)


def _sum_shares(graph: Graph, sources: Array) -> Array:
    arcs, sums = arcs_of(graph), np.zeros(graph.num_vertices)
    for source, levels in zip(sources.tolist(), search_each(graph, sources), strict=True):
        near, far = levels[arcs.sources], levels[arcs.targets]
        further = np.flatnonzero((near >= 0) & (far == near + 1))
        further = further[np.argsort(near[further], kind="stable")]
        froms, tos = arcs.sources[further], arcs.targets[further]
        cuts = np.searchsorted(near[further], np.arange(levels.max() + 1)).tolist()
        counts, shares = np.zeros(levels.size, np.longdouble), np.zeros(levels.size)
        counts[source] = 1
        steps = list(pairwise(cuts))
        for first, last in steps:
            np.add.at(counts, tos[first:last], counts[froms[first:last]])
        for first, last in reversed(steps):
            one, other = froms[first:last], tos[first:last]
            np.add.at(shares, one, (counts[one] / counts[other]).astype(np.float64) * (1 + shares[other]))
        shares[source] = 0
        sums += shares
    return sums
