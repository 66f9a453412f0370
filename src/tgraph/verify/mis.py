"""Proof of a maximal independent set by its properties: no edge inside, a member beside whoever is outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, arcs_of, as_values, check_vertices


def check_mis(graph: Graph, members: Any, order: Any = None) -> None:
    """Raise `VerificationError` unless `members` is independent and no vertex can be added; loops are ignored.

    `order`, where given, holds distinct numbers, and the set must be the one that a loop in their order gives.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_mis(graph, [True, False, True])
    >>> check_mis(graph, [True, False, False])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 breaks the rule: a vertex outside has a neighbour in the set
    """
    given = as_values(graph, "members", members, "b")
    arcs = arcs_of(graph)
    proper = arcs.sources != arcs.targets
    both = given[arcs.sources] & given[arcs.targets] & proper
    arcs.check("no edge joins two members", both)
    beside = given.copy()
    beside[arcs.targets[given[arcs.sources]]] = True
    beside[arcs.sources[given[arcs.targets]]] = True
    check_vertices(graph, "a vertex outside has a neighbour in the set", ~beside)
    if order is not None:
        numbers = as_values(graph, "order", order, "i")
        check_vertices(graph, "a vertex is out only because of an earlier one", _without_earlier(arcs, given, numbers))


def _without_earlier(arcs: Arcs, members: Array, order: Array) -> Array:
    """Return the mask of the vertices outside whose neighbours in the set all come later.

    In an independent set there are none of them exactly if the greedy loop gives it.
    """
    earlier = members.copy()
    for froms, tos in ((arcs.sources, arcs.targets), (arcs.targets, arcs.sources)):
        earlier[tos[members[froms] & (order[froms] < order[tos])]] = True
    outside: Array = np.logical_not(earlier)
    return outside
