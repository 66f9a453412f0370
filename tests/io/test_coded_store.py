"""Coded neighbours in native files: the same graph comes back, and damage is an error that says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io import store

KEEP_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)


@KEEP_FOLDER
@given(
    graph=odd_graphs(labels=("none", "integers", "strings")),
    reverse=st.booleans(),
    neighbors=st.sampled_from(["coded", "both"]),
)
def test_round_trip(tmp_path: Path, graph: tg.Graph, reverse: bool, neighbors: str) -> None:
    path = tmp_path / "graph.safetensors"
    store.write(graph, path, reverse=reverse, neighbors=neighbors)
    for runtime in ("numpy", "torch"):
        found = store.read(path, check="all", runtime=runtime)
        assert_same(graph, found)
        assert (found._in is not None) == (reverse or not graph.directed)
        if found._in is not None:
            np.testing.assert_array_equal(found.in_sources, np.asarray(graph.in_sources))
    assert ("out_targets" in load_file(path)) == (neighbors == "both")


def test_rows_in_any_order_come_back(tmp_path: Path) -> None:
    graph = tg.from_csr([0, 3, 4], [1, 0, 1, 0], np.array([1, 2, 3, 4], np.float32))
    store.write(graph, tmp_path / "g.safetensors", neighbors="coded")
    found = store.read(tmp_path / "g.safetensors", runtime="numpy")
    assert found.out_targets.tolist() == [1, 0, 1, 0]
    assert found.weights.tolist() == [1, 2, 3, 4]


def test_a_web_graph_takes_less_room(tmp_path: Path) -> None:
    graph = tg.generate.web_like(20_000, 16, seed=1, copied_share=0.95, runtime="numpy")
    sizes = {}
    for neighbors in ("plain", "coded", "both"):
        store.write(graph, tmp_path / "g.safetensors", neighbors=neighbors)
        sizes[neighbors] = (tmp_path / "g.safetensors").stat().st_size
    assert sizes["plain"] > 1.5 * sizes["coded"]
    assert sizes["plain"] + sizes["coded"] > sizes["both"] > sizes["plain"]


def test_a_coded_file_can_be_built_from(tmp_path: Path) -> None:
    graph = tg.generate.rmat(9, 8, seed=1, weights=(1, 9), runtime="numpy")
    store.write(graph, tmp_path / "coded.safetensors", neighbors="coded")
    tg.build_file(tmp_path / "coded.safetensors", tmp_path / "plain.safetensors", memory="4MiB")
    assert_same(graph, tg.read(tmp_path / "plain.safetensors"))


@pytest.mark.parametrize("neighbors", ["coded", "both"])
@pytest.mark.parametrize("directed", [True, False])
def test_files_built_on_disk_hold_the_same(tmp_path: Path, neighbors: str, directed: bool) -> None:
    sources, targets = np.random.default_rng(1).integers(0, 700, (2, 5000))
    graph = tg.from_edges(sources, targets, directed=directed, num_vertices=700, labels=None, runtime="numpy")
    built, written = tmp_path / "built.safetensors", tmp_path / "written.safetensors"
    how: dict[str, Any] = {"neighbors": neighbors, "reverse": True}
    tg.build_file([(sources, targets)], built, num_vertices=700, directed=directed, memory="1MiB", **how)
    store.write(graph, written, **how)
    found, expected = load_file(built), load_file(written)
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        np.testing.assert_array_equal(found[name], tensor, err_msg=name)
    assert_same(graph, store.read(built, check="all"))


def rewrite(path: Path, changes: dict[str, Any], **metadata: str) -> None:
    """Write a file again with other tensors or metadata."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    tensors = {name: tensor for name, tensor in {**load_file(path), **changes}.items() if tensor is not None}
    kept = {name: text for name, text in {**header["__metadata__"], **metadata}.items() if text}
    save_file(tensors, path, kept)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    graph = tg.from_edges(np.arange(3000), (np.arange(3000) * 7) % 3000, labels=None, runtime="numpy")
    store.write(graph, tmp_path / "graph.safetensors", neighbors="coded")
    return tmp_path / "graph.safetensors"


def test_damage_is_said(path: Path) -> None:
    good = load_file(path)
    bad = good["out_coded"].copy()
    bad[int(good["out_frames"][1])] = 77
    rewrite(path, {"out_coded": bad})
    with pytest.raises(FileFormatError, match=r"out_coded.*frame 1 is damaged"):
        tg.read(path)
    rewrite(path, {"out_coded": good["out_coded"][:-20]})
    with pytest.raises(FileFormatError, match=r"out_frames.*ends at"):
        tg.read(path)
    rewrite(path, {"out_coded": good["out_coded"], "out_frames": good["out_frames"][::-1].copy()})
    with pytest.raises(FileFormatError, match="out_frames"):
        tg.read(path)
    rewrite(path, {"out_frames": None})
    with pytest.raises(FileFormatError, match=r"out_frames.*missing"):
        tg.read(path)
    rewrite(path, {"out_frames": good["out_frames"]}, num_arcs="")
    with pytest.raises(FileFormatError, match="num_arcs is missing"):
        tg.open(path, "1MiB")
    rewrite(path, {}, num_arcs="9000")
    with pytest.raises(FileFormatError, match="3 frames for 9000 neighbours"):
        tg.read(path)
    rewrite(path, {}, num_arcs="2999")
    with pytest.raises(FileFormatError, match=r"out_offsets.*ends at 3000"):
        tg.read(path)


def test_other_neighbours_than_those_beside_them_are_found(path: Path) -> None:
    graph = tg.read(path, runtime="numpy")
    store.write(graph, path, neighbors="both")
    rewrite(path, {"out_targets": np.roll(graph.out_targets, 1)})
    with pytest.raises(FileFormatError, match=r"out_coded.*other neighbours"):
        tg.read(path, check="all")


def test_what_cannot_be_coded_is_refused(tmp_path: Path) -> None:
    graph = tg.generate.web_like(50, 4, seed=1)
    with pytest.raises(InvalidArgumentError, match="neighbors='coded' is not for compressed graphs"):
        tg.write(tg.compress(graph), tmp_path / "g.safetensors", neighbors="coded")
    with pytest.raises(InvalidArgumentError, match="neighbors"):
        tg.write(graph, tmp_path / "g.safetensors", neighbors="short")
    with pytest.raises(InvalidArgumentError, match=r"32 bits.*int64"):
        store.coded_tensors("out", np.arange(3))
