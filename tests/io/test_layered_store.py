"""Compressed graphs in native files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tgraph as tg
from odd_graphs import assert_same
from shared_rows import copies, shared_rows
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import CompressedGraph
from tgraph.io import store, tensor_file


@pytest.mark.parametrize("check", store.CHECKS)
def test_a_compressed_graph_comes_back(tmp_path: Path, check: str) -> None:
    graph = copies().relabel([f"v{number}" for number in range(400)])
    small = tg.compress(graph)
    tg.write(small, tmp_path / "small.safetensors")
    back = tg.read(tmp_path / "small.safetensors", check=check)
    assert isinstance(back, CompressedGraph)
    assert back.describe() == small.describe()
    assert_same(back.decompress(), graph)
    assert np.array_equal(tg.pagerank(back).to_numpy(), tg.pagerank(small).to_numpy())


@settings(deadline=None, max_examples=20)
@given(graph=shared_rows())
def test_odd_ones_come_back(tmp_path_factory: pytest.TempPathFactory, graph: tg.Graph) -> None:
    file = tmp_path_factory.mktemp("store") / "small.safetensors"
    tg.write(tg.compress(graph), file)
    assert_same(tg.read(file, check="all").decompress(), graph)


def test_what_such_a_file_is_not_for(tmp_path: Path) -> None:
    small = tg.compress(copies())
    with pytest.raises(InvalidArgumentError, match="reverse=True is not for compressed graphs"):
        tg.write(small, tmp_path / "small.safetensors", reverse=True)
    tg.write(small, tmp_path / "small.safetensors")
    with pytest.raises(InvalidArgumentError, match=r"holds a compressed graph, which runs in memory; use tgraph\.read"):
        tg.open(tmp_path / "small.safetensors", memory="16MiB")
    tg.write(small, tmp_path / "small.txt")  # lines of edges, virtual vertices written out
    assert tg.read(tmp_path / "small.txt").num_edges == small.num_edges


def _broken(tensors: dict[str, Any], change: str) -> None:
    neighbors, layers = tensors["layered_neighbors"].copy(), tensors["layers"].copy()
    if change == "cycle":
        neighbors[int(tensors["layered_offsets"][layers[0]])] = layers[0]
    elif change == "range":
        neighbors[0] = layers[-1]
    elif change == "layers":
        layers[-1] += 1
    elif change == "unused":
        neighbors[neighbors == layers[-1] - 1] = 0
    tensors["layered_neighbors"], tensors["layers"] = neighbors, layers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("cycle", "may hold 0 to 399 only"),
        ("range", "rows 0 to 399 may hold"),
        ("layers", "it must ascend to"),
        ("unused", "no row holds the virtual vertex"),
        ("num_arcs", "num_arcs is 1"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, change: str, message: str) -> None:
    file = tmp_path / "small.safetensors"
    tg.write(tg.compress(copies()), file)
    tensors, metadata = tensor_file.read_tensors(file)
    tensors = {name: array.copy() for name, array in tensors.items()}
    if change == "num_arcs":
        metadata |= {"num_arcs": "1", "num_edges": "1"}
    _broken(tensors, change)
    tensor_file.write_tensors(file, tensors, metadata)
    with pytest.raises(FileFormatError, match=message):
        tg.read(file)
