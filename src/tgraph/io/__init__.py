"""Reading and writing graphs, one file per format; the file's ending says which.

| ending | format |
|---|---|
| `.txt` `.edges` `.edgelist` `.csv` `.tsv` `.el` `.wel`, a `.tar.gz` of one file | `text`: lines of edges |
| `.parquet` `.arrow` `.feather` | `parquet`: a table of edges |
| `.mtx` | `matrix_market` |
| `.metis`, `.graph` without a `.properties` file beside it | `metis` |
| `.gr` | `dimacs` |
| `.v` `.e` `.properties`, or the name without ending | `ldbc`: LDBC Graphalytics |
| `.sg` `.wsg` | `gap`: the GAP suite's serialized graphs |
| `.graph` with a `.properties` file beside it, `.graph-txt` | `webgraph` |
| `.npz` | `npz`: SciPy's sparse matrices |
| `.safetensors` | `store`: tgraph's own, mapped into memory |

All but the last may also end in `.gz` or `.zst` where the format is read as a whole.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from tgraph.errors import InvalidArgumentError, check_choice, check_graph
from tgraph.graph import Graph
from tgraph.group import current
from tgraph.io.files import split_ending

__all__ = ["FORMATS", "check_file", "find_format", "format_of", "read", "write"]

FORMAT_OF_ENDING = {
    ".txt": "text",
    ".edges": "text",
    ".edgelist": "text",
    ".csv": "text",
    ".tsv": "text",
    ".el": "text",
    ".wel": "text",
    ".tar": "text",
    ".parquet": "parquet",
    ".arrow": "parquet",
    ".feather": "parquet",
    ".mtx": "matrix_market",
    ".metis": "metis",
    ".graph": "metis",
    ".gr": "dimacs",
    ".v": "ldbc",
    ".e": "ldbc",
    ".properties": "ldbc",
    ".npz": "npz",
    ".sg": "gap",
    ".wsg": "gap",
    ".graph-txt": "webgraph",
    ".safetensors": "store",
}
FORMATS = (*dict.fromkeys(FORMAT_OF_ENDING.values()),)
FORMATS_OF_SEVERAL_FILES = ("ldbc", "webgraph")  # these may be named without an ending


def read(path: str | PathLike[str], format: str | None = None, **options: Any) -> Graph:
    r"""Read a graph from a file; in `with tgraph.distributed():`, this rank's part of it.

    Args:
        path: The file; its ending says the format, before a `.gz` or `.zst`.
        format: The format's name where the ending does not say it.
        **options: Those of the format's own `read`, such as `directed` for lines of text; `runtime` and `device` of
            the graph's tensors for all.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "votes.txt")
    ...     _ = file.write_text("# from to\n30\t1412\n30\t3352\n")
    ...     read(file, runtime="numpy")
    Graph(3 vertices, 2 edges, directed, unweighted, labelled, numpy on cpu)
    """
    name = format_of(path, format)
    if name not in FORMATS_OF_SEVERAL_FILES:
        check_file(path)
    elif name == "webgraph" and split_ending(path)[0] == ".properties":
        path = Path(path).with_suffix(".graph")
    function: Callable[..., Graph] = importlib.import_module(f"tgraph.io.{name}").read
    _check_options(name, "read", function, options)
    group = current()
    if group is not None:
        from tgraph.io.shards import read_part

        return read_part(path, name, group, function, options)
    return function(path, **options)


def write(graph: Graph, path: str | PathLike[str], format: str | None = None, **options: Any) -> None:
    """Write a graph to a file, which appears under its name only when it is complete.

    Args:
        graph: The graph.
        path: The file; its ending says the format. A `.gz` or `.zst` behind it compresses.
        format: The format's name where the ending does not say it.
        **options: Those of the format's own `write`.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "edges.tsv.gz")
    ...     write(from_edges(["a", "b"], ["b", "c"]), file)
    ...     read(file).num_edges
    2
    """
    check_graph(graph)
    name = format_of(path, format)
    function = getattr(importlib.import_module(f"tgraph.io.{name}"), "write", None)
    if function is None:
        raise InvalidArgumentError(f"format {name!r} of {path} is only read, not written; use .safetensors or .txt")
    _check_options(name, "write", function, options)
    function(graph, path, **options)


def find_format(path: str | PathLike[str]) -> str:
    """Return the name of the format that a path's ending, or the files beside it, stand for.

    >>> find_format("roads.mtx.gz"), find_format("web.el")
    ('matrix_market', 'text')
    """
    ending = split_ending(path)[0]
    base = str(path)[: -len(ending)]
    if ending in (".graph", ".properties") and Path(f"{base}.graph").exists() and Path(f"{base}.properties").exists():
        return "webgraph"
    if ending in FORMAT_OF_ENDING:
        return FORMAT_OF_ENDING[ending]
    if not Path(path).exists() and importlib.import_module("tgraph.io.ldbc").has_files(path):
        return "ldbc"
    if ending in (".graphml", ".gexf"):
        raise InvalidArgumentError(
            f"{path}: use tgraph.read_{ending[1:]} or tgraph.write_{ending[1:]}, through NetworkX"
        )
    known = " ".join(FORMAT_OF_ENDING)
    raise InvalidArgumentError(f"the ending {ending!r} of {path} is not known; use one of {known}, or give format=")


def check_file(path: str | PathLike[str]) -> None:
    """Raise unless there is a file at `path`."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the file of the graph in it")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist; check the path, relative to {Path.cwd()}")


def format_of(path: str | PathLike[str], format: str | None) -> str:
    """Return the name of the format that was asked for, or else that of the path."""
    if format is None:
        return find_format(path)
    check_choice("format", format, FORMATS)
    return format


def _check_options(name: str, action: str, function: Callable[..., Any], options: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            takes = "takes " + ", ".join(known) if known else "takes no options"
            raise InvalidArgumentError(f"{option}={options[option]!r} is no option: to {action} {name!r} {takes}")
