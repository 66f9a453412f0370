"""The graph's methods: each new graph against plain Python, and what a user sees."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph import runtime as runtimes
from tgraph.errors import InvalidArgumentError, OutOfRangeError, VertexNotFoundError
from tgraph.graph import Adjacency, Graph, from_csr, from_edges

Edge = tuple[Any, Any, Any]


def edge_list(graph: Graph) -> list[Edge]:
    sources, targets, weights = graph.edges()
    values = [None] * len(sources) if weights is None else weights.tolist()
    return list(zip(sources.tolist(), targets.tolist(), values, strict=True))


@st.composite
def graphs(draw: st.DrawFn, directed: bool | None = None) -> Graph:
    num_vertices = draw(st.integers(1, 8))
    ends = st.integers(0, num_vertices - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(-5, 5)), max_size=20))
    columns = np.array(edges, np.int64).reshape(-1, 3).T
    labels = draw(st.sampled_from([None, np.arange(num_vertices) * 10, [f"v{i}" for i in range(num_vertices)]]))
    kind = draw(st.booleans()) if directed is None else directed
    graph = from_edges(
        columns[0], columns[1], columns[2] if draw(st.booleans()) else None, kind, num_vertices,
        runtime=draw(st.sampled_from(["torch", "numpy"])),
    )  # fmt: skip
    return graph if labels is None else graph.relabel(labels)


def unsorted_graph(runtime: str = "numpy") -> Graph:
    return from_csr([0, 3, 3, 4], [2, 0, 1, 0], [1.0, 2.0, 3.0, 4.0], runtime=runtime)


# --- sizes and tensors ------------------------------------------------------------------------------------------------
def test_sizes_and_tensors(runtime_name: str) -> None:
    graph = from_edges([0, 0, 2], [1, 2, 2], [1.0, 2.0, 3.0], num_vertices=4, runtime=runtime_name)
    assert (graph.num_vertices, graph.num_edges, graph.num_arcs) == (4, 3, 3)
    assert np.asarray(graph.out_offsets).tolist() == [0, 2, 2, 3, 3]
    assert np.asarray(graph.out_targets).tolist() == [1, 2, 2]
    assert np.asarray(graph.weights).tolist() == [1, 2, 3]
    assert np.asarray(graph.in_offsets).tolist() == [0, 0, 1, 3, 3]
    assert np.asarray(graph.in_sources).tolist() == [0, 0, 2]
    assert np.asarray(graph.in_weights).tolist() == [1, 2, 3]
    assert np.asarray(graph.out_degrees()).tolist() == [2, 0, 1, 0]
    assert np.asarray(graph.in_degrees()).tolist() == [0, 1, 2, 0]
    assert (graph.weighted, graph.num_self_loops, graph.has_self_loops) == (True, 1, True)
    for tensor in (graph.out_offsets, graph.in_sources, graph.weights, graph.in_degrees()):
        assert runtimes.of(tensor).name == runtime_name


def test_an_unweighted_graph_has_no_weights() -> None:
    graph = from_edges([0], [1])
    assert (graph.weighted, graph.weights, graph.in_weights) == (False, None, None)


def test_the_reverse_direction_is_built_once() -> None:
    graph = from_edges([0, 1], [1, 2])
    assert graph.adjacency("in") is graph.adjacency("in")
    undirected = from_edges([0, 1], [1, 2], directed=False)
    assert undirected.adjacency("in") is undirected.adjacency("out")
    with pytest.raises(InvalidArgumentError, match="direction='up' is not known"):
        graph.adjacency("up")


def test_memory_bytes(runtime_name: str) -> None:
    graph = from_edges([0, 1], [1, 2], [1.0, 2.0], runtime=runtime_name)
    one_direction = 4 * 8 + 2 * 4 + 2 * 8
    assert graph.memory_bytes == one_direction
    graph.adjacency("in")
    assert graph.memory_bytes == 2 * one_direction
    undirected = from_edges([0], [1], directed=False, runtime=runtime_name)
    undirected.adjacency("in")
    assert undirected.memory_bytes == 3 * 8 + 2 * 4
    assert from_edges([10], [20]).memory_bytes == 3 * 8 + 4 + 2 * 8


# --- new graphs -------------------------------------------------------------------------------------------------------
@settings(deadline=None)
@given(graph=graphs())
def test_reverse(graph: Graph) -> None:
    turned = graph.reverse()
    turned.check()
    assert turned.num_edges == graph.num_edges
    if graph.directed:
        assert sorted(edge_list(turned), key=repr) == sorted([(b, a, w) for a, b, w in edge_list(graph)], key=repr)
    else:
        assert turned is graph
    assert edge_list(turned.reverse()) == edge_list(graph)


def test_the_reverse_of_the_reverse_of_unsorted_rows_is_sound(runtime_name: str) -> None:
    graph = unsorted_graph(runtime_name)
    again = graph.reverse().reverse()
    again.check()
    assert again.is_sorted
    assert sorted(edge_list(again)) == sorted(edge_list(graph))


@settings(deadline=None)
@given(graph=graphs(directed=True))
def test_symmetrize(graph: Graph) -> None:
    both = graph.symmetrize()
    both.check()
    expected: dict[tuple[Any, Any], Any] = {}
    for source, target, weight in edge_list(graph):
        key = (source, target) if graph.vertex_of(source) <= graph.vertex_of(target) else (target, source)
        expected[key] = weight if key not in expected or weight is None else min(expected[key], weight)
    assert {(a, b): w for a, b, w in edge_list(both)} == expected
    assert both.num_edges == len(expected)
    assert not both.directed
    assert both.symmetrize() is both
    assert (both.vertex_labels is None) == (graph.vertex_labels is None)


@settings(deadline=None)
@given(graph=graphs(), policy=st.sampled_from(["first", "last", "min", "max", "sum"]))
def test_simplify(graph: Graph, policy: str) -> None:
    simple = graph.simplify(policy)
    simple.check()
    found: dict[tuple[Any, Any], list[Any]] = {}
    for source, target, weight in edge_list(graph):
        if source != target:
            found.setdefault((source, target), []).append(weight)
    join = {"first": lambda ws: ws[0], "last": lambda ws: ws[-1], "min": min, "max": max, "sum": sum}[policy]
    expected = {key: join(weights) if graph.weighted else None for key, weights in found.items()}
    assert {(a, b): w for a, b, w in edge_list(simple)} == expected
    assert simple.num_edges == len(expected)
    assert (simple.directed, simple.num_vertices) == (graph.directed, graph.num_vertices)


@pytest.mark.parametrize("policy", ["first", "last"])
def test_simplify_keeps_an_undirected_graph_symmetric(policy: str) -> None:
    """Both directions of the two edges between 0 and 1 are stored, in different orders."""
    graph = from_csr([0, 2, 4], [1, 1, 0, 0], [1, 2, 2, 1], directed=False)
    simple = graph.simplify(policy)
    simple.check()
    assert edge_list(simple) == [(0, 1, 1 if policy == "first" else 2)]


def test_simplify_refuses_other_policies() -> None:
    with pytest.raises(InvalidArgumentError, match="duplicates='keep' is not known"):
        from_edges([0], [1]).simplify("keep")


@settings(deadline=None)
@given(graph=graphs(), data=st.data())
def test_subgraph(graph: Graph, data: st.DataObject) -> None:
    labels = graph.labels_of(np.arange(graph.num_vertices)).tolist()
    chosen = data.draw(st.lists(st.sampled_from(labels), unique=True))
    part = graph.subgraph(chosen)
    part.check()
    assert part.labels_of(np.arange(part.num_vertices)).tolist() == chosen
    expected = [edge for edge in edge_list(graph) if edge[0] in chosen and edge[1] in chosen]
    if graph.directed:
        assert sorted(edge_list(part), key=repr) == sorted(expected, key=repr)
    else:

        def unordered(edges: list[Edge]) -> list[Any]:
            return sorted((sorted([str(a), str(b)]), str(w)) for a, b, w in edges)

        assert unordered(edge_list(part)) == unordered(expected)
    assert part.num_edges == len(expected)


def test_subgraph_of_bad_vertices() -> None:
    graph = from_edges(["a", "b"], ["b", "c"])
    with pytest.raises(VertexNotFoundError, match="vertex 'z'"):
        graph.subgraph(["a", "z"])
    with pytest.raises(InvalidArgumentError, match="more than once"):
        graph.subgraph(["a", "b", "a"])


def test_subgraph_of_unsorted_rows_is_not_called_sorted() -> None:
    part = unsorted_graph().subgraph([0, 1, 2])
    part.check()
    assert not part.is_sorted
    assert edge_list(part) == edge_list(unsorted_graph())
    assert from_edges([0, 0], [1, 2]).subgraph([0, 2]).is_sorted
    assert not from_edges([0, 0], [1, 2]).subgraph([2, 1, 0]).is_sorted


def test_relabel() -> None:
    graph = from_edges([0, 1], [1, 2], [5, 6])
    for labels in (["x", "y", "z"], {0: "x", 1: "y", 2: "z"}.get, {0: "x", 1: "y", 2: "z"}):
        named = graph.relabel(labels)  # type: ignore[arg-type]
        named.check()
        assert edge_list(named) == [("x", "y", 5), ("y", "z", 6)]
    assert named.relabel({"y": "why"}).vertex_of("why") == 1
    assert named.relabel(None).vertex_labels is None
    assert graph.relabel([30, 10, 20]).vertex_of(10) == 1
    assert graph.relabel(lambda label: (label, label)).vertex_of((2, 2)) == 2
    assert graph.vertex_labels is None
    with pytest.raises(InvalidArgumentError, match="labels has 2 entries for 3 vertices"):
        graph.relabel([1, 2])
    with pytest.raises(InvalidArgumentError, match="only 2 distinct"):
        graph.relabel([1, 2, 2])


def test_to_another_runtime() -> None:
    graph = from_edges([10, 20], [20, 30], [1.0, 2.0], runtime="numpy")
    assert graph.to("numpy") is graph
    graph.adjacency("in")
    moved = graph.to("torch", "cpu")
    moved.check()
    assert type(moved.out_targets).__module__ == "torch"
    assert np.shares_memory(np.asarray(moved.weights), graph.weights)
    assert np.shares_memory(np.asarray(moved.in_sources), graph.in_sources)
    assert edge_list(moved) == edge_list(graph)
    assert moved.vertex_of(30) == 2
    back = moved.to("numpy")
    assert type(back.out_targets) is np.ndarray
    with pytest.raises(InvalidArgumentError, match="device='cuda' is not known to the numpy runtime"):
        graph.to("numpy", "cuda")


# --- the user's ids ---------------------------------------------------------------------------------------------------
def test_vertex_of_and_labels_of_without_labels(runtime_name: str) -> None:
    graph = from_edges([0, 1], [1, 2], runtime=runtime_name)
    assert graph.vertex_of(2) == 2
    assert graph.vertices_of([2, 0]).tolist() == [2, 0]
    assert graph.labels_of(graph.out_targets).tolist() == [1, 2]
    assert graph.labels_of(np.array([-1, 2])).tolist() == [-1, 2]
    for wrong in (3, -1):
        with pytest.raises(VertexNotFoundError, match=f"vertex {wrong} is not in the graph; its ids are 0 to 2"):
            graph.vertex_of(wrong)
    with pytest.raises(VertexNotFoundError, match="vertex 'a' is not in the graph"):
        graph.vertex_of("a")
    with pytest.raises(VertexNotFoundError, match="none: the graph is empty"):
        from_edges([], []).vertex_of(0)


@pytest.mark.parametrize("ids", [[0, 1], [10, 20], ["a", "b"]])
def test_labels_of_what_is_no_vertex(ids: list[Any]) -> None:
    graph = from_edges(ids[:1], ids[1:])
    assert graph.labels_of([]).tolist() == []
    for wrong in (2, -2):
        with pytest.raises(OutOfRangeError, match=f"vertices holds {wrong}; vertex numbers are 0 to 1"):
            graph.labels_of([0, wrong])
    for column in (["a"], [1.0], [None]):
        with pytest.raises(InvalidArgumentError, match="vertex numbers must be integers"):
            graph.labels_of(column)


def test_labels_of_nobody() -> None:
    assert from_edges([10], [20]).labels_of(np.array([1, -1])).tolist() == [20, -1]
    assert from_edges([-1], [-2]).labels_of(np.array([1, -1])).tolist() == [-1, None]
    assert from_edges(["a"], ["b"]).labels_of(np.array([-1, 0])).tolist() == [None, "a"]


def test_full(runtime_name: str) -> None:
    graph = from_edges([0, 1], [1, 2], runtime=runtime_name)
    tensor = graph.full(np.inf, "float32", at={1: 0.0, 2: -1})
    assert graph.runtime.dtype(tensor) == np.float32
    assert np.asarray(tensor).tolist() == [np.inf, 0, -1]
    assert np.asarray(graph.full(-1, "int64")).tolist() == [-1, -1, -1]
    for vertex in (3, -1):
        with pytest.raises(OutOfRangeError):
            graph.full(0, "int32", at={vertex: 1})


# --- looking ----------------------------------------------------------------------------------------------------------
def test_edges_give_an_undirected_edge_once() -> None:
    graph = from_edges(["b", "a", "a"], ["a", "a", "b"], [1, 2, 3], directed=False)
    assert edge_list(graph) == [("a", "a", 2), ("a", "b", 1), ("a", "b", 3)]
    assert (graph.num_edges, graph.num_arcs) == (3, 5)


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (from_edges([0], [1]), "Graph(2 vertices, 1 edges, directed, unweighted, torch on cpu)"),
        (
            from_edges(["a"], ["b"], [1.0], directed=False, runtime="numpy"),
            "Graph(2 vertices, 1 edges, undirected, weighted, labelled, numpy on cpu)",
        ),
        (from_edges([], [], num_vertices=12345), "Graph(12,345 vertices, 0 edges, directed, unweighted, torch on cpu)"),
    ],
)
def test_repr(graph: Graph, text: str) -> None:
    assert repr(graph) == text
    assert graph.describe() in graph._repr_html_()


def test_a_graph_does_not_change() -> None:
    graph = from_edges([0], [1])
    for name in ("directed", "num_edges", "weights", "anything"):
        with pytest.raises(AttributeError, match="a Graph does not change"):
            setattr(graph, name, 1)
    with pytest.raises(AttributeError):
        graph.adjacency("out").offsets = None  # type: ignore[misc]


@settings(deadline=None)
@given(graph=graphs())
def test_pickling(graph: Graph) -> None:
    for other in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        other.check()
        assert edge_list(other) == edge_list(graph)
        assert repr(other) == repr(graph)
        assert other.is_sorted == graph.is_sorted
        assert (
            other.labels_of(np.arange(graph.num_vertices)).tolist()
            == graph.labels_of(np.arange(graph.num_vertices)).tolist()
        )


def test_adjacency_knows_its_sizes(runtime_name: str) -> None:
    rt = runtimes.get(runtime_name, "cpu")
    rows = Adjacency(rt, rt.asarray([0, 2, 3]), rt.asarray([0, 1, 1], "int32"), None)
    assert (rows.num_vertices, rows.num_arcs, rows.memory_bytes) == (2, 3, 36)
    assert np.asarray(rows.degrees()).tolist() == [2, 1]


@pytest.mark.parametrize("label", [None, 0.0, True, "0", [0], ([0], 1), b"a", 2**70, -1, np.array([0, 1])])
@pytest.mark.parametrize("ids", [[0, 1], [10, 20], ["a", "b"], [(1, 2), (3, 4)]])
def test_one_vertex_that_is_not_there(label: Any, ids: list[Any]) -> None:
    graph = tg.from_edges(ids[:1], ids[1:])
    with pytest.raises(VertexNotFoundError, match=r"vertex .* is not in the graph"):
        graph.vertex_of(label)
    with pytest.raises(VertexNotFoundError, match=r"vertex .* is not in the graph"):
        tg.bfs(graph, label)


@pytest.mark.parametrize("label", [10, np.int32(10), np.uint64(10), np.array(10), torch.tensor(10)])
def test_an_integer_of_any_library_names_a_vertex(label: Any) -> None:
    assert tg.from_edges([10], [20]).vertex_of(label) == 0
    assert tg.bfs(tg.from_edges([], [], num_vertices=11), label)[10] == 0


@pytest.mark.parametrize("labels", ["ab", 3, None, b"ab", np.int64(3)])
@pytest.mark.parametrize("ids", [["ab", "a", "b"], [3, 4, 5], [0, 1, 2]])
def test_one_vertex_where_a_list_is_needed(labels: Any, ids: list[Any]) -> None:
    graph = tg.from_edges(ids[:2], ids[1:])
    for call in (graph.vertices_of, graph.subgraph, lambda starts: tg.random_walks(graph, starts or 7, length=2)):
        with pytest.raises(InvalidArgumentError, match="one vertex where a list of vertices is needed; write"):
            call(labels)
