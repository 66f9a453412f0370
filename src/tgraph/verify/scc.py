"""Proof of strongly connected components: every label's vertex reaches its component and is reached by it, and the
components in a row have no edge back. Breadth-first searches and a topological order, where the algorithm uses a
depth-first search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, arcs_of, as_values, check_vertices


def check_scc(graph: Graph, labels: Any) -> None:
    """Raise `VerificationError` unless `labels` names the smallest vertex number of every strong component.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1, 1], [1, 0, 2])
    >>> check_scc(graph, [0, 0, 2])
    >>> check_scc(graph, [0, 0, 0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 (label 0) breaks the rule: a vertex reaches the vertex that its label \
names
    """
    given = as_values(graph, "labels", labels, "i").astype(np.int64)
    vertices = np.arange(graph.num_vertices)
    check_vertices(graph, "a label is a vertex", (given < 0) | (given >= graph.num_vertices), label=given)
    check_vertices(graph, "the vertex that a label names has that label", given[given] != given, label=given)
    check_vertices(graph, "a label is the smallest vertex of the component", given > vertices, label=given)
    arcs = arcs_of(graph)
    inside = given[arcs.sources] == given[arcs.targets]
    roots = given == vertices
    unreached = ~_reach(roots, arcs.sources[inside], arcs.targets[inside])
    check_vertices(graph, "a vertex is reached by the vertex that its label names", unreached, label=given)
    unreaching = ~_reach(roots, arcs.targets[inside], arcs.sources[inside])
    check_vertices(graph, "a vertex reaches the vertex that its label names", unreaching, label=given)
    rule = "components that reach each other are one"
    check_vertices(graph, rule, _on_cycles(arcs, inside, given)[given], label=given)


def _reach(reached: Array, froms: Array, tos: Array) -> Array:
    """Return the mask of the vertices that arcs lead to from the masked ones, one level after the other."""
    reached = reached.copy()
    order = np.argsort(froms, kind="stable")
    froms, tos = froms[order], tos[order]
    frontier = np.flatnonzero(reached)
    while frontier.size:
        found = np.unique(tos[_rows(froms, frontier)])
        frontier = found[~reached[found]]
        reached[frontier] = True
    return reached


def _on_cycles(arcs: Arcs, inside: Array, labels: Array) -> Array:
    """Return the mask of the components that stay when those that no other leads to are removed again and again."""
    froms, tos = labels[arcs.sources[~inside]], labels[arcs.targets[~inside]]
    order = np.argsort(froms, kind="stable")
    froms, tos = froms[order], tos[order]
    counts = np.bincount(tos, minlength=labels.size)
    left = np.ones(labels.size, bool)
    frontier = np.flatnonzero(counts == 0)
    while frontier.size:
        left[frontier] = False
        led_to = tos[_rows(froms, frontier)]
        np.subtract.at(counts, led_to, 1)
        frontier = np.unique(led_to[counts[led_to] == 0])
    return left


def _rows(ascending: Array, keys: Array) -> Array:
    """Return the positions where an ascending array has one of the keys."""
    firsts, lasts = np.searchsorted(ascending, keys), np.searchsorted(ascending, keys, "right")
    sizes = lasts - firsts
    shifts = np.repeat(firsts - np.cumsum(sizes) + sizes, sizes)
    positions: Array = shifts + np.arange(sizes.sum())
    return positions
