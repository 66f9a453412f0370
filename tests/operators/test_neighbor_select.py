from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.errors import OutOfRangeError
from tgraph.operators import neighbor_select

RUNTIMES = st.sampled_from(["numpy", "torch"])


@st.composite
def graphs_and_vertices(draw: st.DrawFn) -> tuple[tg.Graph, list[int]]:
    """A graph, some vertices of it isolated, and any list of its vertices: empty, repeated, in any order."""
    count = draw(st.integers(1, 12))
    vertex = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=30))
    sources, targets = [edge[0] for edge in edges], [edge[1] for edge in edges]
    graph = tg.from_edges(sources, targets, num_vertices=count, runtime=draw(RUNTIMES))
    return graph, draw(st.lists(vertex, max_size=15))


def expected_edges(graph: tg.Graph, vertices: list[int], side: str = "out") -> tuple[list[int], list[int], list[int]]:
    adjacency = graph.adjacency(side)
    offsets, stored = adjacency.offsets.tolist(), adjacency.neighbors.tolist()
    neighbors, positions, ends = [], [], []
    for vertex in vertices:
        for position in range(offsets[vertex], offsets[vertex + 1]):
            positions.append(position)
            neighbors.append(stored[position])
        ends.append(len(positions))
    return neighbors, positions, ends


def as_ids(graph: tg.Graph, vertices: list[int]) -> Any:
    return graph.runtime.asarray(np.asarray(vertices, np.int32))


def test_example(example: tg.Graph) -> None:
    neighbors, positions, ends = neighbor_select(example.adjacency("out"), as_ids(example, [2, 4, 5]))
    assert neighbors.tolist() == [3, 4, 5, 6, 0, 6]
    assert positions.tolist() == [3, 4, 5, 7, 8, 9]
    assert ends.tolist() == [3, 4, 6]


def test_incoming_edges_of_the_example(example: tg.Graph) -> None:
    neighbors, _, ends = neighbor_select(example.adjacency("in"), as_ids(example, [6, 0]))
    assert neighbors.tolist() == [3, 4, 5, 5]
    assert ends.tolist() == [3, 4]


@settings(deadline=None)
@given(case=graphs_and_vertices(), side=st.sampled_from(["out", "in"]))
def test_against_loops(case: tuple[tg.Graph, list[int]], side: str) -> None:
    graph, vertices = case
    selected = neighbor_select(graph.adjacency(side), as_ids(graph, vertices))
    assert tuple(tensor.tolist() for tensor in selected) == expected_edges(graph, vertices, side)


@pytest.mark.parametrize("vertex", [-1, 7])
def test_vertex_outside_the_graph(example: tg.Graph, vertex: int) -> None:
    with pytest.raises(OutOfRangeError):
        neighbor_select(example.adjacency("out"), as_ids(example, [vertex]))
