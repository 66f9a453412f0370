"""The graphs of the benchmarks, by name, each in two versions, kept in the cache as tgraph's own files.

| name | graph |
|---|---|
| `rmat<scale>` | R-MAT, edge factor 16, Graph 500 probabilities, vertices renamed at random |
| `grid<side>` | a grid of side x side vertices |
| a folder of the data directory | that real graph |

Versions: `undirected` (every edge in both directions) and, where the graph has directions, `directed`. Both are simple,
without self-loops and duplicates, with int32 weights from 1 to 255: random ones, where the graph has none of its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph, from_csr, from_edges, generate
from tgraph.graph.random_weights import random_weights
from tgraph.io import read, write

DEFAULT_GRAPHS = ("rmat20", "rmat22", "grid1000")
SEED = 1
WEIGHTS = (1, 256)
REAL_GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {  # folder: file, how to read it
    "wiki-Vote": ("wiki-Vote.txt.gz", {}),
    "ego-Facebook": ("facebook_combined.txt.gz", {"directed": False}),
    "email-Enron": ("email-Enron.txt.gz", {"directed": False, "duplicates": "first"}),
    "sx-mathoverflow": ("sx-mathoverflow.txt.gz", {"weights": None}),
    "soc-Slashdot0902": ("soc-Slashdot0902.txt.gz", {}),
    "road-usroads": ("road-usroads.mtx.gz", {"symmetric": True}),
    "web-NotreDame": ("web-NotreDame.tar.gz", {"skip_rows": 1}),
    "cnr-2000": ("cnr-2000.graph", {}),
}


def graph_names(data: Path | None) -> tuple[str, ...]:
    """Return the generated graphs and the real ones that are in the data directory."""
    real = [name for name, (file, _) in REAL_GRAPHS.items() if data is not None and (data / name / file).exists()]
    return (*DEFAULT_GRAPHS, *real)


def prepare(name: str, cache: Path, data: Path | None = None) -> dict[str, Path]:
    """Make sure that the versions of a graph are in the cache and return their files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = prepare("rmat4", Path(folder))
    ...     sorted(files), read(files["undirected"], runtime="numpy").weights.dtype.name
    (['directed', 'undirected'], 'int32')
    """
    cache.mkdir(parents=True, exist_ok=True)
    files = {version: cache / f"{name}-{version}.safetensors" for version in ("directed", "undirected")}
    if not files["undirected"].exists():
        graph = _weighted_simple(_make(name, data))
        if graph.directed:
            write(_with_small_weights(graph), files["directed"], reverse=True)
        write(_with_small_weights(graph.symmetrize()), files["undirected"])
    return {version: file for version, file in files.items() if file.exists()}


def load(file: Path, weighted: bool) -> Graph:
    """Read a version into memory of its own (not mapped from the file), with or without its weights."""
    mapped = read(file, check="offsets", runtime="numpy")
    offsets, targets, weights = mapped.adjacency("out").to_numpy()
    values = weights.copy() if weighted and weights is not None else None
    return from_csr(offsets.copy(), targets.copy(), values, directed=mapped.directed, runtime="numpy")


def pick_sources(graph: Graph, labels: Any, count: int) -> list[int]:
    """Return vertices of the largest component, the same ones for the same graph."""
    names, sizes = np.unique(labels, return_counts=True)
    members = np.flatnonzero(labels == names[sizes.argmax()]) if names.size else np.empty(0, np.int64)
    chosen = np.random.default_rng(SEED).choice(members, min(count, members.size), replace=False)
    return [int(vertex) for vertex in chosen]


def _make(name: str, data: Path | None) -> Graph:
    if found := re.fullmatch(r"rmat(\d+)", name):
        return generate.rmat(int(found[1]), 16, seed=SEED, weights=WEIGHTS, runtime="numpy")
    if found := re.fullmatch(r"grid(\d+)", name):
        return generate.grid(int(found[1]), int(found[1]), seed=SEED, weights=WEIGHTS, runtime="numpy")
    if name not in REAL_GRAPHS:
        known = ", ".join(REAL_GRAPHS)
        raise InvalidArgumentError(f"graph {name!r} is not known; use rmat<scale>, grid<side> or one of {known}")
    if data is None:
        raise InvalidArgumentError(f"graph {name!r} is read from a file; give the folder of real graphs with --data")
    file, options = REAL_GRAPHS[name]
    return read(data / name / file, runtime="numpy", **options).relabel(None)


def _weighted_simple(graph: Graph) -> Graph:
    if graph.weights is None:
        sources, targets, _ = graph.edges()
        weights = random_weights(WEIGHTS, sources.size, SEED)
        graph = from_edges(
            sources, targets, weights, directed=graph.directed, num_vertices=graph.num_vertices, runtime="numpy"
        )
    return graph.simplify("min")


def _with_small_weights(graph: Graph) -> Graph:
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    assert weights is not None
    return from_csr(offsets, targets, weights.astype(np.int32), directed=graph.directed, runtime="numpy")
