"""GAP's serialised graphs."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io import gap

KEEP_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


def file_bytes(directed: bool, sides: list[tuple[list[int], list[int]]]) -> bytes:
    """The layout by hand: header, then offsets and neighbours per side."""
    content = struct.pack("<?qq", directed, len(sides[0][1]), len(sides[0][0]) - 1)
    for offsets, neighbors in sides:
        content += struct.pack(f"<{len(offsets)}q{len(neighbors)}i", *offsets, *neighbors)
    return content


@KEEP_FOLDER
@given(graph=odd_graphs(weights=("none", "int32")), compression=st.sampled_from(["", ".gz", ".zst"]))
def test_round_trip(tmp_path: Path, graph: tg.Graph, compression: str) -> None:
    path = tmp_path / f"graph{'.wsg' if graph.weighted else '.sg'}{compression}"
    gap.write(graph, path)
    found = gap.read(path)
    assert_same(graph, found)
    np.testing.assert_array_equal(found.in_offsets, graph.in_offsets)
    np.testing.assert_array_equal(found.in_sources, graph.in_sources)


def test_layout_by_hand(tmp_path: Path) -> None:
    directed = file_bytes(True, [([0, 2, 3, 3], [1, 2, 2]), ([0, 0, 1, 3], [0, 0, 1])])
    path = tmp_path / "g.sg"
    path.write_bytes(directed)
    graph = gap.read(path)
    assert graph.out_targets.tolist() == [1, 2, 2]
    assert graph._in is not None
    gap.write(graph, path)
    assert path.read_bytes() == directed


def test_weighted_layout_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "g.wsg"
    gap.write(tg.from_edges([0, 0], [1, 2], [7.0, -9.0], directed=False, num_vertices=3), path)
    assert path.read_bytes() == struct.pack("<?qq4q8i", False, 4, 3, 0, 2, 3, 4, 1, 7, 2, -9, 0, 7, 0, -9)
    assert gap.read(path).num_edges == 2


def test_incoming_rows_that_descend_are_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "g.sg"
    path.write_bytes(file_bytes(True, [([0, 1, 2, 2], [2, 2]), ([0, 0, 0, 2], [1, 0])]))
    assert gap.read(path).in_sources.tolist() == [0, 1]


WRONG = {
    "empty": (b"", "header"),
    "flag": (b"\x05" + file_bytes(True, [([0], []), ([0], [])])[1:], "0 or 1"),
    "cut": (file_bytes(False, [([0, 1, 2], [1, 0])])[:-1], "complete"),
    "longer": (file_bytes(False, [([0, 1, 2], [1, 0])]) + b"\0", "complete"),
    "weighted content": (struct.pack("<?qq2q2i", False, 1, 1, 0, 1, 0, 5), "looks like a .wsg"),
    "huge": (struct.pack("<?qq", False, 2**62, 2**30), "complete"),
    "negative": (struct.pack("<?qq", False, -1, -1), "cannot be"),
    "offsets": (file_bytes(False, [([0, 5, 2], [1, 0])]), "falls from 5 to 2"),
    "neighbours": (file_bytes(False, [([0, 1, 2], [1, 9])]), "holds 9 at position 1"),
    "one direction": (file_bytes(False, [([0, 1, 1], [1])]), "one direction only"),
    "incoming": (file_bytes(True, [([0, 1, 1], [1]), ([0, 1, 1], [1])]), "vertex 0 has 1 incoming"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(tmp_path: Path, name: str) -> None:
    content, reason = WRONG[name]
    (tmp_path / "g.sg").write_bytes(content)
    with pytest.raises(FileFormatError, match=reason):
        gap.read(tmp_path / "g.sg")


@pytest.mark.parametrize("weight", [0.5, 2.0**31, float("nan"), float("inf")])
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, weight: float) -> None:
    with pytest.raises(InvalidArgumentError, match="32 bits"):
        gap.write(tg.from_edges([0], [1], [weight]), tmp_path / "g.wsg")
    with pytest.raises(InvalidArgumentError, match="32 bits"):
        gap.write(tg.from_edges([0], [1], [2**31]), tmp_path / "g.wsg")


def test_names_and_labels_are_refused(tmp_path: Path) -> None:
    plain, weighted = tg.from_edges([0], [1]), tg.from_edges([0], [1], [2])
    with pytest.raises(InvalidArgumentError, match=r"use the ending \.wsg"):
        gap.write(weighted, tmp_path / "g.sg")
    with pytest.raises(InvalidArgumentError, match=r"use the ending \.sg"):
        gap.write(plain, tmp_path / "g.wsg")
    with pytest.raises(InvalidArgumentError, match="relabel"):
        gap.write(tg.from_edges([5], [9]), tmp_path / "g.sg")
    with pytest.raises(InvalidArgumentError, match=r"\.sg"):
        gap.read(tmp_path / "g.bin")


def test_undirected_rows_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "g.sg"
    path.write_bytes(file_bytes(False, [([0, 3, 4, 5], [2, 0, 1, 0, 0])]))
    graph = gap.read(path)
    assert (graph.num_edges, graph.num_self_loops, graph.is_sorted) == (3, 1, False)
    assert graph.out_targets.tolist() == [2, 0, 1, 0, 0]


def test_undirected_weights_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "g.wsg"
    path.write_bytes(struct.pack("<?qq3q4i", False, 2, 2, 0, 1, 2, 1, 7, 0, 8))
    with pytest.raises(FileFormatError, match="one direction only"):
        gap.read(path)
