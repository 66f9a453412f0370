from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from engine.reference import IDENTITIES, REDUCERS, RUNTIMES, graphs, shuffle_rows
from tgraph.engine.edges import InMemoryEdges
from tgraph.errors import InvalidArgumentError, InvalidProgramError


def plain_aggregate(graph: tg.Graph, values: list[Any], reduce: str, along: str, message: Any) -> list[Any]:
    """Send along every edge by loops."""
    offsets, targets = graph.out_offsets.tolist(), graph.out_targets.tolist()
    weights = [1] * len(targets) if graph.weights is None else graph.weights.tolist()
    received: list[list[Any]] = [[] for _ in values]
    for vertex in range(graph.num_vertices):
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            if along in ("out", "both"):
                received[targets[edge]].append(message(values[vertex], weights[edge]))
            if along == "in" or (along == "both" and graph.directed):
                received[vertex].append(message(values[targets[edge]], weights[edge]))
    return [REDUCERS[reduce](messages) if messages else IDENTITIES[reduce] for messages in received]


def weigh(value: Any, weight: Any) -> Any:
    return value * 2 - weight


@settings(max_examples=60, deadline=None)
@given(
    graph=graphs(),
    reduce=st.sampled_from(["min", "max", "sum", "mean", "count"]),
    along=st.sampled_from(["out", "in", "both"]),
    weighed=st.booleans(),
)
def test_aggregate_against_loops(graph: tg.Graph, reduce: str, along: str, weighed: bool) -> None:
    values = (np.arange(graph.num_vertices) * 3.0 % 7).tolist()
    plain = weigh if weighed else lambda value, weight: value
    expected = plain_aggregate(graph, values, reduce, along, plain)
    for runtime in RUNTIMES:
        moved = graph.to(runtime)
        tensor = moved.runtime.asarray(np.asarray(values, np.float64))
        for direction in ("push", "pull", "auto"):
            edges = InMemoryEdges(moved, direction)
            found = edges.aggregate(tensor, reduce, along=along, message=weigh if weighed else None)
            assert found.tolist() == expected


def test_aggregate_of_bools(runtime_name: str) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 3], runtime=runtime_name)
    values = graph.full(False, "bool", at={1: True})
    for direction in ("push", "pull"):
        edges = InMemoryEdges(graph, direction)
        assert edges.aggregate(values, "any").tolist() == [False, False, True, False]
        assert edges.aggregate(values, "any", along="in").tolist() == [True, False, False, False]
        assert edges.aggregate(values, "any", along="both").tolist() == [True, False, True, False]


def meet(value: Any, target_value: Any, source: Any, target: Any) -> Any:
    return value * target_value + 10 * source + target


def test_a_message_may_know_both_ends(runtime_name: str) -> None:
    graph = tg.from_edges([0, 0, 2], [1, 2, 0], runtime=runtime_name)
    values = graph.runtime.asarray(np.asarray([5.0, 7.0, 11.0]))
    for direction in ("push", "pull"):
        edges = InMemoryEdges(graph, direction)
        found = edges.aggregate(values, "sum", message=meet)
        assert found.tolist() == [5 * 11 + 20, 5 * 7 + 1, 5 * 11 + 2]


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_aggregate_refuses_what_it_does_not_know(direction: str) -> None:
    graph = tg.from_edges([0], [1])
    edges, values = InMemoryEdges(graph, direction), graph.full(1, "int64")
    with pytest.raises(InvalidArgumentError, match="reduce='median' is not known"):
        edges.aggregate(values, "median")
    with pytest.raises(InvalidArgumentError, match="along='up' is not known"):
        edges.aggregate(values, "sum", along="up")
    with pytest.raises(InvalidProgramError, match="asks for 'height'"):
        edges.aggregate(values, "sum", message=lambda value, height: value)
    with pytest.raises(InvalidArgumentError, match="reduce='mean' needs float values"):
        edges.aggregate(values, "mean")


def test_count_edges(runtime_name: str) -> None:
    pairs = ([0, 0, 1, 3], [1, 2, 2, 0])
    directed = InMemoryEdges(tg.from_edges(*pairs, runtime=runtime_name))
    undirected = InMemoryEdges(tg.from_edges(*pairs, directed=False, runtime=runtime_name))
    some = directed.graph.runtime.asarray(np.asarray([0, 2], np.int32))
    assert [directed.count_edges(None, along) for along in ("out", "in", "both")] == [4, 4, 8]
    assert [undirected.count_edges(None, along) for along in ("out", "in", "both")] == [8, 8, 8]
    assert [directed.count_edges(some, along) for along in ("out", "in", "both")] == [2, 3, 5]
    assert [undirected.count_edges(some, along) for along in ("out", "in", "both")] == [5, 5, 5]


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), turned=st.booleans(), name=st.sampled_from(RUNTIMES))
def test_edge_data_follows_its_edge_into_the_other_order(graph: tg.Graph, turned: bool, name: str) -> None:
    graph = graph.to(name)
    graph = graph.reverse() if turned else graph
    sources = np.repeat(np.arange(graph.num_vertices), tg.runtime.get("numpy").asarray(graph.out_degrees()))
    ends = [graph.runtime.asarray(sources * 100 + tg.runtime.get("numpy").asarray(graph.out_targets))]
    edges = InMemoryEdges(graph, edge_data={"ends": ends[0]})
    offsets, in_sources = graph.in_offsets.tolist(), graph.in_sources.tolist()
    owners = [vertex for vertex in range(graph.num_vertices) for _ in range(offsets[vertex], offsets[vertex + 1])]
    expected = [100 * source + owner for source, owner in zip(in_sources, owners, strict=True)]
    assert edges.edge_values("ends", "in").tolist() == expected
    assert edges.edge_values("ends", "out") is ends[0]


def test_duplicate_edges_keep_their_own_data(runtime_name: str) -> None:
    graph = tg.from_edges([0, 0, 0, 1], [1, 1, 2, 2], runtime=runtime_name)
    edges = InMemoryEdges(graph, edge_data={"label": graph.runtime.asarray(np.asarray([7, 8, 9, 10]))})
    assert edges.edge_values("label", "in").tolist() == [7, 8, 9, 10]
    assert graph.in_sources.tolist() == [0, 0, 0, 1]


def test_rows_can_be_shuffled() -> None:
    graph = tg.from_edges([0] * 6, [5, 1, 3, 2, 4, 0], runtime="numpy")
    shuffled = shuffle_rows(graph, 1)
    assert shuffled.out_targets.tolist() != graph.out_targets.tolist()
    assert sorted(shuffled.out_targets.tolist()) == graph.out_targets.tolist()
