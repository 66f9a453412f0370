"""Files from more edges than fit into memory are those that memory would have given."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import assert_same
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import InvalidArgumentError, MemoryBudgetError
from tgraph.memory import edge_runs


@settings(deadline=None, max_examples=200)
@given(
    case=small_graphs(("none", "small", "float")),
    chunk_size=st.integers(1, 9),
    duplicates=st.sampled_from(("keep", "first", "last", "min", "max", "sum")),
    self_loops=st.sampled_from(("keep", "drop")),
    runs=st.integers(1, 5),
)
def test_a_file_holds_the_graph_of_its_edges(
    case: SmallGraph, chunk_size: int, duplicates: str, self_loops: str, runs: int
) -> None:
    sources, targets = (np.asarray(column, np.int64) for column in case.columns)
    weights = None if case.weights is None else np.asarray(case.weights, case.weight_dtype)
    columns = [column for column in (sources, targets, weights) if column is not None]
    chunks = [[column[i : i + chunk_size] for column in columns] for i in range(0, len(sources), chunk_size)]
    policies = {"duplicates": duplicates, "self_loops": self_loops}
    expected = tg.from_edges(sources, targets, weights, case.directed, case.num_vertices, **policies, runtime="numpy")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_runs, "RUNS", runs)
        path = Path(folder, "graph.safetensors")
        tg.build_file(chunks, path, num_vertices=case.num_vertices, directed=case.directed, **policies)
        built = tg.read(path, check="all", runtime="numpy")
        if weights is not None and not chunks:
            expected = tg.from_edges([], [], None, case.directed, case.num_vertices, runtime="numpy")
        assert_same(built, expected)
        assert built.has_in_edges
        for found, wanted in zip(built.adjacency("in").to_numpy(), expected.adjacency("in").to_numpy(), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert [file.name for file in Path(folder).iterdir()] == ["graph.safetensors"]


@pytest.mark.parametrize("directed", [True, False])
def test_runs_too_large_for_memory_are_cut_again(tmp_path: Path, directed: bool) -> None:
    expected = tg.generate.rmat(12, 16, seed=5, permute=False, directed=directed, runtime="numpy")
    chunks = tg.generate.rmat_chunks(12, 16, seed=5, permute=False, edges_per_chunk=10_000)
    said: list[str] = []
    memory = 8 * 4097 + 300_000
    path = tmp_path / "rmat.safetensors"
    tg.build_file(chunks, path, num_vertices=1 << 12, memory=memory, directed=directed, say=said.append)
    assert_same(tg.read(path, check="all", runtime="numpy"), expected)
    assert said[0] == "10,000 edges taken"
    assert said[-1].startswith("writing")


def test_a_row_that_does_not_fit_is_an_error_that_says_how_much_would_do(tmp_path: Path) -> None:
    star = [(np.zeros(10_000, np.int64), np.arange(10_000))]
    path = tmp_path / "star.safetensors"
    with pytest.raises(MemoryBudgetError, match=r"vertex 0 has 10,000 edges; give at least memory=\d+"):
        tg.build_file(star, path, num_vertices=10_000, memory=8 * 10_001 + 1000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        (3, r"edges=3 must be a file, or chunks of edges"),
        ([3], r"chunk 0 of edges is a int; give \(sources, targets\)"),
        ([([0], [3])], r"targets of chunk 0 holds 3; vertex numbers are from 0 to num_vertices - 1 = 2"),
        ([([0], [1]), ([-1], [1])], r"sources of chunk 1 holds -1"),
        ([([0.5], [1])], "give vertex numbers"),
        ([([0, 1], [1])], "different lengths"),
        ([([0],)], "1 columns"),
        ([([0], [1], [2.0]), ([0], [1])], "not of the type"),
    ],
)
def test_wrong_chunks_are_named_and_leave_nothing(tmp_path: Path, chunks: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        tg.build_file(chunks, tmp_path / "graph.safetensors", num_vertices=3)
    assert list(tmp_path.iterdir()) == []


def test_other_arguments_are_checked(tmp_path: Path) -> None:
    for path, options, words in [
        ("graph.txt", {}, "safetensors"),
        ("graph.safetensors", {"duplicates": "none"}, "duplicates="),
        ("graph.safetensors", {"self_loops": "none"}, "self_loops="),
        ("graph.safetensors", {"labels": ["a"]}, "labels="),
        ("graph.safetensors", {"skip_rows": 1}, "skip_rows=1 is for files"),
        ("graph.safetensors", {"format": "text"}, "format='text' is for files"),
        ("graph.safetensors", {"memory": "little"}, "memory="),
    ]:
        with pytest.raises(InvalidArgumentError, match=words):
            tg.build_file([], tmp_path / path, num_vertices=3, **options)


def test_chunks_of_rmat_are_the_edges_of_rmat() -> None:
    whole = tg.generate.rmat(8, 5, seed=3, runtime="numpy")
    chunks = list(tg.generate.rmat_chunks(8, 5, seed=3, edges_per_chunk=77))
    sources, targets = (np.concatenate(column) for column in zip(*chunks, strict=True))
    assert_same(tg.from_edges(sources, targets, num_vertices=256, runtime="numpy"), whole)
