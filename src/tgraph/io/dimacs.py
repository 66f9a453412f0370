"""Shortest-path graphs of the ninth DIMACS challenge (`.gr`): `c` comments, `p sp n m`, and `a u v w` for every arc.

Arcs are directed and always have a weight, a whole number. Vertices are called 1 to n as in the file; a writer numbers
them so in their order, whatever their labels are. A graph without weights is written with weights of 1, an undirected
graph with both directions of every edge. Isolated vertices are kept.
"""

from __future__ import annotations

from os import PathLike

import numpy as np
import polars as pl

from tgraph.errors import FileFormatError
from tgraph.graph import Graph
from tgraph.io.edge_frame import write_lines
from tgraph.io.files import read_bytes
from tgraph.io.one_based import build_one_based, parse_counts, whole_weights
from tgraph.io.table import INTEGER, NUMBER, STRING, Table, data_lines, end_of_line, parse_table, row_error

COMMENT = "c"
COLUMNS = {0: STRING, 1: INTEGER, 2: INTEGER, 3: NUMBER}


def read(
    path: str | PathLike[str],
    *,
    directed: bool = True,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    r"""Read a `.gr` file; weights that are no whole numbers are accepted.

    Args:
        path: The file, maybe compressed (.gz, .zst).
        directed: If False, the arcs between two vertices are one undirected edge with the smallest of their weights.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "road.gr")
    ...     _ = file.write_text("c a road\np sp 3 2\na 1 2 7\na 2 1 7\n")
    ...     graph, road = read(file), read(file, directed=False)
    >>> graph.num_vertices, graph.num_edges, road.num_edges, road.weights.tolist()
    (3, 2, 1, [7, 7])
    """
    content = read_bytes(path)
    number, line = next(data_lines(content, (COMMENT,)), (1, b""))
    where = f"line {number}"
    fields = line.split()
    if len(fields) != 4 or fields[0] != b"p":
        raise FileFormatError(path, where, "must be 'p sp <vertices> <arcs>'")
    if fields[1] != b"sp":
        shown = fields[1][:40].decode(errors="replace")
        raise FileFormatError(path, where, f"says problem {shown!r}; only shortest-path graphs ('sp') are read")
    num_vertices, num_arcs = parse_counts(path, where, fields[2:])
    body = content[end_of_line(content, number) :]
    del content
    table = Table(4, COLUMNS, comments=(COMMENT,), seen_comment=COMMENT, first_line=number + 1)
    marks, *columns = parse_table(path, body, table)
    foreign = (marks != "a").arg_max() if len(marks) else None
    if foreign is not None and marks[foreign] != "a":
        raise row_error(path, body, table, foreign, f"begins with {marks[foreign]!r}; lines of arcs begin with 'a'")
    if columns[0].size != num_arcs:
        reason = f"declares {num_arcs} arcs, but the file holds {columns[0].size}; is it complete?"
        raise FileFormatError(path, where, reason)
    kind = {"directed": True} if directed else {"directed": False, "duplicates": "min"}
    return build_one_based(path, body, table, num_vertices, columns, runtime=runtime, device=device, **kind)


def write(graph: Graph, path: str | PathLike[str]) -> None:
    r"""Write a `.gr` file; weights must be whole numbers.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "edge.gr")
    ...     write(from_edges([0], [1], weights=[3]), file)
    ...     file.read_text()
    'p sp 2 1\na 1 2 3\n'
    """
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(1, graph.num_vertices + 1), np.diff(offsets))
    values = np.ones(targets.size, np.int64) if weights is None else whole_weights(weights, "DIMACS .gr")
    columns = {"source": sources, "target": targets.astype(np.int64) + 1, "weight": values}
    frame = pl.DataFrame(columns).select(pl.lit("a").alias("mark"), pl.all())
    write_lines(path, frame, separator=" ", preface=f"p sp {graph.num_vertices} {targets.size}\n")
