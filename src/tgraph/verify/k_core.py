"""Proof of core numbers: enough neighbours for each, and none larger by a serial peeling with buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.kernels.cpu.bucket_peeling import peel_by_buckets
from tgraph.verify.rules import arcs_of, as_values, check_vertices


def check_k_core(graph: Graph, cores: Any) -> None:
    """Raise `VerificationError` unless `cores` are the core numbers of the graph without directions.

    Self-loops do not count and repeated edges count once.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1, 2], [1, 2, 2, 3])
    >>> check_k_core(graph, [2, 2, 2, 1])
    >>> check_k_core(graph, [2, 2, 2, 2])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 3 (core 2, such neighbours 1) breaks the rule: \
a vertex has as many neighbours of its core number or more
    """
    given = as_values(graph, "cores", cores, "i")
    simple = graph.symmetrize().simplify()
    arcs = arcs_of(simple)
    reaches = given[arcs.targets] >= given[arcs.sources]
    support = np.bincount(arcs.sources[reaches], minlength=graph.num_vertices)
    rule = "a vertex has as many neighbours of its core number or more"
    check_vertices(graph, rule, support < given, **{"core": given, "such neighbours": support})
    expected = peel_by_buckets(*simple.adjacency("out").to_numpy()[:2])
    rule = "a core number is the largest possible"
    check_vertices(graph, rule, given != expected, core=given, largest=expected)
