"""Sparse matrices as SciPy saves them (`.npz`), read and written without SciPy.

Row i and column j of the matrix are the vertices i and j; a stored entry is an edge, explicit zeros included, and an
entry that is stored twice is two edges. SciPy ignores the two extra arrays that `write` adds: `vertex_labels` and
`directed`.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_csr
from tgraph.graph.build import as_weights
from tgraph.io.files import read_bytes, replacing, split_ending, write_bytes
from tgraph.io.rows import FilePath, check_neighbors, check_offsets
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.runtime import Array

_ARRAYS = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}


def read(
    path: FilePath,
    *,
    weights: str | None = "auto",
    directed: bool | None = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Read a square sparse matrix in the layouts csr, csc or coo as a graph.

    Args:
        path: A file of `scipy.sparse.save_npz` or of `write`.
        weights: `"auto"`: the entries are the weights, unless they are of type bool. None: no weights.
        directed: False where the matrix is symmetric and each pair of entries is one edge. None: what the file says
            (only `write` says it), else True.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(tg.from_edges(["ann", "bob"], ["bob", "cy"], weights=[1.5, 2.5]), folder + "/small.npz")
    ...     read(folder + "/small.npz", runtime="numpy")
    Graph(3 vertices, 2 edges, directed, weighted, labelled, numpy on cpu)
    """
    if weights not in ("auto", None):
        raise InvalidArgumentError(f"weights={weights!r} is not known; use 'auto' or None")
    arrays = _load(path)
    kind, num_vertices = _read_kind(path, arrays)
    values = _array(path, arrays, "data")
    if directed is None:
        directed = bool(_array(path, arrays, "directed", ndim=0)) if "directed" in arrays else True
    try:
        edge_weights = None if weights is None or values.dtype.kind == "b" else as_weights(values)
        rows = _read_rows(path, kind, num_vertices, arrays, edge_weights)
        labels = arrays.get("vertex_labels")
        return from_csr(*rows, directed=directed, labels=labels, runtime=runtime, device=device)
    except FileFormatError:
        raise
    except ValueError as error:
        raise FileFormatError(path, "matrix", str(error)) from error


def write(graph: Graph, path: FilePath) -> None:
    """Write the adjacency matrix in the layout csr, which `scipy.sparse.load_npz` reads.

    Entries are the weights, or True for a graph without weights. An undirected edge is two entries.
    """
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([graph.num_vertices, graph.num_vertices]),
        "data": np.ones(targets.size, bool) if weights is None else weights,
        "indices": targets,
        "indptr": offsets,
        "directed": np.array(graph.directed),
    }
    if graph.vertex_labels is not None:
        arrays["vertex_labels"] = _storable_labels(graph.vertex_labels)
    if split_ending(path)[1]:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        write_bytes(path, buffer.getvalue())
        return
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _read_rows(
    path: FilePath, kind: str, num_vertices: int, arrays: Mapping[str, Array], values: Array | None
) -> tuple[Array, Array, Array | None]:
    """Return offsets, targets and weights of a matrix given by the arrays of its layout (csr, csc or coo)."""
    first, second = (_integers(path, arrays, name) for name in _ARRAYS[kind])
    if values is not None and values.size != second.size:
        raise FileFormatError(path, "data", f"has {values.size} entries for {second.size} positions")
    check_neighbors(path, _ARRAYS[kind][1], second, num_vertices)
    if kind == "coo":
        check_neighbors(path, "row", first, num_vertices)
        if first.size != second.size:
            raise FileFormatError(path, "row", f"has {first.size} entries, col has {second.size}")
        return rows_from_edges(first, second, values, num_vertices)
    check_offsets(path, "indptr", first, second.size)
    if first.size != num_vertices + 1:
        raise FileFormatError(path, "indptr", f"has {first.size} entries for {num_vertices} vertices")
    if kind == "csr":
        return first, second, values
    columns = np.repeat(np.arange(num_vertices, dtype=second.dtype), np.diff(first))
    return rows_from_edges(second, columns, values, num_vertices)


def _load(path: FilePath) -> dict[str, Array]:
    """Return all arrays; objects, which only pickle could restore, are refused."""
    compressed = split_ending(path)[1] != ""
    with io.BytesIO(read_bytes(path)) if compressed else open(path, "rb") as file:
        try:
            opened = np.load(file, allow_pickle=False)
            if isinstance(opened, np.ndarray):
                raise FileFormatError(path, "file", "holds one array (.npy), not a sparse matrix (.npz)")
            arrays: dict[str, Array] = {name: opened[name] for name in opened.files}
        except FileFormatError:
            raise
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, MemoryError) as error:
            raise FileFormatError(path, "file", f"is not an .npz file of plain arrays: {error}") from error
    return {name: array.astype(array.dtype.newbyteorder("="), copy=False) for name, array in arrays.items()}


def _read_kind(path: FilePath, arrays: dict[str, Array]) -> tuple[str, int]:
    """Return the layout and the number of vertices."""
    label = _array(path, arrays, "format", ndim=0).item()
    kind = label.decode("ascii", "replace") if isinstance(label, bytes) else str(label)
    if kind not in _ARRAYS:
        raise FileFormatError(path, "format", f"is {kind!r}; save the matrix as one of csr, csc, coo")
    shape = _integers(path, arrays, "shape").tolist()
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 0:
        raise FileFormatError(path, "shape", f"is {tuple(shape)}; the matrix of a graph is square")
    return kind, shape[0]


def _array(path: FilePath, arrays: Mapping[str, Array], name: str, ndim: int = 1) -> Array:
    if name not in arrays:
        raise FileFormatError(path, name, "is missing; was the file written by scipy.sparse.save_npz?")
    if arrays[name].ndim != ndim:
        raise FileFormatError(path, name, f"has {arrays[name].ndim} dimensions, not {ndim}")
    return arrays[name]


def _integers(path: FilePath, arrays: Mapping[str, Array], name: str) -> Array:
    array = _array(path, arrays, name)
    if array.dtype.kind not in "iu":
        raise FileFormatError(path, name, f"holds {array.dtype.name}, not integers")
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


def _storable_labels(labels: Array) -> Array:
    if labels.dtype.kind == "i":
        return labels
    if labels.dtype.kind != "T":
        kind = type(labels[0]).__name__ if labels.size else labels.dtype.name
        raise InvalidArgumentError(
            f"the vertex labels are of type {kind}; a file holds integers or strings: use graph.relabel(str)"
        )
    fixed = np.array(labels.tolist(), np.str_)
    if (fixed.astype(labels.dtype) != labels).any():
        raise InvalidArgumentError("a vertex label ends in a NUL character, which .npz files lose; use graph.relabel()")
    return fixed
