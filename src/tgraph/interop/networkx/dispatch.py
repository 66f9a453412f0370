"""The object that NetworkX's dispatcher talks to; the entry point `networkx.backends` names it."""

from __future__ import annotations

from typing import Any

import networkx as nx

from tgraph.interop.networkx import functions
from tgraph.interop.networkx.differences import DIFFERENCES
from tgraph.interop.networkx.graph import BACKEND, ConvertedGraph
from tgraph.interop.networkx.registry import FUNCTIONS, Arguments, Function

LEAST_NODES = {"linear": 500, "heavy": 50}  # below, NetworkX is done before the graph is converted
PLAIN_ADJACENCY = ("adjacency", "neighbors", "__getitem__", "__iter__", "adj")


class Backend:
    """Converts graphs, says what it runs, and has one attribute per dispatch name."""

    def __init__(self) -> None:
        functions.load()
        for name, function in FUNCTIONS.items():
            setattr(self, name, function.run)

    @staticmethod
    def convert_from_nx(graph: Any, *args: Any, **kwargs: Any) -> ConvertedGraph:
        """Return a graph as arrays; a second one of the same graph, for other attributes, is the same object."""
        if isinstance(graph, ConvertedGraph):
            return graph
        for converted in _cached(graph).values():
            if isinstance(converted, ConvertedGraph):
                return converted
        return ConvertedGraph(graph)

    @staticmethod
    def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
        """Return a NetworkX graph for a converted one, anything else as it is."""
        return result.original if isinstance(result, ConvertedGraph) else result

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: Arguments) -> bool | str:
        """Say whether a call is answered exactly as NetworkX does, or why not."""
        function = FUNCTIONS[name]
        try:
            arguments = function.bind(args, kwargs)
        except TypeError as error:  # NetworkX words it
            return str(error)
        graph = next(iter(arguments.values()), None)
        if isinstance(graph, nx.Graph) and not _is_plain(type(graph)):
            return f"{type(graph).__name__} has an adjacency of its own"
        if not function.multigraph and _is_multigraph(graph):
            return "multigraphs are left to NetworkX"
        if callable(arguments.get("weight")) or callable(arguments.get("distance")):
            return "weights that a function computes are left to NetworkX"
        reason = function.refuses(arguments) if function.refuses else False
        return reason if isinstance(reason, str) else not reason

    @staticmethod
    def on_start_tests(items: list[Any]) -> None:
        """Mark the tests of NetworkX's suite that are expected to fail."""
        import pytest

        for item in items:
            for test, reason in DIFFERENCES.items():
                if item.nodeid.endswith(test):
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=True))

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: Arguments) -> bool | str:
        """Say whether a call is worth it, or why not: NetworkX needs longer for it than converting the graph takes."""
        function = FUNCTIONS[name]
        graph = next(iter(function.bind(args, kwargs).values()), None)
        return _is_worth_it(function, graph)


def _is_worth_it(function: Function, graph: Any) -> bool | str:
    if not isinstance(graph, nx.Graph):  # converted already, or a generator
        return True
    if function.effort == "trivial":
        return True if _cached(graph) else "it takes less time than converting the graph"
    if len(graph) < LEAST_NODES[function.effort]:
        return f"a graph of {len(graph)} nodes is too small"
    return True


def _is_multigraph(graph: Any) -> bool:
    return hasattr(graph, "is_multigraph") and bool(graph.is_multigraph())


def _cached(graph: Any) -> dict[Any, Any]:
    """Return the conversions that NetworkX keeps with a graph."""
    return ((getattr(graph, "__networkx_cache__", None) or {}).get("backends") or {}).get(BACKEND) or {}


def _is_plain(kind: type) -> bool:
    """Say whether a class keeps its edges where NetworkX's own classes do."""
    base = next(base for base in kind.__mro__ if base in (nx.MultiDiGraph, nx.MultiGraph, nx.DiGraph, nx.Graph))
    return all(getattr(kind, member) is getattr(base, member) for member in PLAIN_ADJACENCY)


backend = Backend()
