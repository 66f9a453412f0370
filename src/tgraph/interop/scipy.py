"""From and to SciPy's sparse matrices and arrays. Row i and column j are the vertices i and j."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_csr
from tgraph.graph.build import as_weights
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.runtime import Array


def from_scipy(
    matrix: Any,
    directed: bool = True,
    labels: Any = None,
    weights: str | None = "auto",
    *,
    copy: bool = True,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Return a square sparse matrix of any layout as a graph.

    A stored entry is an edge: explicit zeros are edges of weight 0, and an entry that is stored twice is two edges.
    Only in the layouts bsr and dia, which pad with zeros, is a zero no edge.

    Args:
        matrix: A `scipy.sparse` array or matrix.
        directed: False where the matrix is symmetric and each pair of entries is one edge.
        labels: The user's ids of the rows, or None for 0, 1, 2, ...
        weights: `"auto"`: the entries are the weights, unless they are of type bool. None: no weights.
        copy: False shares the memory of a matrix in the layout csr, which must not be changed any more: column numbers
            of 32 bits, and entries of float32, float64, int32 or int64. What does not fit is copied, and so are the
            offsets of rows, which have 64 bits here, unless they have 64 bits there.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> import scipy.sparse as sp
    >>> from_scipy(sp.coo_array(([1.5, 2.5], ([0, 2], [1, 0])), shape=(3, 3)), runtime="numpy")
    Graph(3 vertices, 2 edges, directed, weighted, numpy on cpu)
    """
    if weights not in ("auto", None):
        raise InvalidArgumentError(f"weights={weights!r} is not known; use 'auto' or None")
    if not hasattr(matrix, "tocoo"):
        raise InvalidArgumentError(f"matrix is a {type(matrix).__name__}; give a scipy.sparse array or matrix")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgumentError(f"matrix has the shape {matrix.shape}; the matrix of a graph is square")
    use_weights = weights == "auto" and matrix.dtype.kind != "b"
    rows = _rows(matrix, use_weights, copy)
    return from_csr(*rows, directed=directed, labels=labels, runtime=runtime, device=device)


def to_scipy(graph: Graph, *, copy: bool = True) -> Any:
    """Return the adjacency matrix as a `scipy.sparse.csr_array`.

    Entries are the weights, or True for a graph without weights; an undirected edge is two entries. Parallel edges
    stay separate entries, which SciPy adds up where it needs to (`sum_duplicates`). Row i belongs to the vertex
    `graph.vertex_labels[i]`.

    Args:
        graph: On the CPU or another device.
        copy: False shares the memory of column numbers and weights with the graph, if it is on the CPU and has fewer
            than 2^31 stored edges; SciPy cannot write to them then. Offsets are copied: SciPy has them in 32 bits.

    >>> import tgraph as tg
    >>> to_scipy(tg.from_edges([0, 1], [1, 2], weights=[5, 7])).toarray().tolist()
    [[0, 5, 0], [0, 0, 7], [0, 0, 0]]
    """
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise MissingDependencyError("scipy", "to_scipy") from error
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    values = np.ones(targets.size, bool) if weights is None else weights
    if targets.size <= np.iinfo(targets.dtype).max:  # SciPy has one type for both
        offsets = offsets.astype(targets.dtype)
    if not copy:
        values, targets = _read_only(values), _read_only(targets)
    return csr_array((values, targets, offsets), shape=(graph.num_vertices, graph.num_vertices), copy=copy)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _rows(matrix: Any, use_weights: bool, copy: bool) -> tuple[Array, Array, Array | None]:
    """Return the rows; with `copy`, later changes of the matrix do not reach the graph."""
    if matrix.format == "csr":
        rows = matrix.indptr, matrix.indices, as_weights(matrix.data) if use_weights else None
        return (rows[0].copy(), rows[1].copy(), None if rows[2] is None else rows[2].copy()) if copy else rows
    if matrix.format == "bsr":
        matrix = matrix.tocsr(copy=True)
        matrix.eliminate_zeros()
    entries = matrix.tocoo()
    weights = as_weights(entries.data) if use_weights else None
    return rows_from_edges(entries.row, entries.col, weights, matrix.shape[0])
