"""Padded ids: the part of a vertex by one division, and the same results when padding is undone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import odd_graphs
from tgraph.layout.partition import WAYS


@settings(deadline=None)
@given(graph=odd_graphs(labels=("none", "integers", "strings")), num_parts=st.integers(1, 6), by=st.sampled_from(WAYS))
def test_the_part_is_the_id_divided_by_the_size(graph: tg.Graph, num_parts: int, by: str) -> None:
    padded = tg.pad(graph, num_parts, by)
    sends = graph.runtime.to_numpy(graph.out_degrees()) > 0
    parts = tg.partition(graph, num_parts, by).parts
    np.testing.assert_array_equal((padded.ids // padded.part_size)[sends], parts[sends])
    assert (padded.parts_of(padded.ids[~sends]) >= num_parts).all()
    assert np.unique(padded.ids).size == graph.num_vertices
    counts = np.bincount(parts[sends], minlength=num_parts)
    assert padded.part_size == max(counts.max(), 1)
    assert padded.num_ids == num_parts * padded.part_size + np.count_nonzero(~sends)
    assert padded.is_vertex.sum() == graph.num_vertices
    np.testing.assert_array_equal(padded.vertices_of(padded.ids), np.arange(graph.num_vertices))
    assert (padded.vertices_of(np.flatnonzero(~padded.is_vertex)) == -1).all()
    assert padded.vertices_of(np.array([-1])).tolist() == [-1]


@settings(deadline=None)
@given(graph=odd_graphs(), num_parts=st.integers(1, 6))
def test_the_padded_graph_has_the_same_edges_and_its_padding_none(graph: tg.Graph, num_parts: int) -> None:
    padded = tg.pad(graph, num_parts)
    wide = padded.to_graph()
    wide.check()
    assert (wide.num_vertices, wide.num_edges, wide.directed) == (padded.num_ids, graph.num_edges, graph.directed)
    assert (wide.runtime, wide.weighted) == (graph.runtime, graph.weighted)
    np.testing.assert_array_equal(padded.undo(wide.out_degrees()), graph.runtime.to_numpy(graph.out_degrees()))
    degrees = wide.runtime.to_numpy(wide.out_degrees()) + wide.runtime.to_numpy(wide.in_degrees())
    assert (degrees[~padded.is_vertex] == 0).all()
    rows = [one.adjacency("out").to_numpy() for one in (graph, wide)]
    for vertex, new in enumerate(padded.ids.tolist()):
        old_row, new_row = slice(*rows[0][0][vertex : vertex + 2]), slice(*rows[1][0][new : new + 2])
        assert padded.vertices_of(rows[1][1][new_row]).tolist() == rows[0][1][old_row].tolist()
        if graph.weighted:
            assert rows[1][2][new_row].tolist() == rows[0][2][old_row].tolist()


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("runtime", ["numpy", "torch"])
def test_results_are_those_of_the_graph_vertex_by_vertex(by: str, runtime: str) -> None:
    graph = tg.generate.rmat(9, 4, seed=2, runtime=runtime).relabel(lambda vertex: f"v{vertex}")
    padded = tg.pad(graph, 7, by)
    wide = padded.to_graph()
    assert wide.num_vertices > graph.num_vertices
    found = tg.bfs(wide, int(padded.ids[graph.vertex_of("v0")]))
    expected = tg.bfs(graph, "v0")
    np.testing.assert_array_equal(padded.undo(found.levels), expected.to_numpy())
    is_reached = expected.to_numpy() > 0
    parents = padded.vertices_of(padded.undo(found.parents))
    np.testing.assert_array_equal(expected.to_numpy()[parents[is_reached]], expected.to_numpy()[is_reached] - 1)
    how = {"tol_l1": 1e-14, "max_iterations": 1000}
    ranks = padded.undo(tg.pagerank(wide, personalization=padded.is_vertex, **how).ranks)
    np.testing.assert_allclose(ranks, tg.pagerank(graph, **how).to_numpy(), rtol=0, atol=1e-12)
    components = padded.vertices_of(padded.undo(tg.wcc(wide).labels))
    pairs = np.unique(np.stack([components, tg.wcc(graph).to_numpy()]), axis=1)
    assert (np.unique(pairs[0]).size, np.unique(pairs[1]).size) == (pairs.shape[1], pairs.shape[1])


def test_it_says_what_it_is() -> None:
    graph = tg.from_edges([0, 0, 1], [1, 2, 0])
    assert repr(tg.pad(graph, 2)) == "PaddedIds(3 vertices in 2 parts of 1 ids)"
