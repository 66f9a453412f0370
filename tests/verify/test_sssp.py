"""The check of shortest paths accepts right answers and no other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, expected_distances, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify import check_sssp

INF = float("inf")


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(weights=("none", "small", "large", "float")), st.data())
def test_accepts_exactly_the_right_distances(case: SmallGraph, data: st.DataObject) -> None:
    graph, source = case.build(), data.draw(st.integers(0, case.num_vertices - 1))
    right = expected_distances(case, source)
    check_sssp(graph, source, right)
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    near_misses = [0.0, 1.0, INF, np.nan, -1.0, right[vertex] + 1, right[vertex] - 1, np.nextafter(right[vertex], 0)]
    other = data.draw(st.sampled_from([*near_misses, *right]))
    if other != right[vertex]:
        with pytest.raises(VerificationError):
            check_sssp(graph, source, [*right[:vertex], other, *right[vertex + 1 :]])


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(weights=("small",), max_vertices=6), st.data())
def test_accepts_exactly_the_trees_of_tight_edges(case: SmallGraph, data: st.DataObject) -> None:
    graph, source = case.build(), data.draw(st.integers(0, case.num_vertices - 1))
    distances = expected_distances(case, source)
    tight = _tight_edges(case, distances)
    vertices = st.integers(-1, case.num_vertices)
    choices = [[u for u in range(case.num_vertices) if (u, v) in tight] for v in range(case.num_vertices)]
    likely = [st.sampled_from(sorted(found)) if found else st.just(-1) for found in choices]
    parents = [data.draw(choice) for choice in likely]
    parents[source] = source
    if data.draw(st.booleans()):
        parents[data.draw(st.integers(0, case.num_vertices - 1))] = data.draw(vertices)
    if _is_tree(parents, source, distances, tight):
        check_sssp(graph, source, distances, parents)
    else:
        with pytest.raises(VerificationError):
            check_sssp(graph, source, distances, parents)


def _tight_edges(case: SmallGraph, distances: list[float]) -> set[tuple[int, int]]:
    both = [*zip(case.edges, case.weights or (), strict=True)]
    if not case.directed:
        both += [((target, source), weight) for (source, target), weight in both]
    return {(u, v) for (u, v), weight in both if distances[u] + weight == distances[v] < INF}


def _is_tree(parents: list[int], source: int, distances: list[float], tight: set[tuple[int, int]]) -> bool:
    for vertex, distance in enumerate(distances):
        if distance == INF:
            if parents[vertex] != -1:
                return False
            continue
        steps = 0
        while vertex != source:
            if (parents[vertex], vertex) not in tight or steps > len(parents):
                return False
            vertex, steps = parents[vertex], steps + 1
    return parents[source] == source


@pytest.mark.parametrize(
    ("distances", "parents", "message"),
    [
        ([0.0, 1.0, 3.0, np.nan], None, "vertex 3 .* a distance is 0 or more"),
        ([0.5, 1.0, 3.0, INF], None, "vertex 0 .* the source has distance 0"),
        (
            [0.0, 1.0, 5.0, INF],
            None,
            r"edge 1 -> 2 \(distances 1.0 and 5.0, weight 2.0\).* no edge offers a shorter way",
        ),
        ([0.0, 1.0, INF, INF], None, "edge 0 -> 2 .* no edge offers a shorter way"),
        ([0.0, 1.0, 2.0, INF], None, "vertex 2 .* tight edges lead from the source"),
        ([0.0, 1.0, 3.0, 7.0], None, "vertex 3 .* tight edges lead from the source"),
        ([0.0, 1.0, 3.0, INF], [0, 0, 0, -1], "vertex 2 .* an edge from the parent gives the distance exactly"),
        ([0.0, 1.0, 3.0, INF], [0, 0, 3, -1], "vertex 2 .* an edge from the parent"),
        ([0.0, 1.0, 3.0, INF], [0, 0, 1, 2], "vertex 3 .* not reached has parent -1"),
        ([0.0, 1.0, 3.0, INF], [-1, 0, 1, -1], "vertex 0 .* the source is its own parent"),
        ([0.0, 1.0, 3.0, INF], [0, 0, 9, -1], "vertex 2 .* is a vertex"),
        (np.asarray([0, 1, 3, 2**63 - 1]), None, "type int64 .* sums of float weights are floats"),
    ],
)
def test_names_the_rule_and_the_place(distances: list[float], parents: list[int] | None, message: str) -> None:
    graph = tg.from_edges([0, 0, 1, 3], [1, 2, 2, 0], [1.0, 5.0, 2.0, 1.0])
    check_sssp(graph, 0, [0.0, 1.0, 3.0, INF], [0, 0, 1, -1])
    with pytest.raises(VerificationError, match=message):
        check_sssp(graph, 0, distances, parents)


def test_a_circle_of_zero_weights_holds_nobody_up() -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 1], [5, 0, 0])
    check_sssp(graph, 0, [0.0, 5.0, 5.0], [0, 0, 1])
    with pytest.raises(VerificationError, match="tight edges lead from the source"):
        check_sssp(graph, 0, [0.0, 3.0, 3.0])
    with pytest.raises(VerificationError, match=r"gives the distance exactly|parents lead to the source"):
        check_sssp(graph, 0, [0.0, 3.0, 3.0], [0, 2, 1])
    with pytest.raises(VerificationError, match=r"vertex 1 .* parents lead to the source"):
        check_sssp(graph, 0, [0.0, 5.0, 5.0], [0, 2, 1])


def test_a_long_circle_of_zero_weights() -> None:
    count = 1000
    chain = np.arange(1, count)
    graph = tg.from_edges([0, *chain], [1, *chain[1:], 1], [7, *np.zeros(count - 1, int)])
    distances = np.where(np.arange(count) > 0, 7.0, 0.0)
    check_sssp(graph, 0, distances)
    check_sssp(graph, 0, distances, [0, *range(count - 1)])
    with pytest.raises(VerificationError, match="parents lead to the source"):
        check_sssp(graph, 0, distances, [0, count - 1, *range(1, count - 1)])
    with pytest.raises(VerificationError, match="tight edges lead from the source"):
        check_sssp(graph, 0, np.minimum(distances, 6.0))


def test_large_integers_are_compared_exactly() -> None:
    huge = 2**60
    graph = tg.from_edges([0, 1, 4], [1, 2, 3], np.asarray([huge, 1, 1]))
    nowhere = 2**63 - 1
    check_sssp(graph, 0, np.asarray([0, huge, huge + 1, nowhere, nowhere]), [0, 0, 1, -1, -1])
    for wrong in ([0, huge, huge, nowhere, nowhere], [0, huge, huge + 2, nowhere, nowhere]):
        with pytest.raises(VerificationError):
            check_sssp(graph, 0, np.asarray(wrong))
    with pytest.raises(VerificationError, match=r"beyond 2\^53 are int64"):
        check_sssp(graph, 0, [0.0, float(huge), float(huge), INF, INF])


def test_an_infinite_weight_bars_an_edge() -> None:
    graph = tg.from_edges([0, 1], [1, 2], [1.0, INF])
    check_sssp(graph, 0, [0.0, 1.0, INF], [0, 0, -1])
    with pytest.raises(VerificationError, match="not reached has parent -1"):
        check_sssp(graph, 0, [0.0, 1.0, INF], [0, 0, 1])
