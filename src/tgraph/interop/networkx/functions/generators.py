"""Classic graphs with many edges, built without NetworkX's checks of every edge."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product
from typing import Any

import networkx as nx

from tgraph.interop.networkx.edges import build_digraph, build_graph
from tgraph.interop.networkx.registry import Arguments, networkx_function

KINDS = (None, nx.Graph, nx.DiGraph)


def _is_odd(arguments: Arguments) -> bool | str:
    counts = [arguments[name] for name in ("n", "n1", "n2") if name in arguments]
    is_plain = all(type(count) is int and count >= 0 for count in counts) and arguments["create_using"] in KINDS
    return False if is_plain else "nodes or a class of the user's"


def _build(create_using: Any) -> Any:
    return build_digraph if create_using is nx.DiGraph else build_graph


@networkx_function(refuses=_is_odd)
def complete_graph(n: Any, create_using: Any = None) -> Any:
    pairs = permutations(range(n), 2) if create_using is nx.DiGraph else combinations(range(n), 2)
    return _build(create_using)(range(n), pairs)


@networkx_function(refuses=_is_odd)
def path_graph(n: Any, create_using: Any = None) -> Any:
    return _build(create_using)(range(n), pairwise(range(n)))


@networkx_function(refuses=_is_odd)
def cycle_graph(n: Any, create_using: Any = None) -> Any:
    edges = pairwise([*range(n), 0]) if n else ()
    return _build(create_using)(range(n), edges)


@networkx_function(refuses=_is_odd)
def star_graph(n: Any, create_using: Any = None) -> Any:
    return _build(create_using)(range(n + 1), ((0, node) for node in range(1, n + 1)))


@networkx_function(refuses=lambda arguments: _is_odd(arguments) or arguments["create_using"] is nx.DiGraph)
def complete_bipartite_graph(n1: Any, n2: Any, create_using: Any = None) -> Any:
    result = build_graph(range(n1 + n2), product(range(n1), range(n1, n1 + n2)))
    for node, data in result._node.items():
        data["bipartite"] = int(node >= n1)
    result.graph["name"] = f"complete_bipartite_graph({n1}, {n2})"
    return result
