"""Proof of random walks: every step follows an edge of the graph, found in a sorted list of all edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.verify.rules import arcs_of, name_of


def check_random_walks(graph: Graph, walks: Any, weighted: bool = False) -> None:
    """Raise `VerificationError` unless every step of `walks [W, length + 1]` follows an edge.

    A walk may end (-1) only where no edge leads on; in a weighted walk only edges with a weight above 0 do.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_random_walks(graph, [[0, 1, 2], [1, 2, -1]])
    >>> check_random_walks(graph, [[0, 2, -1]])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: step 1 of walk 0 (0 -> 2) breaks the rule: a step follows an edge
    """
    given = runtimes.get("numpy").asarray(walks)
    count = graph.num_vertices
    if given.ndim != 2 or given.shape[1] < 1 or given.dtype.kind != "i":
        raise VerificationError("walks are rows of vertex numbers", f"shape {given.shape} of {given.dtype.name}")
    if ((given < -1) | (given >= count)).any() or (given[:, 0] < 0).any():
        raise VerificationError("a walk is made of vertices and begins at one", "a number that is none")
    arcs = arcs_of(graph)
    keys = arcs.sources.astype(np.int64) * count + arcs.targets
    if weighted and arcs.weights is not None:
        keys = keys[arcs.weights > 0]
    keys = np.sort(keys)
    leads_on = np.zeros(count, bool)
    leads_on[keys // max(count, 1)] = True
    before, after = given[:, :-1].astype(np.int64), given[:, 1:].astype(np.int64)
    moved = (before >= 0) & (after >= 0)
    steps = before[moved] * count + after[moved]
    found = np.searchsorted(keys, steps)
    follows = np.zeros(moved.shape, bool)
    follows[moved] = (found < keys.size) & (np.append(keys, -1)[found] == steps)
    _check(graph, given, "a step follows an edge", moved & ~follows)
    _check(graph, given, "a walk that has ended does not go on", (before < 0) & (after >= 0))
    stopped = (before >= 0) & (after < 0)
    stopped[stopped] = leads_on[before[stopped]]
    _check(graph, given, "a walk ends only where no edge leads on", stopped)


def _check(graph: Graph, walks: Any, rule: str, broken: Any) -> None:
    if broken.any():
        walk, step = np.argwhere(broken)[0].tolist()
        ends = [name_of(graph, number) if number >= 0 else None for number in walks[walk, step : step + 2].tolist()]
        raise VerificationError(rule, f"step {step + 1} of walk {walk} ({ends[0]!r} -> {ends[1]!r})")
