"""Scores of pairs of nodes by what their neighbourhoods have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.csr import transpose
from tgraph.kernels.cpu.row_overlaps import overlaps
from tgraph.runtime import Array


def _is_no_list(arguments: Arguments) -> bool | str:
    is_list = isinstance(arguments["ebunch"], (list, tuple))
    return False if is_list else "pairs that are not in a list are left to NetworkX"


def _ends(graph: ConvertedGraph, pairs: Any) -> tuple[Array, Array]:
    try:
        firsts, seconds = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    except (TypeError, IndexError, KeyError):
        raise LeaveToNetworkX from None
    if any(len(pair) != 2 for pair in pairs):
        raise LeaveToNetworkX
    return graph.numbers_of(firsts), graph.numbers_of(seconds)


def _scored(pairs: Any, scores: Array, is_zero: Array) -> Any:
    """Yield pairs with their scores; the whole number 0 where NetworkX adds up nothing."""
    values = scores.tolist()
    for place in np.flatnonzero(is_zero).tolist():
        values[place] = 0
    return ((pair[0], pair[1], value) for pair, value in zip(pairs, values, strict=True))


def _common(graph: ConvertedGraph, ends: tuple[Array, Array], values: Array) -> tuple[Array, Array, Array]:
    ascending = transpose(*graph.out_rows, None, len(graph))[:2]
    return overlaps(ascending, *ends, values)


@networkx_function(refuses=_is_no_list)
def jaccard_coefficient(G: Any, ebunch: Any = None) -> Any:
    ends = _ends(G, ebunch)
    common, others, _ = _common(G, ends, np.ones(len(G)))
    degrees = G.out_degrees()
    unions = degrees[ends[0]] + degrees[ends[1]] - common
    scores = np.divide(others, unions, out=np.zeros(unions.size), where=unions != 0)
    return _scored(ebunch, scores, unions == 0)


@networkx_function(refuses=_is_no_list)
def resource_allocation_index(G: Any, ebunch: Any = None) -> Any:
    _, others, sums = _common(G, _ends(G, ebunch), 1 / np.maximum(G.degrees(), 1))
    return _scored(ebunch, sums, others == 0)


@networkx_function(refuses=_is_no_list)
def adamic_adar_index(G: Any, ebunch: Any = None) -> Any:
    ends = _ends(G, ebunch)
    if (ends[0] == ends[1]).any():
        raise LeaveToNetworkX
    _, others, sums = _common(G, ends, 1 / np.log(np.maximum(G.degrees(), 2)))
    return _scored(ebunch, sums, others == 0)


@networkx_function(refuses=_is_no_list)
def preferential_attachment(G: Any, ebunch: Any = None) -> Any:
    firsts, seconds = _ends(G, ebunch)
    degrees = G.degrees()
    return _scored(ebunch, degrees[firsts] * degrees[seconds], np.zeros(firsts.size, bool))
