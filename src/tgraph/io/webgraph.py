"""WebGraph's formats: BV (`.graph` beside `.properties`) is read, ASCIIGraph (`.graph-txt`) is read and written.

An ASCIIGraph has the number of vertices in its first line and then one line of successors per vertex. BV graphs are
decoded from front to back; `.offsets` files are not needed.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_csr
from tgraph.io.files import read_bytes, split_ending, write_bytes
from tgraph.io.rows import FilePath, check_has_no_labels, check_neighbors
from tgraph.kernels.cpu.webgraph import CODES, STATUSES, decode_bv
from tgraph.runtime import Array

ASCII_ENDING = ".graph-txt"

_DEFAULT_CODES = {
    "OUTDEGREES": "gamma",
    "REFERENCES": "unary",
    "BLOCK_COUNT": "gamma",
    "BLOCKS": "gamma",
    "RESIDUALS": "zeta",
}
_ENDINGS = ("", ".graph", ASCII_ENDING, ASCII_ENDING + ".gz")
_BLANKS = b" \t\r\n\v\f"


def read(path: FilePath, *, directed: bool = True, runtime: str | None = None, device: str | None = None) -> Graph:
    r"""Read a BV graph (`.graph`, with its `.properties` beside it) or an ASCIIGraph (`.graph-txt`).

    Args:
        path: The file, also compressed as `.gz` or `.zst`; or the name that all files of a graph begin with.
        directed: False where every edge is stored in both directions and is one edge.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.graph-txt")
    ...     _ = file.write_text("3\n1 2\n\n0\n")
    ...     read(file, runtime="numpy")
    Graph(3 vertices, 3 edges, directed, unweighted, numpy on cpu)
    """
    path = _find_file(path)
    rows = _read_ascii(path) if split_ending(path)[0] == ASCII_ENDING else _read_bv(path)
    try:
        return from_csr(*rows, directed=directed, runtime=runtime, device=device)
    except ValueError as error:
        raise FileFormatError(path, "successors", str(error)) from error


def write(graph: Graph, path: FilePath) -> None:
    """Write an ASCIIGraph (`.graph-txt`): vertices by number, each successor once, no weights.

    An undirected graph is written with both directions of every edge.
    """
    if split_ending(path)[0] != ASCII_ENDING:
        raise InvalidArgumentError(f"{path} is not written: BV graphs are only read; use the ending {ASCII_ENDING}")
    check_has_no_labels(graph, path)
    if graph.weighted:
        raise InvalidArgumentError(f"the graph has weights, which {path} cannot hold; choose another format")
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    targets = _ascending(offsets, targets)
    texts, bounds = list(map(str, targets.tolist())), offsets.tolist()
    lines = [" ".join(texts[begin:end]) for begin, end in pairwise(bounds)]
    write_bytes(path, "\n".join([str(graph.num_vertices), *lines, ""]).encode())


def _find_file(path: FilePath) -> Path:
    """Return the file of the successors; WebGraph itself names a graph without the ending."""
    found = next((file for ending in _ENDINGS if (file := Path(f"{path}{ending}")).is_file()), None)
    if found is None:
        raise FileNotFoundError(f"there is no file {path} with one of the endings {', '.join(_ENDINGS[1:])}, or none")
    return found


# --- BV --------------------------------------------------------------------------------------------------------------
def _read_bv(path: FilePath) -> tuple[Array, Array]:
    properties = Path(path).with_name(_stem(path) + ".properties")
    if not properties.is_file():
        raise FileFormatError(path, "file", f"a BV graph needs its properties beside it, and {properties} is absent")
    values = _read_properties(properties)
    codes = _read_codes(properties, values)
    content = read_bytes(path)
    num_vertices, num_arcs = _number(properties, values, "nodes"), _number(properties, values, "arcs")
    if num_vertices > 8 * len(content):
        raise FileFormatError(
            path, "file", f"has {len(content)} bytes, too few for the {num_vertices} vertices in {properties.name}"
        )
    if num_arcs > num_vertices**2:
        raise FileFormatError(properties, "arcs", f"is {num_arcs}, which {num_vertices} vertices cannot have")
    window, interval = _number(properties, values, "windowsize", 7), _number(properties, values, "minintervallength", 4)
    zeta_k = _number(properties, values, "zetak", 3)
    if not 1 <= zeta_k <= 30:
        raise FileFormatError(properties, "zetak", f"is {zeta_k}; it must be from 1 to 30")
    try:
        decoded = decode_bv(content, num_vertices, num_arcs, codes, window, interval, zeta_k)
    except MemoryError as error:
        raise FileFormatError(properties, "arcs", f"is {num_arcs}, more than fits in memory") from error
    return _check_decoded(path, decoded, num_arcs)


def _check_decoded(path: FilePath, decoded: tuple[Array, Array, int, int, int], num_arcs: int) -> tuple[Array, Array]:
    offsets, targets, status, vertex, bit = decoded
    if status:
        raise FileFormatError(path, f"vertex {vertex}, bit {bit}", STATUSES[status])
    if offsets[-1] != num_arcs:
        raise FileFormatError(path, f"bit {bit}", f"there are {offsets[-1]} arcs; the properties say {num_arcs}")
    return offsets, targets


def _stem(path: FilePath) -> str:
    name = Path(path).name
    return name[: len(name) - len("".join(split_ending(path)))]


def _read_properties(path: Path) -> dict[str, str]:
    """Return the keys and values of a Java properties file; WebGraph's need no escapes."""
    values = {}
    for line in path.read_text("latin-1").splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.lstrip().startswith(("#", "!")):
            values[key.strip()] = value.strip()
    kind = values.get("graphclass", "").rpartition(".")[2]
    if kind != "BVGraph":
        raise FileFormatError(path, "graphclass", f"is {values.get('graphclass')!r}; only BVGraph is read")
    if values.get("endianness", "big") != "big":
        raise FileFormatError(path, "endianness", f"is {values['endianness']!r}; only big-endian graphs are read")
    if values.get("version", "0") != "0":
        raise FileFormatError(path, "version", f"is {values['version']!r}; only version 0 is known")
    return values


def _number(path: Path, values: dict[str, str], key: str, default: int | None = None) -> int:
    text = values.get(key, "" if default is None else str(default))
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise FileFormatError(path, key, f"is {values.get(key)!r}; it must be a whole number, 0 or more")
    return int(text)


def _read_codes(path: Path, values: dict[str, str]) -> tuple[int, int, int, int, int]:
    """Return the codes of outdegrees, references, block counts, blocks and residuals."""
    chosen = dict(_DEFAULT_CODES)
    for flag in filter(None, map(str.strip, values.get("compressionflags", "").split("|"))):
        part, _, code = flag.rpartition("_")
        if part == "OFFSETS":
            continue  # the .offsets file is not read
        if part not in chosen or code.lower() not in CODES:
            raise FileFormatError(path, "compressionflags", f"{flag!r} is not known to this reader")
        chosen[part] = code.lower()
    first, second, third, fourth, fifth = (CODES.index(code) for code in chosen.values())
    return first, second, third, fourth, fifth


# --- ASCIIGraph ------------------------------------------------------------------------------------------------------
def _read_ascii(path: FilePath) -> tuple[Array, Array]:
    content = read_bytes(path)
    first, _, body = content.partition(b"\n")
    if not first.strip().isdigit() or len(first) > 20:
        raise FileFormatError(path, "line 1", f"is {first[:40]!r}; it must be the number of vertices")
    num_vertices = int(first)
    del content
    symbols = np.frombuffer(body, np.uint8)
    ends = np.flatnonzero(symbols == ord("\n"))
    is_digit = (symbols >= ord("0")) & (symbols <= ord("9"))
    _check_symbols(path, symbols, ends, is_digit)
    starts = np.flatnonzero(is_digit & ~np.concatenate([[False], is_digit[:-1]]))
    if symbols.size and symbols[-1] != ord("\n"):
        ends = np.append(ends, symbols.size)  # a last line without its end
    if ends.size < num_vertices:
        raise FileFormatError(path, f"line {ends.size + 1}", f"the file ends before vertex {ends.size}'s successors")
    offsets = np.concatenate([[0], np.searchsorted(starts, ends[:num_vertices])])
    if offsets[-1] != starts.size:
        raise FileFormatError(
            path, f"line {num_vertices + 2}", f"there are successors behind vertex {num_vertices - 1}"
        )
    targets = np.fromstring(body, np.int64, sep=" ") if starts.size else np.empty(0, np.int64)
    check_neighbors(path, "successors", targets, num_vertices)
    return offsets, targets


def _check_symbols(path: FilePath, symbols: Array, ends: Array, is_digit: Array) -> None:
    known = is_digit.copy()
    for blank in _BLANKS:
        known |= symbols == blank
    if not known.all():
        position = int(np.argmin(known))
        line = int(np.searchsorted(ends, position)) + 2
        raise FileFormatError(path, f"line {line}", f"{chr(symbols[position])!r} is neither a digit nor a blank")


def _ascending(offsets: Array, targets: Array) -> Array:
    """Return the targets with ascending rows; raise where one occurs twice, which WebGraph cannot hold."""
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    targets = targets[np.lexsort((targets, owners))]
    twice = np.flatnonzero((targets[1:] == targets[:-1]) & (owners[1:] == owners[:-1]))
    if twice.size:
        edge = f"{owners[twice[0]]} -> {targets[twice[0]]}"
        raise InvalidArgumentError(f"the edge {edge} occurs more than once; write graph.simplify()")
    return targets
