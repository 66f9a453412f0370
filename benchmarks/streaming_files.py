"""Graphs that change, as files that every system of `streaming.py` reads: edges to begin with, then batches.

A tenth of the edges is held back. A batch inserts some of these and deletes as many that are there (mix `half`), or
does the one only (`insert`, `delete`); no edge is used twice. Which edges these are is drawn at random, the same ones
for the same graph. A graph with times begins with its oldest edges; new ones come and old ones go in order of time.

Edges are rows of three unsigned 64-bit numbers, source, target and weight: simple, without self-loops, with weights
from 1 to 255. `base.edges` is the graph to begin with, `<name>.edges` has all batches one after another, what is to
insert before what is to delete, and `<name>.sizes` two unsigned 64-bit numbers per batch: how many of each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg
from tgraph.bench.graphs import SEED, WEIGHTS, load, prepare
from tgraph.graph.random_weights import random_weights

HELD_BACK = 0.1
MIXES = {"half": 0.5, "insert": 1.0, "delete": 0.0}  # the part of a batch that is inserted
TIMED_GRAPHS = {"sx-mathoverflow": "sx-mathoverflow.txt.gz"}  # folder: file with sources, targets and times
Columns = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Changes:
    """One batch: sources, targets and weights to insert and to delete."""

    insert: Columns
    delete: Columns

    def __len__(self) -> int:
        return int(self.insert[0].size + self.delete[0].size)


@dataclass(frozen=True)
class StreamFiles:
    """The files of one graph."""

    folder: Path
    num_vertices: int
    source: int  # the vertex with most outgoing edges
    num_base_edges: int
    num_held_back: int

    @property
    def base(self) -> Path:
        """The edges to begin with."""
        return self.folder / "base.edges"

    def read_base(self) -> tg.Graph:
        """Return the graph to begin with, with whole weights of 4 bytes."""
        sources, targets, weights = _columns(np.fromfile(self.base, np.uint64))
        weights = weights.astype(np.int32)
        return tg.from_edges(sources, targets, weights, num_vertices=self.num_vertices, runtime="numpy")

    def write_batches(self, mix: str, sizes: list[int], count: int) -> tuple[Path, list[int]]:
        """Write up to `count` batches of every size, as far as there are edges; return their name and their sizes."""
        name = self.folder / f"{mix}-{'-'.join(map(str, sizes))}-x{count}"
        counts = self._split(MIXES[mix], sizes, count)
        if not name.with_suffix(".sizes").exists():
            held_back = np.fromfile(self.folder / "held_back.edges", np.uint64).reshape(-1, 3)
            to_delete = np.memmap(self.base, np.uint64, "r").reshape(-1, 3)
            parts, starts = [], [0, 0]
            for pair in counts:
                for edges, which in ((held_back, 0), (to_delete, 1)):
                    parts.append(np.asarray(edges[starts[which] : starts[which] + pair[which]]))
                    starts[which] += pair[which]
            np.concatenate(parts or [held_back[:0]]).tofile(name.with_suffix(".edges"))
            np.array(counts, np.uint64).tofile(name.with_suffix(".sizes"))
        return name, [sum(pair) for pair in counts]

    def _split(self, part: float, sizes: list[int], count: int) -> list[tuple[int, int]]:
        """Return how many edges every batch inserts and deletes."""
        left = [self.num_held_back, self.num_base_edges // 2]
        counts = []
        for size in sizes:
            inserted = round(size * part)
            pair = inserted, size - inserted
            for _ in range(count):
                if pair[0] <= left[0] and pair[1] <= left[1]:
                    counts.append(pair)
                    left = [left[0] - pair[0], left[1] - pair[1]]
        return counts


def read_batches(name: Path) -> list[Changes]:
    """Return all batches."""
    sizes = np.fromfile(name.with_suffix(".sizes"), np.uint64).astype(np.int64)
    edges = np.fromfile(name.with_suffix(".edges"), np.uint64).reshape(-1, 3)
    parts = [_columns(part) for part in np.split(edges, np.cumsum(sizes)[:-1])]
    return [Changes(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


def prepare_stream(name: str, cache: Path, data: Path | None) -> StreamFiles:
    """Make sure that the files of a graph are in the cache."""
    folder = cache / f"{name}-stream"
    about = folder / "about.json"  # written last
    if not about.exists():
        folder.mkdir(parents=True, exist_ok=True)
        edges, num_base = _timed_edges(name, data) if name in TIMED_GRAPHS else _shuffled_edges(name, cache, data)
        num_vertices = int(edges[:, :2].max()) + 1
        source = int(np.bincount(edges[:num_base, 0].astype(np.int64)).argmax())
        edges[:num_base].tofile(folder / "base.edges")
        edges[num_base:].tofile(folder / "held_back.edges")
        about.write_text(json.dumps([num_vertices, source, num_base, edges.shape[0] - num_base]))
    return StreamFiles(folder, *json.loads(about.read_text()))


def _shuffled_edges(name: str, cache: Path, data: Path | None) -> tuple[Any, int]:
    """Return the edges of a graph in random order, and how many are there at first."""
    graph = load(prepare(name, cache, data)["directed"], weighted=True)
    order = np.random.default_rng(SEED).permutation(graph.num_edges)
    edges = np.empty((graph.num_edges, 3), np.uint64)
    columns: Any = graph.edges()
    for k, column in enumerate(columns):
        edges[:, k] = column[order]
    return edges, round(graph.num_edges * (1 - HELD_BACK))


def _timed_edges(name: str, data: Path | None) -> tuple[Any, int]:
    """Return the edges of a graph in order of time, each once, and how many are there at first."""
    if data is None:
        raise SystemExit(f"graph {name!r} is read from a file; give the folder of real graphs with --data")
    rows = np.loadtxt(data / name / TIMED_GRAPHS[name], np.int64)
    rows = rows[(rows[:, 0] != rows[:, 1])]
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    ids, numbers = np.unique(rows[:, :2], return_inverse=True)
    numbers = numbers.reshape(-1, 2)
    _, first = np.unique(numbers[:, 0] * ids.size + numbers[:, 1], return_index=True)
    kept = numbers[np.sort(first)]
    weights: Any = random_weights(WEIGHTS, kept.shape[0], SEED)
    edges = np.column_stack([kept, weights]).astype(np.uint64)
    return edges, round(edges.shape[0] * (1 - HELD_BACK))


def _columns(edges: Any) -> Columns:
    """Return sources, targets and weights of rows, as users give them."""
    sources, targets, weights = (np.ascontiguousarray(column, np.int64) for column in edges.reshape(-1, 3).T)
    return sources, targets, weights
