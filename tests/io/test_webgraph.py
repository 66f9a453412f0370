"""WebGraph's formats: BV against an encoder written here for the purpose and a real crawl, and ASCIIGraph."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io import webgraph

KEEP_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
DEFAULTS = {
    "OUTDEGREES": "gamma",
    "REFERENCES": "unary",
    "BLOCK_COUNT": "gamma",
    "BLOCKS": "gamma",
    "RESIDUALS": "zeta",
}
CHOICES = {
    "OUTDEGREES": ["gamma", "delta"],
    "REFERENCES": ["unary", "gamma", "delta"],
    "BLOCK_COUNT": ["unary", "gamma", "delta"],
    "BLOCKS": ["unary", "gamma", "delta"],
    "RESIDUALS": ["gamma", "delta", "zeta", "nibble"],
}


# --- an encoder: strings of 0 and 1 ----------------------------------------------------------------------------------
def unary(value: int) -> str:
    return "0" * value + "1"


def gamma(value: int) -> str:
    binary = f"{value + 1:b}"
    return unary(len(binary) - 1) + binary[1:]


def delta(value: int) -> str:
    binary = f"{value + 1:b}"
    return gamma(len(binary) - 1) + binary[1:]


def zeta(value: int, k: int) -> str:
    h = ((value + 1).bit_length() - 1) // k
    rest, short = value + 1 - 2 ** (h * k), 2 ** (h * k)  # the first `short` values take one bit less
    width = h * k + k
    shifted = rest if rest < short else rest + short
    if rest < short:
        return unary(h) + (f"{shifted:0{width - 1}b}" if width > 1 else "")
    return unary(h) + f"{shifted:0{width}b}"


def nibble(value: int) -> str:
    digits = f"{value:o}"
    return "".join(("1" if i == len(digits) - 1 else "0") + f"{int(digit):03b}" for i, digit in enumerate(digits))


def code(name: str, value: int, k: int) -> str:
    simple = {"unary": unary, "gamma": gamma, "delta": delta, "nibble": nibble}
    return zeta(value, k) if name == "zeta" else simple[name](value)


def natural(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def copy_blocks(reference: list[int], row: set[int]) -> list[int]:
    """Lengths of alternate runs of the reference that are copied and skipped; a run at the end is left out."""
    blocks, keep, length = [], True, 0
    for successor in reference:
        if (successor in row) != keep:
            blocks.append(length)
            keep, length = not keep, 0
        length += 1
    return blocks


def split_intervals(extra: list[int], least: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Maximal runs of at least `least` consecutive successors, and the others."""
    runs: list[list[int]] = []
    for successor in extra:
        if runs and runs[-1][-1] + 1 == successor:
            runs[-1].append(successor)
        else:
            runs.append([successor])
    long = [run for run in runs if least and len(run) >= least]
    return [(run[0], len(run)) for run in long], [one for run in runs if run not in long for one in run]


def encode_row(vertex: int, rows: list[list[int]], distance: int, options: dict[str, Any]) -> str:
    names, k, row = options["codes"], options["zetak"], rows[vertex]
    bits = code(names["OUTDEGREES"], len(row), k)
    if not row:
        return bits
    extra = row
    if options["windowsize"]:
        bits += code(names["REFERENCES"], distance, k)
    if options["windowsize"] and distance:
        reference = rows[vertex - distance]
        blocks = copy_blocks(reference, set(row))
        bits += code(names["BLOCK_COUNT"], len(blocks), k)
        bits += "".join(code(names["BLOCKS"], block - (i > 0), k) for i, block in enumerate(blocks))
        extra = [successor for successor in row if successor not in set(reference)]
    if not extra:
        return bits
    intervals, residuals = split_intervals(extra, options["minintervallength"])
    if options["minintervallength"]:
        bits += gamma(len(intervals))
        following = 0
        for i, (left, length) in enumerate(intervals):
            bits += gamma(left - following - 1) if i else gamma(natural(left - vertex))
            bits += gamma(length - options["minintervallength"])
            following = left + length
    for i, residual in enumerate(residuals):
        gap = residual - residuals[i - 1] - 1 if i else natural(residual - vertex)
        bits += code(names["RESIDUALS"], gap, k)
    return bits


def write_bv(folder: Path, content: bytes, num_vertices: int, num_arcs: int, options: dict[str, Any]) -> Path:
    flags = "|".join(f"{part}_{name.upper()}" for part, name in options["codes"].items() if name != DEFAULTS[part])
    properties = {
        "graphclass": "it.unimi.dsi.webgraph.BVGraph",
        "version": 0,
        "nodes": num_vertices,
        "arcs": num_arcs,
        "compressionflags": flags,
        **{key: options[key] for key in ("windowsize", "minintervallength", "zetak")},
        **options.get("properties", {}),
    }
    lines = [f"{key}={value}" for key, value in properties.items() if value is not None]
    (folder / "g.properties").write_text("\n".join(["#BVGraph properties", *lines, ""]))
    (folder / "g.graph").write_bytes(content)
    return folder / "g.graph"


def encode(rows: list[list[int]], distances: list[int], options: dict[str, Any]) -> bytes:
    bits = "".join(encode_row(vertex, rows, distances[vertex], options) for vertex in range(len(rows)))
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


@st.composite
def encoded(draw: Any) -> tuple[list[list[int]], list[int], dict[str, Any]]:
    """Rows with much in common, so that references, intervals and residuals all occur."""
    num_vertices = draw(st.integers(0, 40))
    rows: list[list[int]] = []
    distances = []
    window = draw(st.integers(0, 4))
    for vertex in range(num_vertices):
        row = set(draw(st.lists(st.integers(0, num_vertices - 1), max_size=6)))
        left = draw(st.integers(0, num_vertices - 1))
        row |= set(range(left, min(left + draw(st.integers(0, 12)), num_vertices)))
        distance = draw(st.integers(0, min(window, vertex)))
        if distance:
            row |= {one for one in rows[vertex - distance] if draw(st.booleans())}
        rows.append(sorted(row) if draw(st.integers(0, 5)) else [])
        distances.append(distance)
    codes = {part: draw(st.sampled_from(names)) for part, names in CHOICES.items()}
    options = {"codes": codes, "windowsize": window, "minintervallength": draw(st.sampled_from([0, 2, 4]))}
    return rows, distances, {**options, "zetak": draw(st.integers(1, 5))}


@KEEP_FOLDER
@given(example=encoded())
def test_bv_decodes_what_was_encoded(tmp_path: Path, example: Any) -> None:
    rows, distances, options = example
    path = write_bv(tmp_path, encode(rows, distances, options), len(rows), sum(map(len, rows)), options)
    graph = webgraph.read(path, runtime="numpy")
    assert [part.tolist() for part in np.split(graph.out_targets, graph.out_offsets[1:-1])][: len(rows)] == rows


@pytest.mark.parametrize("value", [0, 1, 2, 3, 7, 8, 63, 64, 1000, 2**31 - 2])
@pytest.mark.parametrize("name", CHOICES["RESIDUALS"])
def test_codes_of_large_values(value: int, name: str) -> None:
    from tgraph.kernels.cpu.webgraph import CODES, _read_code

    bits = "1" + code(name, value, 3) + "0" * 200
    words = np.array([int(bits[i : i + 64], 2) for i in range(0, len(bits) // 64 * 64, 64)], np.uint64)
    cursor = np.array([1, len(bits) - 200])
    assert _read_code(words, cursor, CODES.index(name), 3) == value
    assert cursor[0] == cursor[1]


OPTIONS: dict[str, Any] = {"codes": DEFAULTS, "windowsize": 7, "minintervallength": 4, "zetak": 3}
ROWS = [[1, 2, 3, 4, 5, 9], [1, 2, 3, 4, 7], [], [0, 1, 2, 9], [8], [], [], [0, 9], [1], [0]]
DISTANCES = [0, 1, 0, 2, 0, 0, 0, 0, 0, 2]


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60), num_vertices=st.integers(0, 60), num_arcs=st.integers(0, 400))
def test_random_bytes_never_do_more_than_raise(
    tmp_path: Path, content: bytes, num_vertices: int, num_arcs: int
) -> None:
    path = write_bv(tmp_path, content, num_vertices, num_arcs, OPTIONS)
    with contextlib.suppress(FileFormatError):
        webgraph.read(path).check()


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flip=st.integers(0, 8 * len(encode(ROWS, DISTANCES, OPTIONS)) - 1), cut=st.integers(0, 5))
def test_damaged_files_never_do_more_than_raise(tmp_path: Path, flip: int, cut: int) -> None:
    content = bytearray(encode(ROWS, DISTANCES, OPTIONS))
    content[flip // 8] ^= 1 << flip % 8
    path = write_bv(tmp_path, bytes(content[: len(content) - cut]), len(ROWS), sum(map(len, ROWS)), OPTIONS)
    with contextlib.suppress(FileFormatError):
        webgraph.read(path).check()


BITS = {
    "end": ("1" + gamma(1) + "0" * 8, "vertex 1, bit [0-9]+: a code runs past the end"),
    "zeros": ("0" * 80, "past the end"),
    "degree": (gamma(11), "more successors than there are vertices"),
    "arcs": (gamma(9), "more arcs than the properties say"),
    "reference": (gamma(1) + unary(1), "reference leads before"),
    "interval": (gamma(5) + unary(0) + gamma(1) + gamma(0) + gamma(9), "exceed the outdegree"),
    "left": (gamma(5) + unary(0) + gamma(1) + gamma(1) + gamma(0), "outside the vertices"),
    "residual": (gamma(1) + unary(0) + gamma(0) + zeta(natural(10), 3), "outside the vertices"),
    "too few": ("1" * 10, "there are 0 arcs; the properties say 8"),
}


@pytest.mark.parametrize("name", BITS)
def test_errors_say_where(tmp_path: Path, name: str) -> None:
    bits, reason = BITS[name]
    bits += "0" * (max(16, len(bits) + -len(bits) % 8) - len(bits))  # ten vertices need ten bits at least
    content = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
    path = write_bv(tmp_path, content, 10, 8, OPTIONS)
    with pytest.raises(FileFormatError, match=reason):
        webgraph.read(path)


def test_names_without_ending(tmp_path: Path) -> None:
    write_bv(tmp_path, encode(ROWS, DISTANCES, OPTIONS), len(ROWS), sum(map(len, ROWS)), OPTIONS)
    (tmp_path / "text.graph-txt").write_text("1\n0\n")
    assert webgraph.read(tmp_path / "g").num_vertices == len(ROWS)
    assert webgraph.read(str(tmp_path / "text")).num_self_loops == 1
    with pytest.raises(FileNotFoundError, match=r"absent with one of the endings \.graph"):
        webgraph.read(tmp_path / "absent")


def test_no_vertices(tmp_path: Path) -> None:
    assert webgraph.read(write_bv(tmp_path, b"", 0, 0, OPTIONS)).num_vertices == 0


PROPERTIES: dict[str, tuple[dict[str, Any], str]] = {
    "class": ({"graphclass": "it.unimi.dsi.webgraph.EFGraph"}, "only BVGraph"),
    "version": ({"version": 3}, "version 0"),
    "endianness": ({"endianness": "little"}, "big-endian"),
    "no nodes": ({"nodes": None}, "nodes: is None"),
    "many nodes": ({"nodes": 10**15}, "too few for"),
    "negative": ({"arcs": -1}, "whole number"),
    "many arcs": ({"arcs": 101}, "cannot have"),
    "zetak": ({"zetak": 0}, "from 1 to 30"),
    "flag": ({"compressionflags": "RESIDUALS_GOLOMB"}, "'RESIDUALS_GOLOMB' is not known"),
    "arcs": ({"arcs": 30}, "the properties say 30"),
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_are_checked(tmp_path: Path, name: str) -> None:
    changes, reason = PROPERTIES[name]
    options = {**OPTIONS, "properties": changes}
    path = write_bv(tmp_path, encode(ROWS, DISTANCES, OPTIONS), len(ROWS), sum(map(len, ROWS)), options)
    with pytest.raises(FileFormatError, match=reason):
        webgraph.read(path)


def test_properties_must_be_there_and_bv_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "g.graph").write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match=r"g\.properties is absent"):
        webgraph.read(tmp_path / "g.graph")
    with pytest.raises(InvalidArgumentError, match="only read"):
        webgraph.write(tg.from_edges([0], [1]), tmp_path / "h.graph")


# --- ASCIIGraph ------------------------------------------------------------------------------------------------------
@KEEP_FOLDER
@given(graph=odd_graphs(weights=("none",)), compression=st.sampled_from(["", ".gz", ".zst"]))
def test_ascii_round_trip(tmp_path: Path, graph: tg.Graph, compression: str) -> None:
    graph = graph.simplify()
    path = tmp_path / f"g.graph-txt{compression}"
    webgraph.write(graph, path)
    assert_same(graph, webgraph.read(path, directed=graph.directed))


@pytest.mark.parametrize("text", ["3\n1 2\n\n0\n", "3\r\n1 2\r\n\r\n0\r\n", "3\n 1\t2 \n\n0", "3\n1 2\n\n0\n\n \n"])
def test_ascii_blanks(tmp_path: Path, text: str) -> None:
    (tmp_path / "g.graph-txt").write_bytes(text.encode())
    graph = webgraph.read(tmp_path / "g.graph-txt", runtime="numpy")
    assert (graph.out_offsets.tolist(), graph.out_targets.tolist()) == ([0, 2, 2, 3], [1, 2, 0])


def test_ascii_sorts_and_refuses(tmp_path: Path) -> None:
    path = tmp_path / "g.graph-txt"
    webgraph.write(tg.from_csr([0, 2, 3, 3], [2, 1, 1]), path)
    assert path.read_text() == "3\n1 2\n1\n\n"
    with pytest.raises(InvalidArgumentError, match="0 -> 1 occurs more than once"):
        webgraph.write(tg.from_edges([0, 0], [1, 1]), path)
    with pytest.raises(InvalidArgumentError, match="weights"):
        webgraph.write(tg.from_edges([0], [1], [2.0]), path)
    with pytest.raises(InvalidArgumentError, match="labels"):
        webgraph.write(tg.from_edges([5], [7]), path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1"),
        ("three\n", "line 1"),
        ("3\n1\n", "line 2: the file ends before vertex 1"),
        ("2\n1\nx\n", "line 3: 'x'"),
        ("2\n1\n-1\n", "line 3: '-'"),
        ("2\n1\n0\n1\n", "line 4: there are successors behind vertex 1"),
        ("2\n1\n2\n", "holds 2 at position 1"),
        ("2\n99999999999999999999999\n\n", "position 0"),
        ("99999999999999999\n", "ends before vertex 0"),
    ],
)
def test_ascii_errors(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "g.graph-txt").write_text(text)
    with pytest.raises(FileFormatError, match=reason):
        webgraph.read(tmp_path / "g.graph-txt")


# --- a real crawl ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def crawl(shared_data: Path) -> tg.Graph:
    return webgraph.read(shared_data / "cnr-2000" / "cnr-2000.graph", runtime="numpy")


def test_crawl_has_its_size_and_components(crawl: tg.Graph, shared_data: Path) -> None:
    assert (crawl.num_vertices, crawl.num_edges, crawl.is_sorted) == (325_557, 3_216_152, True)
    ones = np.ones(crawl.num_arcs, np.int8)
    matrix = sp.csr_array((ones, crawl.out_targets, crawl.out_offsets), shape=(crawl.num_vertices,) * 2)
    count, components = connected_components(matrix, connection="strong")
    expected = np.fromfile(shared_data / "cnr-2000" / "cnr-2000.scc", ">i4").astype(np.int64)
    pairs = np.unique(components.astype(np.int64) * crawl.num_vertices + expected)
    assert count == len(np.unique(expected)) == len(pairs) == 100_977


def test_crawl_as_text_is_the_same_but_for_the_numbering(crawl: tg.Graph, shared_data: Path) -> None:
    text = webgraph.read(shared_data / "cnr-2000" / "cnr-2000.graph-txt.gz", runtime="numpy")
    assert (text.num_vertices, text.num_edges) == (crawl.num_vertices, crawl.num_edges)
    assert not np.array_equal(text.out_targets, crawl.out_targets)
    pairs = [np.stack([one.out_degrees(), one.in_degrees()], axis=1) for one in (text, crawl)]
    np.testing.assert_array_equal(*(pair[np.lexsort(pair.T)] for pair in pairs))
    assert text.num_self_loops == crawl.num_self_loops
