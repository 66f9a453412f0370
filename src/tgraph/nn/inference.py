"""Embeddings of all vertices, layer by layer: every vertex is computed once per layer, from all its neighbours.

What a layer made is a table with a row per vertex, in memory or in a file. So a graph and features larger than memory
work, and nothing is computed twice, as it would be with batches of whole neighbourhoods.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.nn.lookup import FileRows
from tgraph.nn.models.layered import LayeredModel
from tgraph.nn.rows import Rows, shared_tensor
from tgraph.nn.sampler import NeighborSampler
from tgraph.nn.tables import as_table, open_table
from tgraph.results.progress import Progress
from tgraph.runtime import Array

EDGES_AT_ONCE = 1 << 20


def infer(
    model: LayeredModel,
    graph: Graph,
    features: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    edges_at_once: int = EDGES_AT_ONCE,
    progress: str = "auto",
) -> Tensor:
    """Return what a model makes of every vertex, `[V, outputs]`, as it would from the whole graph at once.

    Args:
        model: Of any kind here; dropout is off.
        graph: As the model wants it (`model.prepare`); it may be one from `tgraph.open`.
        features: A table with a row per vertex: a tensor, an array, or a mapped file (`tgraph.nn.open_table`).
        out: A `.npy` file for the result, which is mapped then; layers in between are in files beside it, which are
            removed. None = all are in memory.
        edges_at_once: At most so many edges, and the vertices at their ends, are worked on at a time.
        progress: `on`, `off` or `auto`, where somebody looks.

    >>> import tgraph as tg
    >>> graph = tg.generate.rmat(6, 4, seed=1, runtime="torch")
    >>> model, features = tg.nn.GIN(3, 8, 2).eval(), torch.ones(64, 3)
    >>> whole = model(tg.nn.Block.of_graph(graph), features)
    >>> torch.allclose(infer(model, graph, features, edges_at_once=50), whole, atol=1e-5)
    True
    """
    if edges_at_once < 1:
        raise InvalidArgumentError(f"edges_at_once={edges_at_once} must be 1 or more")
    if out is not None and not os.fspath(out).endswith(".npy"):
        raise InvalidArgumentError(f"out={os.fspath(out)!r} must end in .npy")
    tables = [as_table("features", features, graph.num_vertices)]
    sampler = NeighborSampler(graph, (-1,))
    parts = list(_parts(np.asarray(graph.runtime.to_numpy(graph.in_degrees())), edges_at_once))
    was_training = model.training
    model.eval()
    try:
        with (
            torch.no_grad(),
            tempfile.TemporaryDirectory(dir=None if out is None else Path(out).parent) as folder,
            Progress(type(model).__name__, progress, None) as shown,
        ):
            for number in range(len(model.layers)):
                is_last = number == len(model.layers) - 1
                place = None if out is None else Path(folder) / f"{number}.npy"
                tables.append(_layer(model, number, is_last, sampler, parts, tables, place, shown))
            if out is None:
                return tables[-1]
            os.replace(Path(folder) / f"{len(model.layers) - 1}.npy", out)
        return open_table(out)
    finally:
        model.train(was_training)


def _layer(
    model: LayeredModel,
    number: int,
    is_last: bool,
    sampler: NeighborSampler,
    parts: list[tuple[int, int]],
    tables: list[Tensor],
    place: Path | None,
    shown: Progress,
) -> Tensor:
    """Return the table of one layer, made part by part; that of the last one has what the model collects."""
    made: Tensor | None = None
    num_vertices = tables[0].shape[0]
    in_files = FileRows(tables if is_last else tables[-1:])
    for count, (first, last) in enumerate(parts):
        sample = sampler.expand(np.arange(first, last), number)
        block = sample.blocks[0]
        in_files.ask(sample.vertices.numpy())
        new = model.step(number, block, Rows(tables[-1], sample.vertices))
        if is_last:
            targets = sample.vertices[: block.num_targets]
            new = model.collect(block, [*(Rows(table, targets) for table in tables), new])
        if made is None:
            made = _new_table(num_vertices, new, place)
        made[first:last] = new
        shown.say(f"layer {number + 1} of {len(model.layers)}, part {count + 1} of {len(parts)}")
    return torch.empty(0, 0) if made is None else made


def _new_table(num_vertices: int, like: Tensor, place: Path | None) -> Tensor:
    shape = (num_vertices, *like.shape[1:])
    if place is None:
        return torch.empty(shape, dtype=like.dtype)
    dtype: Any = torch.empty(0, dtype=like.dtype).numpy().dtype
    return shared_tensor(np.lib.format.open_memmap(place, "w+", dtype, shape))


def _parts(degrees: Array, edges_at_once: int) -> Iterator[tuple[int, int]]:
    """Yield stretches of vertices with so many edges at most, or one vertex that has more."""
    ends = np.cumsum(np.maximum(degrees, 1, dtype=np.int64))  # a vertex without edges is work too
    first = 0
    while first < ends.size:
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + edges_at_once, "right")), first + 1)
        yield first, last
        first = last
