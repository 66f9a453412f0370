"""The benchmark graphs: simple, in both versions, with small whole weights, the same in every run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tgraph as tg
from tgraph.bench.graphs import graph_names, load, pick_sources, prepare
from tgraph.errors import InvalidArgumentError


@pytest.mark.parametrize("name", ["rmat8", "grid9"])
def test_the_undirected_version_is_simple_and_symmetric(tmp_path: Path, name: str) -> None:
    graph = load(prepare(name, tmp_path)["undirected"], weighted=True)
    matrix = tg.to_scipy(graph)
    assert not graph.directed
    assert graph.num_self_loops == 0
    assert matrix.nnz == graph.num_arcs
    assert (matrix != matrix.T).nnz == 0


def test_weights_are_whole_numbers_from_1_to_255(tmp_path: Path) -> None:
    weights = load(prepare("rmat8", tmp_path)["undirected"], weighted=True).weights
    assert weights is not None
    assert weights.dtype == np.int32
    assert (weights.min(), weights.max()) == (1, 255)


def test_only_graphs_with_directions_have_a_directed_version(tmp_path: Path) -> None:
    assert set(prepare("rmat4", tmp_path)) == {"directed", "undirected"}
    assert set(prepare("grid4", tmp_path)) == {"undirected"}


def test_both_versions_hold_the_same_edges(tmp_path: Path) -> None:
    files = prepare("rmat6", tmp_path)
    directed = tg.to_scipy(load(files["directed"], weighted=False)) != 0
    undirected = tg.to_scipy(load(files["undirected"], weighted=False)) != 0
    assert (directed.maximum(directed.T) != undirected).nnz == 0


def test_a_graph_is_made_once(tmp_path: Path) -> None:
    file = prepare("rmat4", tmp_path)["undirected"]
    before = file.stat().st_mtime_ns
    assert prepare("rmat4", tmp_path)["undirected"].stat().st_mtime_ns == before


def test_weights_can_be_left_out(tmp_path: Path) -> None:
    assert load(prepare("rmat4", tmp_path)["undirected"], weighted=False).weights is None


def test_a_real_graph_is_read_from_its_folder(tmp_path: Path, shared_data: Path) -> None:
    graph = load(prepare("wiki-Vote", tmp_path, shared_data)["directed"], weighted=True)
    assert (graph.num_vertices, graph.num_edges, graph.weighted) == (7_115, 103_689, True)
    assert "wiki-Vote" in graph_names(shared_data)


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"graph 'torus' is not known; use rmat<scale>, grid<side>"):
        prepare("torus", tmp_path)


def test_a_real_graph_without_its_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="give the folder of real graphs with --data"):
        prepare("wiki-Vote", tmp_path)


def test_sources_are_in_the_largest_component_and_always_the_same() -> None:
    labels = np.array([0, 1, 1, 1, 4, 1])
    graph = tg.from_edges([1], [2], num_vertices=6, runtime="numpy")
    chosen = pick_sources(graph, labels, 3)
    assert set(chosen) <= {1, 2, 3, 5}
    assert len(set(chosen)) == 3
    assert chosen == pick_sources(graph, labels, 3)
