"""What NetworkX's dispatcher relies on: names, signatures, refusals, the cache, errors."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import networkx as nx
import pytest
from networkx.utils.backends import _registered_algorithms

from tgraph.errors import InvalidGraphError
from tgraph.interop.networkx.dispatch import backend
from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.interop.networkx.registry import FUNCTIONS
from tgraph_networkx import get_info

NX_CUGRAPH_NAMES, NX_CUGRAPH_NAMES_WITHOUT_GRAPHS = 134, 77


def test_the_info_names_the_functions() -> None:
    assert sorted(get_info()["functions"]) == sorted(FUNCTIONS), "update src/tgraph_networkx/names.py"


def test_more_functions_than_any_other_back_end() -> None:
    without_graphs = [name for name in FUNCTIONS if not _registered_algorithms[name]._returns_graph]
    assert len(FUNCTIONS) > NX_CUGRAPH_NAMES
    assert len(without_graphs) > NX_CUGRAPH_NAMES_WITHOUT_GRAPHS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signatures_are_networkxs(name: str) -> None:
    expected = inspect.signature(_registered_algorithms[name].orig_func).parameters.values()
    found = FUNCTIONS[name].signature.parameters.values()
    assert [(p.name, p.kind, p.default) for p in found] == [(p.name, p.kind, p.default) for p in expected]


def test_import_networkx_imports_nothing_of_ours_but_the_info() -> None:
    code = "import sys, networkx; print(*sorted(m for m in sys.modules if m.startswith(('tgraph', 'numba', 'torch'))))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {"tgraph_networkx", "tgraph_networkx.names"}


def test_can_run() -> None:
    graph = nx.path_graph(5)
    assert backend.can_run("bfs_edges", (graph, 0), {}) is True
    assert "multigraphs" in backend.can_run("pagerank", (nx.MultiGraph(graph),), {})
    assert "computes" in backend.can_run("dijkstra_path", (graph, 0, 1), {"weight": lambda u, v, d: 1})
    assert "order" in backend.can_run("bfs_edges", (graph, 0), {"sort_neighbors": sorted})
    assert "positional" in backend.can_run("pagerank", (graph,) * 20, {})

    class OwnAdjacency(nx.Graph):
        def neighbors(self, n: Any) -> Any:
            return iter([n])

    assert "of its own" in backend.can_run("pagerank", (OwnAdjacency([(0, 1)]),), {})


def test_should_run() -> None:
    small, large = nx.path_graph(5), nx.path_graph(600)
    assert "too small" in backend.should_run("pagerank", (small,), {})
    assert backend.should_run("pagerank", (large,), {}) is True
    assert "less time" in backend.should_run("degree_centrality", (large,), {})
    with nx.config(warnings_to_ignore={"cache"}):
        nx.pagerank(large, backend="tgraph")
        assert backend.should_run("degree_centrality", (large,), {}) is True


def test_priority_uses_the_back_end_and_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.gnm_random_graph(600, 2000, seed=1)
    calls = []
    run = backend.pagerank
    monkeypatch.setattr(backend, "pagerank", lambda *args, **kwargs: calls.append(1) or run(*args, **kwargs))
    with nx.config(backend_priority=["tgraph"]):
        found = nx.pagerank(graph)
        assert nx.is_planar(graph) is False  # not ours
        assert nx.pagerank(nx.path_graph(3))  # too small
    assert len(calls) == 1
    assert found == pytest.approx(nx.pagerank(graph), abs=1e-15)


def test_one_conversion_serves_all_attributes() -> None:
    graph = nx.gnm_random_graph(30, 60, seed=1)
    nx.set_edge_attributes(graph, 2, "cost")
    with nx.config(warnings_to_ignore={"cache"}):
        nx.single_source_shortest_path_length(graph, 0, backend="tgraph")
        nx.single_source_dijkstra_path_length(graph, 0, weight="cost", backend="tgraph")
        nx.pagerank(graph, backend="tgraph")
    converted = graph.__networkx_cache__["backends"]["tgraph"].values()
    assert len({id(item) for item in converted}) == 1
    graph.add_edge(0, "new")
    assert not graph.__networkx_cache__


def test_converted_graphs_serve_without_their_original_until_it_changes() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    converted = backend.convert_from_nx(graph)
    assert isinstance(converted, ConvertedGraph)
    assert nx.descendants(converted, "a") == {"b", "c"}
    assert backend.convert_to_nx(converted) is graph
    graph.add_edge("c", "a")
    assert nx.descendants(converted, "b") == {"c"}
    with pytest.raises(InvalidGraphError, match="convert it again"):
        nx.ancestors(converted, "b")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("bfs_tree", (9,)),
        ("single_source_shortest_path_length", (9,)),
        ("bidirectional_shortest_path", (0, 3)),
        ("dijkstra_path", (0, 3)),
        ("bellman_ford_path_length", (0, 3)),
        ("eccentricity", ()),
        ("average_shortest_path_length", ()),
        ("multi_source_dijkstra", ([],)),
        ("core_number", ()),
        ("modularity", ([{0}],)),
        ("jaccard_coefficient", ([(0, 9)],)),
    ],
)
def test_errors_are_networkxs(name: str, args: tuple[Any, ...]) -> None:
    graph = nx.Graph([(0, 1), (1, 2), (2, 2), (3, 4)])
    function = _registered_algorithms[name]
    with pytest.raises(Exception) as expected:  # noqa: PT011 - compared below
        function.orig_func(graph, *args)
    with pytest.raises(type(expected.value)) as found:
        function(graph, *args, backend="tgraph")
    assert str(found.value) == str(expected.value)


def test_generators_are_lazy_and_go_on_in_networkx() -> None:
    graph = nx.DiGraph([(0, 1), (1, 0)])
    order = nx.topological_sort(graph, backend="tgraph")
    with pytest.raises(nx.NetworkXUnfeasible):
        next(order)
