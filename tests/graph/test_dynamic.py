"""Graphs that change, against a list of edges that is changed by hand and built anew."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.errors import InvalidArgumentError, VertexNotFoundError

WEIGHTS = st.sampled_from([0.0, 1.0, 2.0, -1.0, float("inf")])
EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), WEIGHTS), max_size=25)


class ByHand:
    """The same batches on a plain list of edges."""

    def __init__(self, edges: list[tuple[Any, Any, float]], directed: bool, multi_edges: bool, replace: bool) -> None:
        self.directed, self.multi_edges, self.replace = directed, multi_edges, replace
        self.edges: list[tuple[Any, Any, float]] = []
        self.vertices = {end for edge in edges for end in edge[:2]}
        for edge in edges:
            self._insert(*edge)

    def apply(self, batch: tg.Batch) -> dict[str, int]:
        counts = dict.fromkeys(("inserted", "deleted", "changed", "existing", "missing"), 0)
        for vertex in batch.remove_vertices.tolist():
            if vertex in self.vertices:
                kept = [edge for edge in self.edges if vertex not in edge[:2]]
                counts["deleted"] += len(self.edges) - len(kept)
                self.edges = kept
                self.vertices.remove(vertex)
            else:
                counts["missing"] += 1
        for source, target in zip(*(column.tolist() for column in batch.delete[:2]), strict=True):
            found = sorted(self._between(source, target), key=lambda edge: edge[2])
            counts["deleted" if found else "missing"] += 1
            if found:
                self.edges.remove(found[0])
        if batch.change[0].size:
            for source, target, weight in zip(*(column.tolist() for column in batch.change), strict=True):
                found = self._between(source, target)
                counts["changed" if found else "missing"] += 1
                if found:
                    self.edges[self.edges.index(found[0])] = (*found[0][:2], weight)
        self.vertices.update(batch.add_vertices.tolist())
        columns = [column.tolist() for column in batch.insert if column is not None]
        for source, target, *weight in zip(*columns, strict=True):
            counts["inserted" if self._insert(source, target, *weight) else "existing"] += 1
        return counts

    def _insert(self, source: Any, target: Any, weight: float = 1.0) -> bool:
        self.vertices.update((source, target))
        found = self._between(source, target)
        if found and not self.multi_edges:
            if self.replace:
                self.edges[self.edges.index(found[0])] = (*found[0][:2], weight)
            return False
        self.edges.append((source, target, weight))
        return True

    def _between(self, source: Any, target: Any) -> list[tuple[Any, Any, float]]:
        ends = [(source, target)] if self.directed else [(source, target), (target, source)]
        return [edge for edge in self.edges if edge[:2] in ends]

    def ordered(self) -> list[tuple[Any, Any, float]]:
        if self.directed:
            return sorted(self.edges)
        return sorted((min(s, t), max(s, t), w) for s, t, w in self.edges)


def ordered_edges(graph: tg.Graph) -> list[tuple[Any, Any, float]]:
    """The edges of a graph by the user's ids."""
    sources, targets, weights = graph.edges()
    weights = np.ones(sources.size) if weights is None else weights
    edges = zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True)
    if graph.directed:
        return sorted(edges)
    return sorted((min(s, t), max(s, t), w) for s, t, w in edges)


def columns_of(edges: list[tuple[Any, ...]], count: int) -> tuple[list[Any], ...]:
    return tuple(list(column) for column in zip(*edges, strict=True)) if edges else tuple([] for _ in range(count))


@st.composite
def batches(draw: Any) -> dict[str, Any]:
    pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12)
    few = st.lists(st.integers(0, 12), max_size=2)
    return {
        "insert": columns_of(draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), WEIGHTS), max_size=20)), 3),
        "delete": columns_of(draw(pairs), 2),
        "change": columns_of(draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), WEIGHTS), max_size=5)), 3),
        "add_vertices": draw(few),
        "remove_vertices": draw(few),
    }


@settings(max_examples=150, deadline=None)
@given(EDGES, st.lists(batches(), max_size=6), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_batches_equal_a_graph_built_anew(
    edges: list[tuple[int, int, float]],
    given_batches: list[dict[str, Any]],
    directed: bool,
    multi_edges: bool,
    as_text: bool,
    replace: bool,
) -> None:
    name = (lambda ids: [f"v{i}" for i in ids]) if as_text else (lambda ids: [i * 10**9 for i in ids])
    hand = ByHand([(*name(edge[:2]), edge[2]) for edge in edges], directed, multi_edges, replace and not multi_edges)
    start = tg.from_edges(*columns_of(hand.edges, 3), directed=directed) if hand.edges else None
    graph = tg.DynamicGraph(
        start, directed=directed, weighted=True, multi_edges=multi_edges, existing="replace" if replace else "ignore"
    )
    if start is None:
        graph.apply(add_vertices=sorted(hand.vertices))
    for given_batch in given_batches:
        batch = _named(given_batch, name, multi_edges)
        before = graph.snapshot()
        edges_before = ordered_edges(before)
        applied = graph.apply(batch)
        counts = hand.apply(batch)
        assert {key: getattr(applied, key) for key in counts} == counts
        snapshot = graph.snapshot()
        snapshot.check()
        assert ordered_edges(snapshot) == hand.ordered()
        assert ordered_edges(before) == edges_before
        assert (graph.num_vertices, graph.num_edges) == (len(hand.vertices), len(hand.edges))
        assert snapshot.num_edges == len(hand.edges)
        labels = snapshot.labels_of(np.arange(snapshot.num_vertices)).tolist()
        assert sorted(labels) == sorted(hand.vertices)
        incoming = snapshot.reverse()
        assert sorted((t, s, w) for s, t, w in ordered_edges(incoming)) == ordered_edges(snapshot) or not directed


def _named(batch: dict[str, Any], name: Any, multi_edges: bool) -> tg.Batch:
    """The batch under the names of vertices; parallel edges have no weight to change."""
    edges = {key: (name(batch[key][0]), name(batch[key][1]), *batch[key][2:]) for key in ("insert", "delete", "change")}
    if multi_edges:
        edges.pop("change")
    vertices = {key: sorted(set(name(batch[key]))) for key in ("add_vertices", "remove_vertices")}
    return tg.Batch(**edges, **vertices)


def test_a_large_batch_on_a_hub() -> None:
    """Rows that move, long tails and reclaimed cells, on all threads."""
    rng = np.random.default_rng(0)
    graph = tg.DynamicGraph(tg.generate.rmat(10, 8, duplicates="first", runtime="numpy"))
    expected = {tuple(edge[:2]) for edge in ordered_edges(graph.snapshot())}
    for _ in range(20):
        inserted = rng.integers(0, 1024, (2, 3000))
        inserted[0, :1500] = 7  # a hub
        deleted = np.array(sorted(expected)).T[:, rng.permutation(len(expected))[:3000]]
        graph.apply(insert=inserted, delete=deleted)
        expected -= set(zip(*deleted.tolist(), strict=True))
        expected |= set(zip(*inserted.tolist(), strict=True))
        sources, targets, _ = graph.snapshot().edges()
        assert set(zip(sources.tolist(), targets.tolist(), strict=True)) == expected
        assert graph.num_edges == len(expected)


@pytest.mark.parametrize("directed", [True, False])
def test_a_batch_that_only_deletes_keeps_the_weights_of_others(directed: bool) -> None:
    """A row that is written anew without an insertion has weights to move too."""
    targets, weights = np.arange(1, 61), np.arange(1.0, 61.0)
    graph = tg.DynamicGraph(tg.from_edges(np.zeros(60, np.int64), targets, weights, directed))
    applied = graph.apply(delete=(np.zeros(40, np.int64), targets[:40]))
    sources, removed, removed_weights = applied.arcs.removed
    np.testing.assert_array_equal(removed_weights, np.maximum(sources, removed))
    np.testing.assert_array_equal(np.sort(graph.snapshot().edges()[2]), weights[40:])


def test_memory_is_at_most_twice_that_of_plain_rows() -> None:
    start = tg.generate.rmat(14, 16, duplicates="first", runtime="numpy")
    graph = tg.DynamicGraph(start)
    assert start.has_in_edges  # made with the dynamic graph: both count two directions
    assert graph.memory_bytes <= 2 * start.memory_bytes
    rng = np.random.default_rng(1)
    for _ in range(10):
        graph.apply(insert=rng.integers(0, start.num_vertices, (2, 20_000)))
    snapshot = graph.to_graph()
    assert graph.memory_bytes <= 2 * snapshot.memory_bytes


def test_memory_is_given_back_when_most_edges_are_gone() -> None:
    start = tg.generate.rmat(12, 16, duplicates="first", runtime="numpy")
    graph = tg.DynamicGraph(start)
    sources, targets, _ = start.edges()
    before = graph.memory_bytes
    for part in range(4):
        graph.apply(delete=(sources[part::4][1:], targets[part::4][1:]))
    assert graph.num_edges == 4
    assert graph.memory_bytes < before / 4
    assert graph.snapshot().num_edges == 4


def test_ids_stay_numbers_while_new_ones_continue_them() -> None:
    graph = tg.DynamicGraph(tg.from_edges([0, 1], [1, 2], num_vertices=3))
    graph.apply(insert=([3], [4]))
    assert graph.labels is None
    graph.apply(insert=([10**15], [0]))
    assert graph.labels.tolist() == [0, 1, 2, 3, 4, 10**15]
    assert ordered_edges(graph.snapshot())[-1][:2] == (10**15, 0)


def test_many_new_ids() -> None:
    """More than the small table of the newest ids holds."""
    graph = tg.DynamicGraph()
    for first in range(0, 8000, 800):
        ids = np.arange(first, first + 800) * 1000 + 5
        graph.apply(insert=(ids[:-1], ids[1:]))
    assert graph.num_vertices == 8000
    assert graph.vertex_of(5005) == 5
    assert ordered_edges(graph.snapshot())[0] == (5, 1005, 1.0)


def test_errors_change_nothing() -> None:
    graph = tg.DynamicGraph(tg.from_edges(["a", "b"], ["b", "c"]), existing="error", missing="error")
    before = ordered_edges(graph.snapshot())
    with pytest.raises(InvalidArgumentError, match=r"the edge 'a' to 'b' to insert is there already"):
        graph.apply(insert=(["x", "a"], ["y", "b"]))
    with pytest.raises(InvalidArgumentError, match=r"the edge 'b' to 'a' to delete or change is not there"):
        graph.apply(insert=(["x"], ["y"]), delete=(["b"], ["a"]))
    with pytest.raises(InvalidArgumentError, match=r"delete names vertex 'nobody', which is not in the graph"):
        graph.apply(delete=(["b"], ["nobody"]))
    with pytest.raises(InvalidArgumentError, match=r"the graph has none; leave them out"):
        graph.apply(insert=(["x"], ["y"], [1.0]))
    with pytest.raises(InvalidArgumentError, match=r"vertex 1 is no text"):
        graph.apply(insert=([1], [2]))
    assert ordered_edges(graph.snapshot()) == before
    assert (graph.num_vertices, graph.version) == (3, 0)
    graph.apply(insert=(["a"], ["b"]), delete=(["a"], ["b"]))  # deletions come first
    assert ordered_edges(graph.snapshot()) == before


def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"1 stored edges that repeat another one; use graph.simplify"):
        tg.DynamicGraph(tg.from_edges([0, 0], [1, 1]))
    with pytest.raises(InvalidArgumentError, match=r"delete has 3 columns; give \(sources, targets\)"):
        tg.Batch(delete=([1], [2], [3.0]))
    for columns in (5, "ab", {1, 2}, {1: 2, 3: 4}):
        with pytest.raises(InvalidArgumentError, match=r"insert=.* must be columns of edges; give \(sources, targets"):
            tg.Batch(insert=columns)
    with pytest.raises(InvalidArgumentError, match="add_vertices='ab' must be a column of values"):
        tg.Batch(add_vertices="ab")
    with pytest.raises(InvalidArgumentError, match=r"insert has columns of \[1, 2\] entries"):
        tg.Batch(insert=([1], [2, 3]))
    with pytest.raises(InvalidArgumentError, match=r"existing='perhaps' is not known"):
        tg.DynamicGraph(existing="perhaps")
    graph = tg.DynamicGraph(tg.from_edges([0], [1], [3]))
    with pytest.raises(InvalidArgumentError, match=r"weights holds 0.5, and the graph's weights are int64"):
        graph.apply(insert=([1], [0], [0.5]))
    many = tg.DynamicGraph(tg.from_edges([0, 0], [1, 1], [1.0, 2.0]), multi_edges=True)
    with pytest.raises(InvalidArgumentError, match=r"change needs a graph without parallel edges"):
        many.apply(change=([0], [1], [5.0]))
    with pytest.raises(VertexNotFoundError):
        graph.vertex_of(17)
    with pytest.raises(InvalidArgumentError, match=r"batch and further keywords"):
        graph.apply(tg.Batch(), insert=([0], [0]))


def test_far_pools_grow_by_new_files_and_leave_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    near = tg.DynamicGraph(directed=True, weighted=True)
    far = tg.DynamicGraph(directed=True, weighted=True, memory="1MiB", folder=tmp_path)
    for _ in range(6):
        edges = rng.integers(0, 40, 300), rng.integers(0, 40, 300), rng.random(300)
        gone = rng.integers(0, 40, 100), rng.integers(0, 40, 100)
        assert repr(far.apply(insert=edges, delete=gone)) == repr(near.apply(insert=edges, delete=gone))
        far_edges, near_edges = ordered_edges(far.to_graph()), ordered_edges(near.to_graph())
        assert far_edges == near_edges
        assert len(list(tmp_path.iterdir())) == 4  # neighbours and weights of both directions
    assert far.far_bytes > 0
    assert far.memory_bytes < near.memory_bytes
    del far
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_temporary_folder_goes_with_the_graph() -> None:
    graph = tg.DynamicGraph(tg.from_edges([0, 1], [1, 2], runtime="numpy"), memory="1MiB")
    assert graph.far is not None
    folder = graph.far.arrays.folder
    assert list(folder.iterdir())
    del graph
    gc.collect()
    assert not folder.exists()


def test_errors_name_vertices_that_the_batch_brings() -> None:
    graph = tg.DynamicGraph(tg.from_edges(["a"], ["b"]), existing="error", missing="error")
    with pytest.raises(InvalidArgumentError, match=r"the edge 'x' to 'y' to insert is there already"):
        graph.apply(insert=(["x", "x"], ["y", "y"]))
    with pytest.raises(InvalidArgumentError, match=r"remove_vertices names vertex 'zoe', which is not in the graph"):
        graph.apply(remove_vertices=["a", "zoe"])
    numbered = tg.DynamicGraph(tg.from_edges([0], [1], num_vertices=2), existing="error")
    with pytest.raises(InvalidArgumentError, match=r"the edge 1000000000000 to 7 to insert"):
        numbered.apply(insert=([10**12, 10**12], [7, 7]))
    assert (graph.version, numbered.version, numbered.num_vertices) == (0, 0, 2)


def test_a_vertex_named_twice_is_removed_once() -> None:
    graph = tg.DynamicGraph(tg.from_edges([0], [1], num_vertices=3), missing="error")
    applied = graph.apply(remove_vertices=[1, 1])
    assert (applied.vertices_removed, applied.missing, graph.num_vertices) == (1, 0, 2)
    with pytest.raises(VertexNotFoundError, match=r"vertex 1 was removed from the graph"):
        graph.vertex_of(1)
    graph.apply(add_vertices=[1])
    assert graph.vertex_of(1) == 1


@pytest.mark.parametrize(
    ("dtype", "weight", "message"),
    [
        (np.int32, 2**33, r"weights holds 8589934592, and the graph's weights are int32; give whole numbers in their"),
        (np.int32, 1.5, r"weights holds 1.5, and the graph's weights are int32"),
        (np.int64, np.nan, r"weights holds nan, and the graph's weights are int64"),
        (np.float32, 1e300, r"weights holds 1e\+300, and the graph's weights are float32; give numbers in their"),
    ],
)
def test_weights_that_the_graph_cannot_hold_are_refused(dtype: type, weight: Any, message: str) -> None:
    graph = tg.DynamicGraph(tg.from_edges([0], [1], np.array([3], dtype)))
    with pytest.raises(InvalidArgumentError, match=message):
        graph.apply(insert=([1], [0], [weight]))
    assert graph.version == 0


def test_a_batch_is_prepared_for_one_version() -> None:
    graph = tg.DynamicGraph(tg.from_edges([0], [1]))
    prepared = graph.prepare(insert=([1], [0]))
    graph.apply(insert=([1], [0]))
    with pytest.raises(InvalidArgumentError, match=r"1 batches were applied since this one was prepared"):
        graph.commit(prepared)
    assert graph.num_edges == 2


def test_more_vertices_than_fit_four_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tgraph.graph.dynamic.MOST_VERTICES", 3)
    graph = tg.DynamicGraph(tg.from_edges([0], [1], num_vertices=3))
    with pytest.raises(InvalidArgumentError, match=r"the graph would have 4 vertices.* stored in 4 bytes"):
        graph.apply(insert=([0], [3]))
    assert graph.num_vertices == 3
