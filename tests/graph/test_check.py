"""check() finds each invariant when it is broken, and nothing in a sound graph."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tgraph import runtime as runtimes
from tgraph.errors import InvalidGraphError
from tgraph.graph import Adjacency, Graph, from_edges

Array = np.ndarray[Any, Any]


def rows(offsets: Any, neighbors: Any, weights: Any = None, runtime: str = "numpy") -> Adjacency:
    """Rows without any check; lists become the right types, arrays stay as they are."""
    rt = runtimes.get(runtime, "cpu")
    offsets = np.array(offsets, np.int64) if isinstance(offsets, list) else offsets
    neighbors = np.array(neighbors, np.int32) if isinstance(neighbors, list) else neighbors
    kept = None if weights is None else rt.asarray(np.array(weights))
    return Adjacency(rt, rt.asarray(offsets), rt.asarray(neighbors), kept)


def graph(out: Adjacency, directed: bool = True, **more: Any) -> Graph:
    return Graph(out, directed=directed, num_edges=out.num_arcs, **more)


SOUND = rows([0, 2, 3], [0, 1, 0])

BROKEN = {
    "empty offsets": (graph(rows([], [])), "out_offsets is empty; it needs one entry more than there are vertices"),
    "offsets too narrow": (graph(rows(np.array([0, 1], np.int32), [0])), "out_offsets is int32, not int64"),
    "offsets start late": (graph(rows([1, 1], [0])), "out_offsets starts at 1, not 0"),
    "offsets fall": (graph(rows([0, 2, 1], [0])), "out_offsets falls from 2 to 1 at vertex 1"),
    "offsets end early": (graph(rows([0, 1], [0, 0])), "out_offsets ends at 1 but there are 2 edges"),
    "offsets end late": (graph(rows([0, 5], [0, 0])), "out_offsets ends at 5 but there are 2 edges"),
    "ids too wide": (graph(rows([0, 1], np.array([0]))), "out neighbours are int64, not int32"),
    "ids too large": (
        graph(rows([0, 2], [0, 7])), "1 edges lead outside the vertices (0 to 0); position 1 to 7"
    ),
    "ids negative": (graph(rows([0, 2], [-3, 0])), "1 edges lead outside the vertices (0 to 0); position 0 to -3"),
    "edges of no vertex": (graph(rows([0], [0])), "out_offsets ends at 0 but there are 1 edges"),
    "too few weights": (graph(rows([0, 2], [0, 0], [1.0])), "there are 1 weights for 2 edges"),
    "too many labels": (graph(SOUND, labels=np.array([1, 2, 3])), "there are 3 labels for 2 vertices"),
    "labels twice": (graph(SOUND, labels=np.array([5, 5])), "some vertices share a label"),
    "not sorted": (graph(rows([0, 2, 2], [1, 0]), is_sorted=True), "is_sorted is set but some neighbours descend"),
    "not symmetric": (
        graph(rows([0, 1, 1], [1]), directed=False), "undirected but some edge is stored in one direction only"
    ),
    "weights not symmetric": (
        graph(rows([0, 1, 2], [1, 0], [1.0, 2.0]), directed=False),
        "undirected but some edge is stored in one direction only",
    ),
    "reverse of other edges": (
        graph(rows([0, 1, 1], [1]), reverse=rows([0, 1, 1], [1])),
        "the incoming edges are not the outgoing edges turned around",
    ),
    "reverse of other weights": (
        graph(rows([0, 1, 1], [1], [1.0]), reverse=rows([0, 0, 1], [0], [2.0])),
        "the incoming edges are not the outgoing edges turned around",
    ),
    "reverse broken": (
        graph(rows([0, 1, 1], [1]), reverse=rows([0, 0, 1], [9])), "1 edges lead outside the vertices (0 to 1)"
    ),
    "reverse too short": (
        graph(rows([0, 1, 1], [1]), reverse=rows([0, 0], [])),
        "the incoming edges are not the outgoing edges turned around",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_each_broken_invariant_is_found(case: str) -> None:
    broken, problem = BROKEN[case]
    with pytest.raises(InvalidGraphError, match=re.escape(problem)):
        broken.check()


def test_problems_are_found_on_torch_too() -> None:
    with pytest.raises(InvalidGraphError, match="position 1 to 7"):
        graph(rows([0, 2], [0, 7], runtime="torch")).check()


def test_all_problems_are_listed() -> None:
    broken = graph(rows([1, 3], [5, 0, 0], [1.0]), labels=np.array([1, 2]))
    with pytest.raises(InvalidGraphError) as raised:
        broken.check()
    assert raised.value.problems == [
        "out_offsets starts at 1, not 0",
        "1 edges lead outside the vertices (0 to 0); position 0 to 5",
        "there are 1 weights for 3 edges",
        "there are 2 labels for 1 vertices",
    ]
    assert "broken in 4 way(s)" in str(raised.value)


@pytest.mark.parametrize(
    "sound",
    [
        graph(rows([0], [])),
        graph(SOUND),
        graph(SOUND, is_sorted=True),
        graph(rows([0, 2, 2], [1, 0])),
        graph(rows([0, 1, 2], [1, 0], [np.nan, np.nan]), directed=False),
        graph(rows([0, 2, 4], [1, 1, 0, 0], [1, 2, 2, 1]), directed=False),
        graph(rows([0, 1, 1], [1]), reverse=rows([0, 0, 1], [0])),
        graph(SOUND, labels=np.array([5, -5])),
    ],
)
def test_sound_graphs_pass(sound: Graph) -> None:
    sound.check()


def test_a_reverse_that_was_built_is_checked() -> None:
    built = from_edges([0, 1, 1], [1, 0, 0], [1, 2, 3])
    built.adjacency("in")
    built.check()
