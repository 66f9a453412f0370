"""Proof of weakly connected components by a serial union-find, where the algorithm passes labels along edges."""

from __future__ import annotations

from typing import Any

from tgraph.graph import Graph
from tgraph.kernels.cpu.union_find import smallest_in_component
from tgraph.verify.rules import arcs_of, as_values, check_vertices


def check_wcc(graph: Graph, labels: Any) -> None:
    """Raise `VerificationError` unless `labels` names the smallest vertex number of every weak component.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 2], [1, 3])
    >>> check_wcc(graph, [0, 0, 2, 2])
    >>> check_wcc(graph, [0, 0, 0, 0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 (label 0, smallest 2) breaks the rule: a label is the smallest vertex of \
the component
    """
    given = as_values(graph, "labels", labels, "i")
    arcs = arcs_of(graph)
    arcs.check("both ends of an edge have one label", given[arcs.sources] != given[arcs.targets], labels=given)
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    smallest = smallest_in_component(offsets, targets)
    rule = "a label is the smallest vertex of the component"
    check_vertices(graph, rule, given != smallest, label=given, smallest=smallest)
