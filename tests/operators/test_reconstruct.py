from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.operators import Subgraph, neighbor_select, reconstruct, split_by_edges, tensorize


@st.composite
def graphs(draw: st.DrawFn) -> tg.Graph:
    count = draw(st.integers(1, 12))
    vertex = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=40))
    sources, targets = [edge[0] for edge in edges], [edge[1] for edge in edges]
    weights = np.arange(len(edges), dtype=np.float64)
    runtime = draw(st.sampled_from(["numpy", "torch"]))
    return tg.from_edges(sources, targets, weights, num_vertices=count, runtime=runtime)


def as_ids(graph: tg.Graph, vertices: list[int]) -> Any:
    return graph.runtime.asarray(np.asarray(vertices, np.int32))


def rows_of(subgraph: Subgraph) -> list[tuple[int, list[int]]]:
    """Return every row's vertex and neighbours."""
    offsets, neighbors = subgraph.offsets.tolist(), subgraph.neighbors.tolist()
    rows = zip(subgraph.row_ids().tolist(), offsets[:-1], offsets[1:], strict=True)
    return [(vertex, neighbors[first:last]) for vertex, first, last in rows]


def expected_rows(graph: tg.Graph, vertices: list[int]) -> list[tuple[int, list[int]]]:
    offsets, targets = graph.out_offsets.tolist(), graph.out_targets.tolist()
    return [(vertex, targets[offsets[vertex] : offsets[vertex + 1]]) for vertex in vertices]


def test_example(example: tg.Graph) -> None:
    vertices = as_ids(example, [2, 4, 5])
    subgraph = reconstruct(example.runtime, vertices, *neighbor_select(example.adjacency("out"), vertices))
    assert subgraph.offsets.tolist() == [0, 3, 4, 6]
    assert example.runtime.dtype(subgraph.offsets) == np.int64
    assert rows_of(subgraph) == [(2, [3, 4, 5]), (4, [6]), (5, [0, 6])]
    assert subgraph.num_arcs == 6


def test_values_of_the_example(example: tg.Graph) -> None:
    subgraph = tensorize(example.adjacency("out"), as_ids(example, [2, 4, 5]))
    squares = example.runtime.asarray(np.arange(7) ** 2)
    assert subgraph.at_rows(squares).tolist() == [4, 16, 25]
    assert subgraph.at_neighbors(squares).tolist() == [9, 16, 25, 36, 0, 36]
    assert subgraph.at_edges(example.weights).tolist() == [30, 40, 50, 70, 80, 90]
    assert subgraph.expand(subgraph.at_rows(squares)).tolist() == [4, 4, 4, 16, 25, 25]


@pytest.mark.parametrize("rows", [range(7), range(2, 5), range(3, 3), range(6, 7), range(0, 2)])
def test_consecutive_rows_are_the_same_as_ids(example: tg.Graph, rows: range) -> None:
    sliced = tensorize(example.adjacency("out"), rows)
    selected = tensorize(example.adjacency("out"), as_ids(example, list(rows)))
    values = example.runtime.asarray(np.arange(7.0) * 3)
    assert rows_of(sliced) == rows_of(selected) == expected_rows(example, list(rows))
    assert sliced.at_rows(values).tolist() == selected.at_rows(values).tolist()
    assert sliced.at_edges(example.weights).tolist() == selected.at_edges(example.weights).tolist()
    assert sliced.row_ids().dtype == selected.row_ids().dtype


def test_all_rows_share_the_memory_of_the_graph() -> None:
    graph = tg.from_edges([0, 1], [1, 2], runtime="numpy")
    assert np.shares_memory(tensorize(graph.adjacency("out"), range(3)).neighbors, graph.out_targets)


@settings(deadline=None)
@given(graph=graphs(), data=st.data())
def test_any_list_of_vertices(graph: tg.Graph, data: st.DataObject) -> None:
    vertices = data.draw(st.lists(st.integers(0, graph.num_vertices - 1), max_size=15))
    subgraph = tensorize(graph.adjacency("out"), as_ids(graph, vertices))
    assert rows_of(subgraph) == expected_rows(graph, vertices)
    arcs = [(source, target) for source, targets in expected_rows(graph, vertices) for target in targets]
    assert subgraph.expand(subgraph.row_ids()).tolist() == [source for source, _ in arcs]
    assert subgraph.num_arcs == len(arcs)


@settings(deadline=None)
@given(graph=graphs(), edges_per_block=st.integers(1, 8), data=st.data())
def test_blocks_hold_every_edge_once_and_in_order(graph: tg.Graph, edges_per_block: int, data: st.DataObject) -> None:
    some = st.lists(st.integers(0, graph.num_vertices - 1), max_size=15)
    vertices = data.draw(st.none() | some)
    wanted = expected_rows(graph, list(range(graph.num_vertices)) if vertices is None else vertices)
    num_arcs = sum(len(targets) for _, targets in wanted)
    ids = None if vertices is None else as_ids(graph, vertices)
    blocks = list(split_by_edges(graph.adjacency("out"), ids, num_arcs, edges_per_block))
    assert [row for block in blocks for row in rows_of(block)] == wanted
    offsets, weights = graph.out_offsets.tolist(), graph.weights.tolist()
    wanted_weights = [weight for vertex, _ in wanted for weight in weights[offsets[vertex] : offsets[vertex + 1]]]
    assert [weight for block in blocks for weight in block.at_edges(graph.weights).tolist()] == wanted_weights
    largest = max((len(targets) for _, targets in wanted), default=0)
    assert all(block.num_arcs <= edges_per_block + largest for block in blocks)
    if num_arcs > 2 * (edges_per_block + largest):
        assert len(blocks) >= 3


def test_a_hub_larger_than_a_block(runtime_name: str) -> None:
    sources = [0, *[1] * 50, 2, 3]
    graph = tg.from_edges(sources, [1] * len(sources), num_vertices=5, runtime=runtime_name)
    blocks = list(split_by_edges(graph.adjacency("out"), None, 53, 4))
    assert [row for block in blocks for row in rows_of(block)] == expected_rows(graph, [0, 1, 2, 3, 4])
    assert max(block.num_arcs for block in blocks) <= 54


def test_one_block_where_all_edges_fit(example: tg.Graph) -> None:
    assert len(list(split_by_edges(example.adjacency("out"), None, 10, 10))) == 1


def test_no_vertices(example: tg.Graph) -> None:
    (block,) = split_by_edges(example.adjacency("out"), as_ids(example, []), 0, 1)
    assert block.num_arcs == 0
    assert block.offsets.tolist() == [0]


def test_limit_is_read_when_called(example: tg.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tgraph.operators.reconstruct"), "EDGES_PER_BLOCK", 3)
    assert len(list(split_by_edges(example.adjacency("out"), None, 10))) > 1
