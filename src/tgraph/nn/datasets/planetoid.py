"""Citation graphs in the format of Planetoid: eight pickles and a text, `ind.<name>.x` and so on.

They hold SciPy and NumPy objects. Only these are unpickled, without SciPy: a file that asks for anything else is
refused, since a pickle could run any code.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.runtime import Array

NUM_VALIDATION = 500  # vertices after those to train on, as the papers take them


@dataclass(frozen=True)
class LabelledVertices:
    """A graph whose vertices have features and a class each, and which of them are for what."""

    graph: Graph
    features: Tensor  # [V, F] float32
    classes: Tensor  # [V] int64
    train: Tensor  # vertex numbers
    validation: Tensor
    test: Tensor

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return int(self.classes.max()) + 1

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(getattr(self, name)):,} {name}" for name in ("train", "validation", "test"))
        width = f"{self.features.shape[1]:,} features, {self.num_classes} classes"
        return f"LabelledVertices({self.graph!r}, {width}, {sizes})"


def read_planetoid(folder: str | PathLike[str], name: str | None = None) -> LabelledVertices:
    """Read a citation graph (Cora, PubMed, CiteSeer) with the split of its papers.

    Every row of features is divided by its sum. Test vertices that have no row (CiteSeer has some) get features of 0.

    Args:
        folder: Where `ind.<name>.x`, `.tx`, `.allx`, `.y`, `.ty`, `.ally`, `.graph` and `.test.index` are.
        name: That of the graph; the folder's name unless given.
    """
    path = Path(folder)
    stem = path / f"ind.{name or path.name}"
    if not Path(f"{stem}.graph").exists():
        raise InvalidArgumentError(f"{stem}.graph does not exist; give the folder of such files, and their name=")
    parts = {part: _unpickle(Path(f"{stem}.{part}")) for part in ("x", "tx", "allx", "y", "ty", "ally", "graph")}
    test = np.sort(rows := _read_numbers(Path(f"{stem}.test.index")))
    features, classes = _join(parts, rows)
    num_vertices = features.shape[0]
    graph = _read_graph(Path(f"{stem}.graph"), parts["graph"], num_vertices)
    num_train = parts["y"].shape[0]
    return LabelledVertices(
        graph,
        torch.from_numpy(features / np.maximum(features.sum(axis=1, keepdims=True), np.float32(1e-12))),
        torch.from_numpy(classes),
        torch.arange(num_train),
        torch.arange(num_train, min(num_train + NUM_VALIDATION, num_vertices)),
        torch.from_numpy(test),
    )


def _join(parts: dict[str, Any], test_rows: Array) -> tuple[Array, Array]:
    """Return features and classes in the order of vertices; those of test vertices are in that of their index."""
    known, tested = parts["allx"].dense(), parts["tx"].dense()
    num_vertices = max(known.shape[0], int(test_rows.max()) + 1)
    features = np.zeros((num_vertices, known.shape[1]), np.float32)
    one_hot = np.zeros((num_vertices, parts["ally"].shape[1]), np.float32)
    features[: known.shape[0]], one_hot[: known.shape[0]] = known, parts["ally"]
    features[test_rows], one_hot[test_rows] = tested, parts["ty"]
    return features, one_hot.argmax(axis=1).astype(np.int64)


def _read_graph(path: Path, neighbors: Any, num_vertices: int) -> Graph:
    """Return a dictionary of neighbours as an undirected graph without loops."""
    counts = np.array([len(neighbors[v]) for v in neighbors], np.int64)
    sources = np.repeat(np.fromiter(neighbors, np.int64, len(neighbors)), counts)
    targets = np.fromiter((u for row in neighbors.values() for u in row), np.int64, int(counts.sum()))
    if sources.size and not 0 <= min(sources.min(), targets.min()) <= max(sources.max(), targets.max()) < num_vertices:
        raise FileFormatError(path, "neighbours", f"there are {num_vertices} vertices, and an edge names another")
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    is_edge = low != high
    ends = low[is_edge], high[is_edge]
    return from_edges(*ends, directed=False, num_vertices=num_vertices, duplicates="first", runtime="torch")


def _read_numbers(path: Path) -> Array:
    try:
        return np.array([int(line) for line in path.read_text().split()], np.int64)
    except (OSError, ValueError) as error:
        raise FileFormatError(path, "text", f"holds no list of vertex numbers: {error}") from error


def _unpickle(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return _Unpickler(file, encoding="latin1").load()
    except (OSError, EOFError, pickle.UnpicklingError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise FileFormatError(path, "pickle", f"cannot be read: {error}") from error


class _SparseRows:
    """Stands for SciPy's matrix of compressed rows, of which the state is all that is needed."""

    data: Array
    indices: Array
    indptr: Array
    _shape: tuple[int, int]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("data", "indices", "indptr"):
            setattr(self, name, np.asarray(state[name]))
        self._shape = state["_shape"]

    def dense(self) -> Array:
        """Return the matrix with its zeros."""
        matrix = np.zeros(self._shape, np.float32)
        matrix[np.repeat(np.arange(self._shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return matrix


class _Unpickler(pickle.Unpickler):
    """Knows what Planetoid's files are made of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name in ("csr_matrix", "csr_array") and module.startswith("scipy.sparse"):
            return _SparseRows
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no such file needs")
        return _KNOWN[module, name]


def _reconstruct(cls: type, base: type, state: Any) -> Any:
    if cls is not _SparseRows or base is not object:
        raise pickle.UnpicklingError(f"it makes a {cls.__name__}")
    return _SparseRows()


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


def _array_parts() -> dict[tuple[str, str], Callable[..., Any]]:
    """Return what NumPy's own pickles ask for, under the names of old and new versions."""
    make = np.zeros(0).__reduce__()[0]
    scalar = np.float64(0).__reduce__()[0]
    found: dict[tuple[str, str], Callable[..., Any]] = {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype}
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        found |= {(module, "_reconstruct"): make, (module, "scalar"): scalar}  # type: ignore[dict-item]
    return found


_KNOWN: dict[tuple[str, str], Callable[..., Any]] = {
    **_array_parts(),
    ("collections", "defaultdict"): defaultdict,
    **dict.fromkeys([("__builtin__", "list"), ("builtins", "list")], list),
    **dict.fromkeys([("__builtin__", "object"), ("builtins", "object")], object),
    **dict.fromkeys([("copy_reg", "_reconstructor"), ("copyreg", "_reconstructor")], _reconstruct),
    ("_codecs", "encode"): _encode,
}
