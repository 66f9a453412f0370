"""METIS graphs: a line with the counts, then one line of neighbours per vertex, numbered from 1.

The graph is undirected and every edge stands on the lines of both its vertices. Weights of edges are whole numbers;
weights and sizes of vertices are skipped. Vertices are called 1 to n as in the file; a writer numbers them so in their
order, whatever their labels are. Isolated vertices are empty lines, so they are kept. METIS knows no self-loops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
import polars as pl

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io.edge_frame import open_for_writing
from tgraph.io.files import read_bytes
from tgraph.io.one_based import parse_counts, whole_weights
from tgraph.io.table import data_lines, end_of_line
from tgraph.runtime import Array

BLANKS_TO_LINES = bytes.maketrans(b" \t\r\v\f", b"\n\n\n\n\n")


def read(path: str | PathLike[str], *, runtime: str | None = None, device: str | None = None) -> Graph:
    r"""Read a METIS graph, maybe compressed (.gz, .zst).

    Args:
        path: The file.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "path.metis")
    ...     _ = file.write_text("% a path and a lonely vertex\n4 2\n2\n1 3\n2\n\n")
    ...     graph = read(file)
    >>> graph.num_vertices, graph.num_edges, graph.vertex_labels.tolist()
    (4, 2, [1, 2, 3, 4])
    """
    content = read_bytes(path)
    number, line = next(data_lines(content, ("%",)), (1, b""))
    where = f"line {number}"
    num_vertices, num_edges, num_skipped, has_weights = _read_header(path, where, line.split())
    body = content[end_of_line(content, number) :]
    del content
    body, line_numbers = _without_comments(body, number + 1)
    counts = _count_words(body)
    if counts.size < num_vertices or counts[num_vertices:].any():
        reason = f"declares {num_vertices} vertices, but {counts.size} lines follow; is the file complete?"
        raise FileFormatError(path, where, reason)
    lines = _Lines(path, line_numbers, counts[:num_vertices], _parse_words(path, body, line_numbers))
    lines = lines.without_first(num_skipped)
    neighbors, weights, degrees = lines.words, None, lines.counts
    if has_weights:
        lines.check(lines.counts % 2 == 0, "has a neighbour without a weight")
        neighbors, weights, degrees = lines.words[::2], lines.words[1::2], lines.counts // 2
    if neighbors.size != 2 * num_edges:
        reason = f"declares {num_edges} edges, but the lines hold {neighbors.size} neighbours, not twice as many"
        raise FileFormatError(path, where, reason)
    rows = np.repeat(np.arange(num_vertices), degrees)
    lines.check_at(rows, (neighbors >= 1) & (neighbors <= num_vertices), "names a vertex outside 1 to the last one")
    lines.check_at(rows, neighbors != rows + 1, "names its own vertex, and METIS knows no self-loops")
    graph = from_edges(rows, neighbors - 1, weights, num_vertices=num_vertices, runtime="numpy")
    _check_symmetric(lines, graph)
    labels = np.arange(1, num_vertices + 1)
    undirected = Graph(graph.adjacency("out"), directed=False, num_edges=num_edges, labels=labels, is_sorted=True)
    return undirected.to(runtime, device)


def write(graph: Graph, path: str | PathLike[str]) -> None:
    r"""Write an undirected graph without self-loops; weights must be whole numbers.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "path.metis")
    ...     write(from_edges([0, 1], [1, 2], directed=False), file)
    ...     file.read_text()
    '3 2\n2\n1 3\n2\n'
    """
    if graph.directed:
        raise InvalidArgumentError("METIS holds undirected graphs and this one is directed; use graph.symmetrize()")
    if graph.has_self_loops:
        raise InvalidArgumentError(
            f"METIS holds no self-loops and this graph has {graph.num_self_loops}; use graph.simplify()"
        )
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    words = targets.astype(np.int64) + 1
    if weights is not None:
        words = np.stack([words, whole_weights(weights, "METIS")], axis=1).ravel()
        offsets = offsets * 2
    frame = pl.DataFrame({"vertex": np.repeat(np.arange(graph.num_vertices), np.diff(offsets)), "word": words})
    joined = frame.group_by("vertex", maintain_order=True).agg(pl.col("word").cast(pl.String).str.join(" "))
    lines = np.full(graph.num_vertices, "", object)
    lines[joined["vertex"].to_numpy()] = joined["word"].to_list()
    with open_for_writing(path) as file:
        file.write(f"{graph.num_vertices} {graph.num_edges}{'' if weights is None else ' 001'}\n".encode())
        file.write(("\n".join(lines.tolist()) + "\n" if lines.size else "").encode())


@dataclass(frozen=True)
class _Lines:
    """The words of one line per vertex."""

    path: str | PathLike[str]
    numbers: Array  # [V] the line's number in the file
    counts: Array  # [V] the words of the line
    words: Array  # of all lines, one behind the other

    def without_first(self, num_skipped: int) -> _Lines:
        """Return the lines without their first words, the sizes and weights of vertices."""
        if not num_skipped:
            return self
        self.check(self.counts >= num_skipped, f"has fewer than the {num_skipped} weights of its vertex")
        starts = np.cumsum(self.counts) - self.counts
        positions = np.arange(self.words.size) - np.repeat(starts, self.counts)
        return replace(self, counts=self.counts - num_skipped, words=self.words[positions >= num_skipped])

    def check(self, is_right: Array, reason: str) -> None:
        """Raise for the first line that is wrong."""
        if not is_right.all():
            raise FileFormatError(self.path, f"line {self.numbers[int(np.argmin(is_right))]}", reason)

    def check_at(self, rows: Array, is_right: Array, reason: str) -> None:
        """Raise for the line of the first neighbour that is wrong."""
        if not is_right.all():
            raise FileFormatError(self.path, f"line {self.numbers[rows[int(np.argmin(is_right))]]}", reason)


def _read_header(path: str | PathLike[str], where: str, fields: list[bytes]) -> tuple[int, int, int, bool]:
    """Return vertices, edges, how many words of each line belong to the vertex, and whether edges have weights."""
    if not 2 <= len(fields) <= 4:
        raise FileFormatError(path, where, "must be '<vertices> <edges> [<format> [<vertex weights>]]'")
    num_vertices, num_edges = parse_counts(path, where, fields[:2])
    code = fields[2].decode(errors="replace") if len(fields) > 2 else "0"
    if not re.fullmatch("[01]{1,3}", code):
        raise FileFormatError(path, where, f"gives the format {code[:40]!r}; it has up to three digits 0 or 1")
    has_sizes, has_vertex_weights, has_weights = (digit == "1" for digit in code.zfill(3))
    num_weights = parse_counts(path, where, fields[3:])[0] if len(fields) > 3 else int(has_vertex_weights)
    if num_weights and not has_vertex_weights:
        raise FileFormatError(path, where, f"gives {num_weights} weights per vertex, but the format {code} has none")
    return num_vertices, num_edges, int(has_sizes) + num_weights, has_weights


def _without_comments(body: bytes, first_line: int) -> tuple[bytes, Array]:
    """Return the body without comment lines, and the numbers of the lines that stay."""
    lines = body.count(b"\n") + (not body.endswith(b"\n") and body != b"")
    if b"%" not in body:
        return body, np.arange(first_line, first_line + lines)
    kept = [(number, line) for number, line in enumerate(body.splitlines(), first_line) if not line.startswith(b"%")]
    return b"".join(line + b"\n" for _, line in kept), np.asarray([number for number, _ in kept], np.int64)


def _count_words(body: bytes) -> Array:
    """Return the number of words on every line."""
    characters = np.frombuffer(body, np.uint8)
    in_word = characters > ord(" ")
    starts = np.flatnonzero(in_word & np.concatenate([[True], ~in_word[:-1]])) if body else np.empty(0, np.int64)
    ends_of_lines = np.flatnonzero(characters == ord("\n"))
    if body and not body.endswith(b"\n"):
        ends_of_lines = np.append(ends_of_lines, len(body))
    return np.diff(np.searchsorted(starts, ends_of_lines), prepend=0)


def _parse_words(path: str | PathLike[str], body: bytes, line_numbers: Array) -> Array:
    """Return all words as integers."""
    try:
        text = body.translate(BLANKS_TO_LINES)
        words = pl.read_csv(text, has_header=False, schema={"word": pl.Int64}, quote_char=None)["word"].drop_nulls()
    except pl.exceptions.PolarsError as error:
        for number, line in zip(line_numbers.tolist(), body.split(b"\n"), strict=False):
            wrong = [word for word in line.split() if not re.fullmatch(rb"[+-]?[0-9]{1,18}", word)]
            if wrong:
                shown = wrong[0][:40].decode(errors="replace")
                reason = f"holds {shown!r}; vertices and weights are whole numbers below 10^18"
                raise FileFormatError(path, f"line {number}", reason) from error
        raise FileFormatError(path, "lines", f"cannot be read ({error})") from error
    return words.to_numpy()


def _check_symmetric(lines: _Lines, graph: Graph) -> None:
    """Raise unless every edge stands on the lines of both its vertices with the same weight."""
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    in_offsets, sources, in_weights = graph.adjacency("in").to_numpy()
    same_degrees = np.diff(offsets) == np.diff(in_offsets)
    reason = "has an edge that the line of its other vertex lacks, or has with another weight"
    lines.check(same_degrees, reason)
    rows = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    lines.check_at(rows, targets == sources, reason)
    if weights is not None and in_weights is not None:
        lines.check_at(rows, weights == in_weights, reason)
