"""Windows and batches of any size, against changes that are made one by one by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.errors import InvalidArgumentError

ENDS = st.integers(0, 3)
WEIGHTS = st.sampled_from([1.0, 2.0, 3.0, 0.5])
STEPS = st.sampled_from([0, 0, 1, 1, 2, 5])
CHANGES = st.lists(st.tuples(ENDS, ENDS, WEIGHTS, STEPS, st.sampled_from("+++-")), min_size=1, max_size=30)
COLUMNS = ("source", "target", "weight", "time", "op")


class OneByOne:
    """Edges with their weights and times in a list; each change by itself."""

    def __init__(self, window: Any, is_time: bool, directed: bool, multi_edges: bool, replace: bool) -> None:
        self.window, self.is_time, self.directed = window, is_time, directed
        self.multi_edges, self.replace = multi_edges, replace
        self.edges: list[list[Any]] = []  # ends, weight, clock
        self.vertices: set[int] = set()
        self.count = 0

    def apply(self, source: int, target: int, weight: float, time: int, op: str) -> None:
        ends = (source, target) if self.directed else (min(source, target), max(source, target))
        self.count += op == "+"
        clock = time if self.is_time else self.count
        if self.window is not None:
            self.edges = [edge for edge in self.edges if clock - edge[2] < self.window]
        found = [edge for edge in self.edges if edge[0] == ends]
        if op == "-":
            if found:
                self.edges.remove(min(found, key=lambda edge: edge[1]))
            return
        self.vertices.update(ends)
        if found and not self.multi_edges:
            found[0][1] = weight if self.replace else found[0][1]
            found[0][2] = clock
        else:
            self.edges.append([ends, weight, clock])

    def state(self) -> tuple[set[int], list[Any]]:
        return self.vertices, sorted((*ends, weight) for ends, weight, _ in self.edges)


def state_of(graph: tg.DynamicGraph) -> tuple[set[int], list[Any]]:
    snapshot = graph.snapshot()
    columns = [column.tolist() for column in snapshot.edges()]
    ends = zip(*columns, strict=True)
    edges = [(s, t, w) if graph.directed else (min(s, t), max(s, t), w) for s, t, w in ends]
    return set(snapshot.labels_of(range(snapshot.num_vertices)).tolist()), sorted(edges)


def with_times(changes: list[Any]) -> list[Any]:
    time, rows = 0, []
    for source, target, weight, step, op in changes:
        time += step
        rows.append((source, target, weight, time, op))
    return rows


@settings(max_examples=150, deadline=None)
@given(
    CHANGES,
    st.sampled_from([1, 2, 7, 1000, "3s", "10s"]),
    st.sampled_from([None, 1, 3, 10, "2s", "6s"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_batches_of_any_size_do_what_the_changes_do_one_by_one(
    changes: list[Any], batch: Any, window: Any, directed: bool, multi_edges: bool, replace: bool
) -> None:
    rows = with_times(changes)
    if multi_edges and window is not None:
        rows = [(*row[:4], "+") for row in rows]
    is_time = isinstance(window, str)
    model = OneByOne(int(window[:-1]) if is_time else window, is_time, directed, multi_edges, replace)
    existing = "replace" if replace and not multi_edges else "ignore"
    graph = tg.DynamicGraph(directed=directed, weighted=True, multi_edges=multi_edges, existing=existing)
    how = {"columns": COLUMNS, "directed": directed, "multi_edges": multi_edges}
    waiting = iter(rows)
    made = list(tg.batches(rows, batch, window, **how))
    for number, one in enumerate(made):
        graph.apply(one)
        if number + 1 < len(made) and not multi_edges and isinstance(batch, int):
            for _ in range(batch):
                model.apply(*next(waiting))
            assert state_of(graph) == model.state()
    for row in waiting:
        model.apply(*row)
    assert state_of(graph) == model.state()


def test_an_edge_that_comes_again_stays_until_the_last_insertion_expires() -> None:
    calls = [(1, 2, 0), (1, 2, 8), (3, 4, 12), (3, 4, 18)]
    columns = ("source", "target", "time")
    single = [one.delete[0].size for one in tg.batches(calls, 1, "10s", columns=columns)]
    parallel = [one.delete[0].size for one in tg.batches(calls, 1, "10s", columns=columns, multi_edges=True)]
    assert single == [0, 0, 0, 1]
    assert parallel == [0, 0, 1, 1]


def test_both_directions_are_one_edge_of_an_undirected_graph() -> None:
    calls = [(1, 2, 0), (2, 1, 8), (3, 4, 12)]
    made = list(tg.batches(calls, 1, "10s", columns=("source", "target", "time"), directed=False))
    assert not any(one.delete[0].size for one in made)


def test_an_edge_that_comes_and_goes_leaves_its_vertices() -> None:
    changes = [("a", "b", "+"), ("a", "b", "-")]
    (batch,) = tg.batches(changes, columns=("source", "target", "op"))
    graph = tg.DynamicGraph()
    assert repr(graph.apply(batch)) == "Applied(missing=1, vertices_added=2)"


def test_a_window_on_parallel_edges_knows_no_deletions() -> None:
    changes = [("a", "b", "+"), ("a", "b", "-")]
    with pytest.raises(InvalidArgumentError, match="which of several edges is deleted is not known"):
        list(tg.batches(changes, 1, 10, columns=("source", "target", "op"), multi_edges=True))
