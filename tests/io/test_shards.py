"""Ranks that read a file together hold the graph that one machine would read, each its part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tgraph as tg
from tgraph.errors import DeclaredGapError, FileFormatError, InvalidArgumentError
from tgraph.io import text_chunks
from tgraph.io.tensor_file import locate
from thread_group import on_ranks

SIZES = (1, 2, 5)


def parts_of(path: Path, **options: Any) -> Any:
    """Read a file and return what this rank holds, by vertex numbers."""
    graph = tg.read(path, **options)
    found = {}
    for direction in ("out", "in"):
        rows = graph.rows(direction)
        neighbors = rows.vertex_numbers(graph.first)[rows.neighbors]
        found[direction] = np.diff(rows.offsets), neighbors, rows.weights
    return found, graph


def check(path: Path, **options: Any) -> None:
    expected = tg.read(path, **options)
    for size in SIZES:
        parts = on_ranks(size, lambda: parts_of(path, **options))
        graph = parts[0][1]
        kinds = ("num_vertices", "num_edges", "num_arcs", "directed", "weighted", "is_sorted")
        assert [getattr(graph, kind) for kind in kinds] == [getattr(expected, kind) for kind in kinds]
        for direction in ("out", "in"):
            degrees, neighbors, weights = (
                None if column[0] is None else np.concatenate(column)
                for column in zip(*(part[direction] for part, _ in parts), strict=True)
            )
            offsets, wanted, wanted_weights = expected.adjacency(direction).to_numpy()
            np.testing.assert_array_equal(degrees, np.diff(offsets))
            np.testing.assert_array_equal(neighbors, wanted)
            if weights is not None:
                np.testing.assert_array_equal(weights, wanted_weights)
                assert weights.dtype == wanted_weights.dtype
        labels = [part.vertex_labels for _, part in parts]
        if expected.vertex_labels is None:
            assert labels == [None] * size
        else:
            assert np.concatenate(labels).tolist() == expected.vertex_labels.tolist()


def columns(kind: str, count: int = 300) -> dict[str, Any]:
    random = np.random.default_rng(1)
    ends = random.zipf(1.4, (2, count)).clip(1, 60) - 1
    if kind == "large":
        ends = ends * 7_000_000_000_003 - 5
    if kind == "strings":
        return {"source": [f"v{n}é" for n in ends[0]], "target": [f"v{n}é" for n in ends[1]]}
    if kind == "dense":
        ends = random.integers(0, 12, (2, count))
    return {"source": ends[0], "target": ends[1]}


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz"])
@pytest.mark.parametrize("kind", ["dense", "gaps", "large", "strings"])
def test_edges_in_any_order(tmp_path: Path, kind: str, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_chunks, "MAX_CHUNK_BYTES", 500)
    monkeypatch.setattr(text_chunks, "HEAD_BYTES", 200)
    path = tmp_path / f"edges.{ending}"
    frame = pl.DataFrame({**columns(kind), "weight": np.arange(300) * 0.5})
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "csv":
        frame.write_csv(path)
    else:
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    check(path)
    check(path, weights=None, directed=False)
    check(path, duplicates="max", self_loops="drop")


def test_text_with_numbers_and_weights_that_turn_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_chunks, "MAX_CHUNK_BYTES", 64)
    monkeypatch.setattr(text_chunks, "HEAD_BYTES", 64)
    lines = [f"{n % 17} {n % 11} {n if n < 190 else n + 0.5}" for n in range(200)]
    path = tmp_path / "edges.wel"
    path.write_text("\n".join(lines))
    check(path)
    check(path, num_vertices=40)
    with pytest.raises(InvalidArgumentError, match="id 16; vertex numbers are from 0 to 4"):
        on_ranks(2, lambda: tg.read(path, num_vertices=5))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("labels", ["none", "integers", "strings"])
def test_native_files(tmp_path: Path, labels: str, reverse: bool) -> None:
    graph = tg.generate.rmat(7, 6, seed=4, weights=(1, 50))
    if labels != "none":
        graph = graph.relabel([f"v{n}" if labels == "strings" else 3 * n for n in range(graph.num_vertices)])
    path = tmp_path / "graph.safetensors"
    tg.write(graph, path, reverse=reverse)
    check(path)


def test_other_formats_and_empty_files(tmp_path: Path) -> None:
    graph = tg.generate.rmat(5, 4, seed=4)
    tg.write(graph, tmp_path / "graph.mtx")
    check(tmp_path / "graph.mtx")
    pl.DataFrame({"source": [], "target": []}, schema={"source": pl.Int64, "target": pl.Int64}).write_parquet(
        tmp_path / "none.parquet"
    )
    check(tmp_path / "none.parquet")
    with pytest.raises(DeclaredGapError, match="duplicates='error'"):
        on_ranks(2, lambda: tg.read(tmp_path / "none.parquet", duplicates="error"))
    tg.write(tg.compress(graph), tmp_path / "small.safetensors")
    with pytest.raises(InvalidArgumentError, match="compressed graph, which is not divided"):
        on_ranks(2, lambda: tg.read(tmp_path / "small.safetensors"))


def test_native_rows_are_read_when_they_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "graph.safetensors"
    graph = tg.generate.rmat(7, 4, seed=1, runtime="numpy", weights=(1, 9))
    tg.write(graph, path, reverse=True)

    def look() -> Any:
        part = tg.read(path, runtime="numpy")
        bytes_before = part.memory_bytes
        ranks = tg.pagerank(part, tol_l1=0.0, max_iterations=3)  # asks for incoming rows, and lengths of outgoing ones
        one_direction = part.memory_bytes
        assert part.weight_range == graph.weight_range
        return bytes_before, one_direction, part.memory_bytes, ranks.gather().to_numpy()

    expected = tg.pagerank(graph, tol_l1=0.0, max_iterations=3).to_numpy()
    for before, one_direction, both_directions, ranks in on_ranks(3, look):
        assert before == 0
        assert 0 < one_direction < both_directions
        np.testing.assert_allclose(ranks, expected, rtol=1e-12)


def test_a_neighbor_that_is_no_vertex_is_found_where_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "graph.safetensors"
    tg.write(tg.generate.star(9), path)
    position, dtype, count = locate(path)["out_targets"]
    with path.open("r+b") as file:
        file.seek(position + (count - 1) * dtype.itemsize)
        file.write(np.array([77], dtype).tobytes())
    with pytest.raises(FileFormatError, match="holds 77 at position"):
        on_ranks(2, lambda: tg.bfs(tg.read(path), 0))
