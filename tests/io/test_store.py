"""The native file: what is written comes back, mapped; anything else is refused with a reason."""

from __future__ import annotations

import contextlib
import json
import os
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

KEEP_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
METADATA = {"format": "tgraph", "version": "1", "directed": "true", "num_edges": "3", "is_sorted": "true"}


def tensors(**changes: Any) -> dict[str, Any]:
    rows = {"out_offsets": np.array([0, 2, 3, 3]), "out_targets": np.array([1, 2, 0], np.int32)}
    return {name: array for name, array in {**rows, **changes}.items() if array is not None}


@KEEP_FOLDER
@given(graph=odd_graphs(labels=("none", "integers", "strings")), reverse=st.booleans())
def test_round_trip(tmp_path: Path, graph: tg.Graph, reverse: bool) -> None:
    path = tmp_path / "graph.safetensors"
    store.write(graph, path, reverse=reverse)
    for runtime in ("numpy", "torch"):
        found = store.read(path, check="all", runtime=runtime)
        assert_same(graph, found)
        assert found.is_sorted == graph.is_sorted
        assert (found._in is not None) == (reverse or not graph.directed)


def test_keeps_types_and_unsorted_rows(tmp_path: Path) -> None:
    graph = tg.from_csr([0, 2, 3], [1, 0, 1], np.array([1, 2, 3], np.float32))
    store.write(graph, tmp_path / "g.safetensors")
    found = store.read(tmp_path / "g.safetensors", runtime="numpy")
    assert not found.is_sorted
    assert found.weights.dtype == np.float32
    assert found.out_targets.tolist() == [1, 0, 1]


def test_the_library_reads_it_and_tensors_are_aligned(tmp_path: Path) -> None:
    graph = tg.from_edges(["a", "bé", "c"], ["c", "a", "a"], np.array([1, 2, 3], np.int32))
    store.write(graph, tmp_path / "g.safetensors", reverse=True)
    loaded = load_file(tmp_path / "g.safetensors")
    rows = {"out_offsets", "out_targets", "weights", "in_offsets", "in_sources", "in_weights"}
    assert set(loaded) == rows | {"vertex_label_bytes", "vertex_label_offsets"}
    assert bytes(loaded["vertex_label_bytes"]).decode() == "abéc"
    found = store.read(tmp_path / "g.safetensors", runtime="numpy")
    assert found.out_offsets.flags.aligned
    assert found.weights.flags.aligned


def test_reads_what_the_library_writes(tmp_path: Path) -> None:
    extra = np.zeros((3, 3), np.float32)  # a stranger's tensor of odd shape is left alone
    save_file(tensors(features=extra, vertex_labels=np.array([5, 7, -1])), tmp_path / "g.safetensors", METADATA)
    found = store.read(tmp_path / "g.safetensors", check="all")
    assert found.vertex_labels is not None
    assert found.vertex_labels.tolist() == [5, 7, -1]


@pytest.mark.parametrize("runtime", ["numpy", "torch"])
def test_memory_is_mapped_and_the_file_never_changes(tmp_path: Path, runtime: str) -> None:
    path = tmp_path / "g.safetensors"
    store.write(tg.from_edges([0, 1, 2], [1, 2, 0]), path)
    before = path.read_bytes()
    found = store.read(path, runtime=runtime)
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(path) in maps.read_text()
    found.out_targets[0] = 2  # not allowed, and even so the file stays
    assert path.read_bytes() == before
    assert store.read(path).out_targets.tolist() == [1, 2, 0]


def test_a_file_larger_than_memory_opens(tmp_path: Path) -> None:
    if not hasattr(os, "sysconf") or os.uname().sysname != "Linux":
        pytest.skip("asks Linux how much memory there is")
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    num_arcs = memory_bytes // 2  # of 4 bytes each: twice the memory
    header = {
        "__metadata__": {**METADATA, "num_edges": str(num_arcs)},
        "out_offsets": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]},
        "out_targets": {"dtype": "I32", "shape": [num_arcs], "data_offsets": [24, 24 + 4 * num_arcs]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = tmp_path / "g.safetensors"
    try:
        with path.open("wb") as file:  # a file with a hole: it takes no space
            file.write(len(text).to_bytes(8, "little") + text + np.array([0, 1, num_arcs]).tobytes())
            file.truncate(8 + len(text) + 24 + 4 * num_arcs)
    except OSError as error:
        pytest.skip(f"the file system refuses a file of {4 * num_arcs} bytes: {error}")
    found = store.read(path, check="offsets")
    assert found.num_arcs == num_arcs
    assert found.out_targets[num_arcs - 1] == 0


WRONG: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "another format": ({}, {"format": "pt"}, "not a graph"),
    "future version": ({}, {"version": "2"}, "update tgraph"),
    "no directed": ({}, {"directed": "maybe"}, "directed"),
    "num_edges no number": ({}, {"num_edges": "true"}, "num_edges"),
    "num_edges wrong": ({}, {"num_edges": "4"}, "num_edges is 4"),
    "num_edges too small": ({}, {"num_edges": "1", "directed": "false"}, "num_edges is 1"),
    "no targets": ({"out_targets": None}, {}, "out_targets: is missing"),
    "offsets of int32": ({"out_offsets": np.array([0, 2, 3, 3], np.int32)}, {}, "is I32"),
    "targets of float": ({"out_targets": np.array([1, 2, 0], np.float32)}, {}, "is F32"),
    "targets too wide": ({"out_targets": np.array([1, 2, 0])}, {}, "need int32"),
    "offsets of 2-D": ({"out_offsets": np.array([[0, 2], [3, 3]])}, {}, "2 dimensions"),
    "offsets empty": ({"out_offsets": np.empty(0, np.int64)}, {}, "is empty"),
    "offsets start": ({"out_offsets": np.array([1, 2, 3, 3])}, {}, "starts at 1"),
    "offsets fall": ({"out_offsets": np.array([0, 3, 2, 3])}, {}, "at vertex 1"),
    "offsets end": ({"out_offsets": np.array([0, 2, 3, 9])}, {}, "ends at 9"),
    "weights short": ({"weights": np.array([1.0])}, {}, "1 entries for 3 edges"),
    "weights of bool": ({"weights": np.array([True] * 3)}, {}, "is BOOL"),
    "labels short": ({"vertex_labels": np.array([1])}, {}, "1 entries for 3 vertices"),
    "labels no UTF-8": (
        {"vertex_label_bytes": np.array([255, 97, 97], np.uint8), "vertex_label_offsets": np.arange(4)},
        {},
        "UTF-8",
    ),
    "label offsets": ({"vertex_label_bytes": np.array([97], np.uint8)}, {}, "vertex_label_offsets: is missing"),
    "reverse half": ({"in_offsets": np.array([0, 1, 2, 3])}, {}, "in_sources: is missing"),
    "reverse smaller": (
        {"in_offsets": np.array([0, 1]), "in_sources": np.array([0], np.int32)},
        {},
        "incoming edges",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(tmp_path: Path, name: str) -> None:
    changes, metadata, reason = WRONG[name]
    path = tmp_path / "g.safetensors"
    save_file(tensors(**changes), path, {**METADATA, **metadata})
    with pytest.raises(FileFormatError, match=reason):
        store.read(path)


def test_check_finds_what_opening_does_not(tmp_path: Path) -> None:
    path = tmp_path / "g.safetensors"
    save_file(tensors(out_targets=np.array([1, 77, 0], np.int32)), path, METADATA)
    assert store.read(path, check="offsets").num_arcs == 3
    for check in ("bounds", "all"):
        with pytest.raises(FileFormatError, match="77"):
            store.read(path, check=check)


@KEEP_FOLDER
@given(cut=st.integers(0, 400), flip=st.integers(0, 3000))
def test_damaged_bytes_never_do_more_than_raise(tmp_path: Path, cut: int, flip: int) -> None:
    path = tmp_path / "g.safetensors"
    store.write(tg.from_edges(["a", "b"], ["b", "c"], [1.0, 2.0]), path)
    content = bytearray(path.read_bytes())
    content[flip % len(content)] ^= 1 << flip % 8
    path.write_bytes(content[: len(content) - cut])
    with contextlib.suppress(FileFormatError):
        store.read(path, check="all")


def test_refuses_compression_labels_and_absent_files(tmp_path: Path) -> None:
    graph = tg.from_edges([0], [1])
    with pytest.raises(InvalidArgumentError, match="mapped"):
        store.write(graph, tmp_path / "g.safetensors.gz")
    with pytest.raises(InvalidArgumentError, match="mapped"):
        store.read(tmp_path / "g.safetensors.zst")
    with pytest.raises(InvalidArgumentError, match="relabel"):
        store.write(graph.relabel([(0, 1), (2, 3)]), tmp_path / "g.safetensors")
    with pytest.raises(FileNotFoundError):
        store.read(tmp_path / "absent.safetensors")
    (tmp_path / "text.safetensors").write_text("hello, I am a text and no graph")
    with pytest.raises(FileFormatError, match="header"):
        store.read(tmp_path / "text.safetensors")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["text.safetensors"]


def test_nothing_is_copied_where_an_odd_number_of_targets_lies_before_the_weights(tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    tg.write(tg.from_edges([0, 1, 2], [1, 2, 0], np.array([1, 2, 3], np.int32), runtime="numpy"), path)
    weights = tg.read(path, runtime="numpy").weights
    assert weights.ctypes.data % 8 == 4
    assert weights.flags.aligned
    assert not weights.flags.owndata
