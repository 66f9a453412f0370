"""Every function of the back end against plain NetworkX, over random graphs of every kind."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from same_results import assert_same, outcome, public_function

from tgraph.interop.networkx.dispatch import backend
from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.interop.networkx.registry import FUNCTIONS

KINDS = [nx.Graph, nx.DiGraph, nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
IDS: list[Callable[[int], Any]] = [
    int,
    lambda i: 7 - i,
    lambda i: -i,  # -1 and -2 have the same hash
    lambda i: 10**12 * i,
    str,
    lambda i: (i, "x"),
    lambda i: i / 2,
]
WEIGHTS: list[Callable[[random.Random], Any]] = [
    lambda chance: chance.randint(1, 4),
    lambda chance: chance.randint(-1, 4),
    lambda chance: chance.choice([0.5, 1.0, 1.5, 2.25]),
    lambda chance: chance.choice([1, 2.5]),
]
Case = tuple[Any, random.Random]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A graph and a source of chance for arguments."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    count = draw(st.integers(0, 9))
    graph = draw(st.sampled_from(KINDS))()
    ids = draw(st.sampled_from(IDS))
    nodes = [ids(i) for i in range(count)]
    graph.add_nodes_from(chance.sample(nodes, chance.randint(0, count)))
    weight = draw(st.sampled_from([None, *WEIGHTS]))
    loops = draw(st.booleans())
    acyclic = draw(st.booleans())
    for _ in range(chance.randint(0, 2 * count)):
        first, second = sorted(chance.choices(range(count), k=2)) if acyclic else chance.choices(range(count), k=2)
        if first == second and not loops:
            continue
        data = {} if weight is None or chance.random() < 0.1 else {"weight": weight(chance)}
        graph.add_edge(nodes[first], nodes[second], **data)
    return graph, chance


def node(case: Case) -> Any:
    graph, chance = case
    return "absent" if not graph or chance.random() < 0.05 else chance.choice(list(graph))


def some_nodes(case: Case) -> list[Any]:
    graph, chance = case
    return chance.sample(list(graph), chance.randint(0, len(graph)))


def limit(case: Case) -> Any:
    return case[1].choice([None, 0, 1, 2, 1.5, float("inf")])


def state(case: Case) -> random.Random:
    return random.Random(case[1].randint(0, 99))


def weight(case: Case) -> Any:
    return case[1].choice([None, "weight", "absent"])


def partition(case: Case) -> list[set[Any]]:
    graph, chance = case
    groups: dict[int, set[Any]] = {}
    for member in graph:
        groups.setdefault(chance.randint(0, 2), set()).add(member)
    return list(groups.values())


def pairs(case: Case) -> list[tuple[Any, Any]]:
    return [(node(case), node(case)) for _ in range(4)]


ONE_NODE = [
    "generic_bfs_edges",
    "bfs_edges",
    "bfs_tree",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_layers",
    "bfs_labeled_edges",
    "descendants",
    "ancestors",
    "single_source_shortest_path_length",
    "single_target_shortest_path_length",
    "single_source_shortest_path",
    "single_target_shortest_path",
    "predecessor",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "dijkstra_predecessor_and_distance",
    "bellman_ford_predecessor_and_distance",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "node_connected_component",
]
TWO_NODES = [
    "bidirectional_shortest_path",
    "has_path",
    "dijkstra_path",
    "dijkstra_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
]
SETS = "cut_size normalized_cut_size conductance edge_expansion mixing_expansion boundary_expansion"
ARGUMENTS: dict[str, Callable[[Case], tuple[Any, ...]]] = {
    **{name: lambda case: (node(case),) for name in ONE_NODE},
    **{name: lambda case: (node(case), node(case)) for name in TWO_NODES},
    **{name: lambda case: (some_nodes(case),) for name in SETS.split()},
    **{name: lambda case: (some_nodes(case) or [node(case)],) for name in FUNCTIONS if name.startswith("multi_source")},
    **{
        name: lambda case: (pairs(case),)
        for name in FUNCTIONS
        if name.endswith(("coefficient", "_index", "attachment"))
    },
    "descendants_at_distance": lambda case: (node(case), case[1].randint(0, 3)),
    "k_corona": lambda case: (case[1].randint(0, 3),),
    "k_truss": lambda case: (case[1].randint(2, 4),),
    "kruskal_mst_edges": lambda case: (case[1].random() < 0.5,),
    "modularity": lambda case: (partition(case),),
    "partition_quality": lambda case: (partition(case),),
}
for _name in ("rich_club_coefficient", "degree_assortativity_coefficient", "degree_pearson_correlation_coefficient",
              "wiener_index", "schultz_index", "gutman_index", "hyper_wiener_index"):  # fmt: skip
    ARGUMENTS[_name] = lambda case: ()
OPTIONS: dict[str, Callable[[Case], Any]] = {
    "depth_limit": limit,
    "cutoff": limit,
    "weight": weight,
    "seed": state,
    "reverse": lambda case: case[1].random() < 0.5,
    "return_seen": lambda case: case[1].choice([None, True]),
    "normalized": lambda case: case[1].random() < 0.5,
    "endpoints": lambda case: case[1].random() < 0.5,
    "k": lambda case: case[1].choice([None, 1, 2, 3]),
    "nodes": lambda case: case[1].choice([None, some_nodes(case), node(case)]),
    "count_zeros": lambda case: case[1].random() < 0.5,
    "wf_improved": lambda case: case[1].random() < 0.5,
    "data": lambda case: case[1].random() < 0.5,
    "heuristic": lambda case: case[1].random() < 0.5,
    "method": lambda case: case[1].choice(["dijkstra", "bellman-ford"]),
    "source": lambda case: case[1].choice([None, node(case)]),
    "target": lambda case: case[1].choice([None, node(case)]),
    "resolution": lambda case: case[1].choice([1, 0.7]),
    "max_level": lambda case: case[1].choice([None, 1]),
    "alpha": lambda case: case[1].choice([0.05, 0.3]),
}
OWN_MEANING = {  # parameters of these names that mean something else in these functions
    "average_neighbor_degree": {"source", "target"},
    "average_degree_connectivity": {"source", "target"},
    "average_shortest_path_length": {"method"},
    "has_eulerian_path": {"source"},
}
RANDOM = {"hits"}  # NetworkX's start is random: where the answer is not unique, no two of its calls agree
NO_GRAPH = {name: function for name, function in FUNCTIONS.items() if "G" not in function.signature.parameters}


def options(name: str, case: Case) -> dict[str, Any]:
    """Choose values for some of the function's optional parameters."""
    taken = len(ARGUMENTS.get(name, lambda _: ())(case)) + 1
    free = list(FUNCTIONS[name].signature.parameters)[taken:]
    wanted = [key for key in free if key in OPTIONS and key not in OWN_MEANING.get(name, set())]
    return {key: OPTIONS[key](case) for key in wanted if case[1].random() < 0.5 or key == "seed"}


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(NO_GRAPH) - RANDOM))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_equals_networkx(name: str, case: Case) -> None:
    graph = case[0]
    function = public_function(name)
    args, kwargs = ARGUMENTS.get(name, lambda _: ())(case), options(name, case)
    if backend.can_run(name, (graph, *args), kwargs) is not True:
        return
    mine = {**kwargs, "seed": random.Random(5)} if "seed" in kwargs else kwargs
    theirs = {**kwargs, "seed": random.Random(5)} if "seed" in kwargs else kwargs
    expected = outcome(function, (graph, *args), theirs)
    graph.__networkx_cache__.clear()
    found = outcome(function, (graph, *args), {**mine, "backend": "tgraph"})
    assert_same(found, expected)
    if "seed" in kwargs:
        assert mine["seed"].random() == theirs["seed"].random()


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_hits_where_it_is_unique(kind: Any) -> None:
    graph = kind(nx.karate_club_graph())
    for found, expected in zip(nx.hits(graph, backend="tgraph"), nx.hits(graph), strict=True):
        assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("weight", WEIGHTS[::2])  # whole and fractional: who need not look again looks in the second
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_louvain_makes_networkxs_moves(kind: Any, weight: Callable[[random.Random], Any]) -> None:
    chance = random.Random(3)
    graph = kind(nx.gnm_random_graph(300, 900, seed=3))
    for _, _, data in graph.edges(data=True):
        data["weight"] = weight(chance)
    assert nx.community.louvain_communities(graph, seed=1, backend="tgraph") == nx.community.louvain_communities(
        graph, seed=1
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("edges", [0, 150, 400, 4000])
def test_components_of_many_nodes(edges: int, directed: bool) -> None:
    graph = nx.gnm_random_graph(300, edges, seed=edges, directed=directed)  # from lone nodes to one large set
    function = nx.weakly_connected_components if directed else nx.connected_components
    assert list(function(graph, backend="tgraph")) == list(function(graph))


@pytest.mark.parametrize("directed", [False, True])
def test_pagerank_by_two_threads(directed: bool) -> None:
    graph = nx.gnm_random_graph(3000, 120_000, seed=1, directed=directed)
    graph.add_nodes_from(range(3000, 3100))  # sinks
    converted = backend.convert_from_nx(graph)
    for options in ({}, {"personalization": {7: 2, 3050: 1}, "nstart": {1: 1.0}, "alpha": 0.5, "tol": 1e-9}):
        assert_same(nx.pagerank(converted, **options), nx.pagerank(graph, **options))
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(converted, max_iter=1)


@pytest.mark.parametrize("ids", [int, lambda i: 3 * i - 5, lambda i: -i, lambda i: 10**12 * i, str, lambda i: (i, "x")])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_views_and_other_dictionaries_are_converted(kind: Any, ids: Callable[[int], Any]) -> None:
    class OwnRows(kind):  # type: ignore[misc]
        adjlist_inner_dict_factory = OrderedDict

    graph = nx.relabel_nodes(kind(nx.gnm_random_graph(60, 150, seed=1)), ids)
    nx.set_edge_attributes(graph, 2, "weight")
    for other in (graph, graph.subgraph(list(graph)[::2]), OwnRows(graph)):
        converted, nodes = ConvertedGraph(other), list(other)
        rows = [converted.nodes_of(part) for part in np.split(converted.out_rows[1], converted.out_rows[0][1:-1])]
        assert dict(zip(nodes, rows, strict=True)) == {node: list(other[node]) for node in nodes}
        assert converted.weights("weight").tolist() == [2] * converted.num_arcs
        assert converted.numbers_of(nodes).tolist() == list(range(len(nodes)))
        assert "absent" not in converted
        assert [] not in converted


@pytest.mark.parametrize("kind", [None, nx.Graph, nx.DiGraph, nx.MultiGraph])
@pytest.mark.parametrize("name", sorted(NO_GRAPH))
def test_generators_equal_networkx(name: str, kind: Any) -> None:
    function = public_function(name)
    for counts in [(0, 0), (1, 2), (2, 0), (5, 3)]:
        args = counts[: len(FUNCTIONS[name].signature.parameters) - 1]
        if backend.can_run(name, (*args, kind), {}) is True:
            found = outcome(function, (*args, kind), {"backend": "tgraph"})
            assert_same(found, outcome(function, (*args, kind), {}))
