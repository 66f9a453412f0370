"""Graphs with every oddity (empty, isolated vertices, self-loops, duplicates), and how to compare them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import tgraph as tg
from tgraph.graph import Graph

WEIGHTS: dict[str, Any] = {
    "none": st.none(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "float32": st.floats(width=32, allow_nan=False),
}


@st.composite
def odd_graphs(draw: Any, weights: tuple[str, ...] = tuple(WEIGHTS), labels: tuple[str, ...] = ("none",)) -> Graph:
    """Small graphs; `weights` and `labels` (none, integers, strings, tuples) say what may occur."""
    num_vertices = draw(st.integers(0, 9))
    ends = st.integers(0, max(num_vertices - 1, 0))
    edges = draw(st.lists(st.tuples(ends, ends), max_size=25 if num_vertices else 0))
    kind = draw(st.sampled_from(weights))
    values = None
    if kind != "none":
        listed = draw(st.lists(WEIGHTS[kind], min_size=len(edges), max_size=len(edges)))
        values = np.asarray(listed, kind)
    pairs = np.asarray(edges, np.int64).reshape(-1, 2)
    directed = draw(st.booleans())
    graph = tg.from_edges(pairs[:, 0], pairs[:, 1], values, directed, num_vertices, labels=None)
    ids = draw_labels(draw, draw(st.sampled_from(labels)), num_vertices)
    return graph if ids is None else graph.relabel(ids)


def draw_labels(draw: Any, kind: str, count: int) -> list[Any] | None:
    """Return distinct vertex ids of one kind."""
    if kind == "none" or not count:
        return None
    texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
    ids = {"integers": st.integers(-(2**63), 2**63 - 1), "strings": texts, "tuples": st.tuples(st.integers(), texts)}
    return list(draw(st.lists(ids[kind], min_size=count, max_size=count, unique=True)))


def assert_same(left: Graph, right: Graph, *, order: bool = True) -> None:
    """Compare everything that a file or another library should keep; `order`: also the order inside rows."""
    assert left.num_vertices == right.num_vertices
    assert left.num_edges == right.num_edges
    assert left.directed == right.directed
    assert_same_labels(left, right)
    left_rows, right_rows = (graph.adjacency("out").to_numpy() for graph in (left, right))
    if not order:
        left_rows, right_rows = _canonical(left_rows), _canonical(right_rows)
    np.testing.assert_array_equal(left_rows[0], right_rows[0])
    np.testing.assert_array_equal(left_rows[1], right_rows[1])
    assert (left_rows[2] is None) == (right_rows[2] is None)
    if left_rows[2] is not None:
        np.testing.assert_array_equal(left_rows[2], right_rows[2])
    right.check()


def assert_same_labels(left: Graph, right: Graph) -> None:
    """Compare the users' ids, types included."""
    ids = [graph.labels_of(np.arange(graph.num_vertices)).tolist() for graph in (left, right)]
    assert ids[0] == ids[1]
    assert [type(one) for one in ids[0]] == [type(one) for one in ids[1]]


def _canonical(rows: Any) -> Any:
    offsets, targets, weights = rows
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((targets, owners) if weights is None else (weights, targets, owners))
    return offsets, targets[order], None if weights is None else weights[order]
