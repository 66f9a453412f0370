"""Greedy colouring."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.greedy_coloring import greedy_colors
from tgraph.runtime import Array


def colors_of(graph: ConvertedGraph) -> tuple[Array, Array]:
    """Return the vertices by falling degree, and the colours that they take in this order `[V]`."""
    order = np.argsort(-graph.degrees(), kind="stable")
    return order, greedy_colors(graph.out_rows, order)


def _has_other_strategy(arguments: Arguments) -> bool | str:
    other = arguments["strategy"] != "largest_first" or arguments["interchange"]
    return "other strategies than largest_first" if other else False


@networkx_function(refuses=_has_other_strategy)
def greedy_color(G: Any, strategy: Any = "largest_first", interchange: Any = False) -> dict[Any, int]:
    order, colors = colors_of(G)
    return G.by_node(colors[order], order)
