"""Parts of vertices: every vertex in one, none too large, the same on any number of threads, few edges between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import odd_graphs
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu.union_find import smallest_in_component
from tgraph.kernels.cpu.well_connected import Sides, grow_blocks
from tgraph.layout.partition import WAYS
from tgraph.layout.partition.well_connected import BLOCKS_PER_PART


def check_parts(graph: tg.Graph, num_parts: int, by: str) -> tg.Partition:
    """Compare a partition with what can be counted edge by edge."""
    found = tg.partition(graph, num_parts, by)
    parts, degrees = found.parts, graph.runtime.to_numpy(graph.out_degrees())
    assert parts.shape == (graph.num_vertices,)
    assert found.num_parts == num_parts
    assert ((parts >= 0) & (parts < num_parts)).all()
    np.testing.assert_array_equal(np.sort(found.order), np.arange(graph.num_vertices))
    assert (np.diff(parts[found.order]) >= 0).all()
    np.testing.assert_array_equal(found.num_vertices, np.bincount(parts, minlength=num_parts))
    np.testing.assert_array_equal(found.num_arcs, np.bincount(parts, degrees, num_parts))
    ids = [found.vertex_ids(part).tolist() for part in range(num_parts)]
    assert [graph.vertices_of(some).tolist() for some in ids] == [
        found.order[parts[found.order] == part].tolist() for part in range(num_parts)
    ]
    sources, targets, _ = graph.relabel(None).edges()
    assert found.num_cut_edges == np.count_nonzero(parts[sources] != parts[targets])
    _check_sizes(found, degrees)
    return found


def _check_sizes(found: tg.Partition, degrees: np.ndarray[Any, Any]) -> None:
    share = max(-(-int(degrees.sum()) // found.num_parts), 1)
    spare = max(share // BLOCKS_PER_PART, 1) if found.by == "well_connected" else 1
    for part in range(found.num_parts):
        some = degrees[found.parts == part]
        assert found.num_arcs[part] <= share + max(spare, int(some.max(initial=0)))
        if found.by == "well_connected" and some.max(initial=0) > share + spare:
            assert np.count_nonzero(some) == 1  # a hub is with nobody who has edges


@settings(deadline=None, max_examples=200)
@given(graph=odd_graphs(labels=("none", "integers", "strings")), num_parts=st.integers(1, 12), by=st.sampled_from(WAYS))
def test_every_vertex_is_in_one_part_within_the_limit(graph: tg.Graph, num_parts: int, by: str) -> None:
    check_parts(graph, num_parts, by)


@settings(deadline=None, max_examples=30)
@given(
    num_vertices=st.integers(1, 300),
    num_edges=st.integers(0, 2000),
    skew=st.integers(1, 4),
    num_parts=st.integers(1, 40),
    directed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_larger_graphs_with_hubs_too(
    num_vertices: int, num_edges: int, skew: int, num_parts: int, directed: bool, seed: int
) -> None:
    places = np.random.default_rng(seed).random((2, num_edges)) ** skew
    sources, targets = (places * num_vertices).astype(np.int64)
    graph = tg.from_edges(sources, targets, directed=directed, num_vertices=num_vertices, labels=None, runtime="numpy")
    for by in WAYS:
        check_parts(graph, num_parts, by)


@settings(deadline=None)
@given(graph=odd_graphs(weights=("none",)), limit=st.integers(1, 30))
def test_blocks_are_connected_and_within_their_limit(graph: tg.Graph, limit: int) -> None:
    rows = graph.adjacency("out").to_numpy()[:2]
    blocks = grow_blocks(Sides.of(rows, graph.adjacency("in").to_numpy()[:2] if graph.directed else None), limit)
    degrees = np.diff(rows[0])
    np.testing.assert_array_equal(blocks.num_edges, np.bincount(blocks.of_vertex, degrees, blocks.num_edges.size))
    sizes = np.bincount(blocks.of_vertex, minlength=blocks.num_edges.size)
    assert ((blocks.num_edges <= limit) | (sizes == 1)).all()
    inside = graph.relabel(None).edges()[:2]
    kept = blocks.of_vertex[inside[0]] == blocks.of_vertex[inside[1]]
    pieces = tg.from_edges(inside[0][kept], inside[1][kept], num_vertices=graph.num_vertices, labels=None)
    roots = smallest_in_component(*pieces.adjacency("out").to_numpy()[:2])
    assert np.unique(roots).size == blocks.num_edges.size


def test_the_parts_are_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.rmat(13, 16, seed=3, runtime="numpy")
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(tg.config, "num_threads", threads)
        fresh = tg.from_csr(*graph.adjacency("out").to_numpy(), runtime="numpy")
        found.append(tg.partition(fresh, 16))
    for other in found[1:]:
        np.testing.assert_array_equal(other.parts, found[0].parts)
        np.testing.assert_array_equal(other.order, found[0].order)
        assert other.num_cut_edges == found[0].num_cut_edges


def test_separate_communities_are_not_cut() -> None:
    sizes = np.full(8, 50)
    owners = np.repeat(np.arange(8), sizes)
    generator = np.random.default_rng(1)
    ends = generator.integers(0, 50, (2, 8 * 1000)) + 50 * np.repeat(np.arange(8), 1000)
    shuffle = generator.permutation(400)
    graph = tg.from_edges(*shuffle[ends], directed=False, num_vertices=400, labels=None, runtime="numpy")
    found = tg.partition(graph, 8)
    agreeing = np.bincount(found.parts[shuffle] * 8 + owners, minlength=64).reshape(8, 8).max(1).sum()
    assert agreeing >= 380
    assert found.num_cut_edges < 0.15 * graph.num_edges
    assert tg.partition(graph, 8, by="edges").num_cut_edges > 0.8 * graph.num_edges


def test_a_shuffled_grid_is_cut_along_few_edges() -> None:
    grid = tg.generate.grid(60, 60, runtime="numpy")
    shuffled = grid.subgraph(np.random.default_rng(1).permutation(3600)).relabel(None)
    assert check_parts(shuffled, 8, "well_connected").num_cut_edges < 0.15 * grid.num_edges
    assert check_parts(shuffled, 8, "edges").num_cut_edges > 0.8 * grid.num_edges


def test_a_hub_with_most_edges_has_a_part_for_itself() -> None:
    star = tg.generate.star(1000, directed=False, runtime="numpy")
    found = check_parts(star, 4, "well_connected")
    hub = int(np.argmax(star.out_degrees()))
    assert found.num_vertices[found.parts[hub]] == 1


def test_isolated_vertices_are_dealt_out() -> None:
    empty = tg.from_edges([], [], num_vertices=10, labels=None, runtime="numpy")
    found = tg.partition(empty, 4)
    assert sorted(found.num_vertices.tolist()) == [2, 2, 3, 3]
    assert found.num_cut_edges == 0
    assert repr(found).startswith("Partition(4 parts by well_connected: 10 vertices")


@pytest.mark.parametrize("by", WAYS)
def test_directions_do_not_matter_for_what_is_together(by: str) -> None:
    graph = tg.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], runtime="numpy")
    turned = tg.partition(graph.reverse(), 2, by)
    assert (turned.num_cut_edges, tg.partition(graph, 2, by).num_cut_edges) == (0, 0)


def test_what_cannot_be_done_is_refused() -> None:
    graph = tg.from_edges([0], [1])
    with pytest.raises(InvalidArgumentError, match="num_parts=0"):
        tg.partition(graph, 0)
    with pytest.raises(InvalidArgumentError, match="by='size'"):
        tg.partition(graph, 2, by="size")
