"""Proof of a greedy colouring by its properties: edges have two colours, every smaller colour is beside a vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.verify.rules import arcs_of, as_values, check_vertices


def check_coloring(graph: Graph, colors: Any, order: Any = None) -> None:
    """Raise `VerificationError` unless neighbours differ and nobody could take a smaller colour; loops are ignored.

    `order`, where given, holds distinct numbers, and the colours must be those that a first-fit loop in their order
    gives: then the smaller colours are beside a vertex at earlier ones.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_coloring(graph, [0, 1, 0])
    >>> check_coloring(graph, [0, 1, 2])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 (color 2, smaller ones beside it 1) breaks the rule: every smaller color \
is beside a vertex
    """
    given = as_values(graph, "colors", colors, "i").astype(np.int64)
    check_vertices(graph, "a color is 0 or more", given < 0, color=given)
    arcs = arcs_of(graph)
    equal = (given[arcs.sources] == given[arcs.targets]) & (arcs.sources != arcs.targets)
    arcs.check("neighbours have different colors", equal, colors=given)
    vertices = np.concatenate([arcs.sources, arcs.targets])
    neighbors = np.concatenate([arcs.targets, arcs.sources])
    counted = given[neighbors] < given[vertices]
    if order is not None:
        numbers = as_values(graph, "order", order, "i")
        counted &= numbers[neighbors] < numbers[vertices]
    pairs = np.unique(np.stack([vertices[counted].astype(np.int64), given[neighbors[counted]]]), axis=1)
    below = np.bincount(pairs[0], minlength=graph.num_vertices)
    who = "every smaller color is beside a vertex" + ("" if order is None else ", at an earlier one")
    check_vertices(graph, who, below != given, **{"color": given, "smaller ones beside it": below})
