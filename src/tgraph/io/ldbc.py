"""LDBC Graphalytics graphs: `name.v` with one vertex id per line, `name.e` with one edge per line, `name.properties`.

Ids are 64-bit integers with gaps. An undirected edge stands in the file once. Isolated vertices are kept.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import polars as pl

from tgraph.errors import FileFormatError, InvalidArgumentError, VertexNotFoundError
from tgraph.graph import Graph, from_edges
from tgraph.io.edge_frame import edge_frame, write_lines
from tgraph.io.files import read_bytes, split_ending, write_bytes
from tgraph.io.table import INTEGER, NUMBER, Table, data_lines, parse_table, row_error
from tgraph.runtime import Array

ENDINGS = (".v", ".e", ".properties")
KNOWN_PROPERTIES = ("vertex-file", "edge-file", "directed", "edge-properties.names", "sssp.weight-property")


def read(
    path: str | PathLike[str],
    *,
    directed: bool | None = None,
    weights: str | None = "auto",
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Read a Graphalytics graph.

    Args:
        path: Any of the three files, or their common name without ending. `.v` and `.e` may be compressed.
        directed: None: as the properties file says, which may be absent only if this is given.
        weights: `"auto"`: if the edge file has more than two columns, the one that the properties name as the weight
            of SSSP, else the third. None: no weights.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny")
    ...     write(from_edges([10, 30], [30, 20], labels=[10, 20, 30, 99], directed=False), file)
    ...     graph = read(file)
    >>> graph.directed, graph.num_edges, graph.vertex_labels.tolist()
    (False, 2, [10, 20, 30, 99])
    """
    if weights not in ("auto", None):
        raise InvalidArgumentError(f"weights={weights!r} is not known; use 'auto' or None")
    prefix = _prefix(path)
    if not any(_find(prefix, ending) for ending in ENDINGS):
        raise FileNotFoundError(f"{path} does not exist; check the path, relative to {Path.cwd()}")
    properties = _read_properties(_find(prefix, ".properties"))
    if directed is None:
        directed = _is_directed(prefix, properties)
    vertex_path = _find(prefix, ".v", properties.get("vertex-file"))
    edge_path = _find(prefix, ".e", properties.get("edge-file"))
    if vertex_path is None or edge_path is None:
        missing = ".v" if vertex_path is None else ".e"
        raise FileNotFoundError(f"{prefix}{missing} does not exist; a Graphalytics graph needs its .v and .e files")
    ids = _read_ids(vertex_path)
    weight_column = None if weights is None else _weight_column(properties)
    return _read_edges(edge_path, ids, directed, weight_column, runtime, device)


def write(graph: Graph, path: str | PathLike[str]) -> None:
    """Write the three files; `path` is any of them, or their common name without ending. Ids must be integers."""
    labels = graph.labels_of(np.arange(graph.num_vertices))
    if labels.dtype.kind != "i":
        raise InvalidArgumentError(
            "LDBC ids are 64-bit integers and the vertex labels are not; use graph.relabel(None) first"
        )
    prefix = _prefix(path)
    compression = split_ending(path)[1] if split_ending(path)[0] in ENDINGS else ""
    _write(f"{prefix}.v{compression}", pl.DataFrame({"vertex": labels}))
    _write(f"{prefix}.e{compression}", edge_frame(graph))
    name = Path(prefix).name
    facts = {
        "vertex-file": f"{name}.v{compression}",
        "edge-file": f"{name}.e{compression}",
        "meta.vertices": graph.num_vertices,
        "meta.edges": graph.num_edges,
        "directed": str(graph.directed).lower(),
    }
    if graph.weighted:
        facts |= {"edge-properties.names": "weight", "edge-properties.types": "real"}
    lines = "".join(f"graph.{name}.{key} = {value}\n" for key, value in facts.items())
    write_bytes(f"{prefix}.properties", lines.encode())


def has_files(path: str | PathLike[str]) -> bool:
    """Say whether `path` is the common name of a vertex file and an edge file."""
    return all(_find(str(path), ending) is not None for ending in (".v", ".e"))


def _write(path: str, frame: pl.DataFrame) -> None:
    write_lines(path, frame, separator=" ")


def _prefix(path: str | PathLike[str]) -> str:
    """Return the path without the ending of one of the three files."""
    ending, compression = split_ending(path)
    return str(path)[: -len(ending + compression)] if ending in ENDINGS else str(path)


def _find(prefix: str, ending: str, name: str | None = None) -> Path | None:
    """Return the file that exists: the one that the properties name, else the one with this ending."""
    beside = Path(prefix).parent
    named = [beside / Path(name).name] if name else []
    candidates = [*named, *(Path(f"{prefix}{ending}{compression}") for compression in ("", ".gz", ".zst"))]
    return next((file for file in candidates if file.is_file()), None)


def _read_properties(path: Path | None) -> dict[str, str]:
    """Return the facts about the graph, by their keys without `graph.<name>.`."""
    if path is None:
        return {}
    facts = {}
    for number, line in data_lines(read_bytes(path), ("#", "!")):
        key, equals, value = line.decode(errors="replace").partition("=")
        if not equals:
            raise FileFormatError(path, f"line {number}", "must be 'key = value'")
        for known in KNOWN_PROPERTIES:
            if key.strip().endswith(f".{known}"):
                facts[known] = value.strip()
    return facts


def _is_directed(prefix: str, properties: dict[str, str]) -> bool:
    answer = properties.get("directed", "").lower()
    if answer not in ("true", "false"):
        said = f"says directed = {answer!r}" if answer else "is absent or does not say whether the graph is directed"
        raise FileFormatError(f"{prefix}.properties", "directed", f"{said}; give directed=True or directed=False")
    return answer == "true"


def _weight_column(properties: dict[str, str]) -> int:
    names = [name.strip() for name in properties.get("edge-properties.names", "").split(",")]
    weight = properties.get("sssp.weight-property")
    return 2 + (names.index(weight) if weight in names else 0)


def _read_ids(path: Path) -> Array:
    content = read_bytes(path)
    table = Table(1, {0: INTEGER}, may_be_wider=True)
    ids: Array = parse_table(path, content, table)[0] if content.strip() else np.empty(0, np.int64)
    order = np.argsort(ids, kind="stable")
    repeated = order[1:][ids[order[1:]] == ids[order[:-1]]]
    if repeated.size:
        raise row_error(path, content, table, int(repeated.min()), f"repeats the vertex {ids[repeated.min()]}")
    return ids


def _read_edges(
    path: Path, ids: Array, directed: bool, weight_column: int | None, runtime: str | None, device: str | None
) -> Graph:
    content = read_bytes(path)
    width = max(2, len(next(data_lines(content, ()), (0, b""))[1].split()))
    wanted = {0: INTEGER, 1: INTEGER}
    if weight_column is not None and width > 2:
        wanted[weight_column] = NUMBER
    table = Table(max(width, *(column + 1 for column in wanted)), wanted, may_be_wider=weight_column is None)
    sources, targets, *weights = parse_table(path, content, table)
    try:
        return from_edges(
            sources, targets, weights[0] if weights else None, directed, labels=ids, runtime=runtime, device=device
        )
    except VertexNotFoundError as error:
        known = np.isin(sources, ids) & np.isin(targets, ids)
        reason = f"names a vertex that the vertex file lacks ({error})"
        raise row_error(path, content, table, int(np.argmin(known)), reason) from error
