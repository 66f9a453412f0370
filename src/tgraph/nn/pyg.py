"""Batches for models of PyTorch Geometric: made by a tgraph loader, used in an ordinary training loop of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.nn.block import Block
from tgraph.nn.pipeline import Batch, Loader
from tgraph.nn.rows import gathered


class PyGBatches:
    """A loader whose batches are `torch_geometric.data.Data`, as `NeighborLoader` gives them; every `iter` is an epoch.

    They have `x`, `edge_index` (by places in the batch, from neighbours to those who asked for them), `n_id` (vertex
    numbers), `batch_size` (seeds come first), `num_sampled_nodes` and `num_sampled_edges` per hop (for
    `trim_to_layer`), `y` of the seeds if there are labels, `edge_weight` if the graph has weights.

    Args:
        loader: A `Loader` with one table of features, or none.

    >>> import tgraph as tg
    >>> graph = tg.generate.rmat(8, 8, seed=1, runtime="torch")
    >>> loader = Loader(graph, range(100), (3, 2), 50, features=torch.ones(256, 4), shuffle=False)
    >>> tuple((batch.batch_size, batch.x.shape[0] == batch.n_id.shape[0]) for batch in PyGBatches(loader))
    ((50, True), (50, True))
    """

    def __init__(self, loader: Loader) -> None:
        try:
            from torch_geometric.data import Data
        except ImportError as error:
            raise MissingDependencyError("torch_geometric", "PyGBatches") from error
        if not isinstance(loader, Loader):
            raise InvalidArgumentError(f"loader is a {type(loader).__name__}; give a tgraph.nn.Loader")
        self.loader, self._data = loader, Data

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        return map(self._convert, self.loader)

    def _convert(self, batch: Batch) -> Any:
        if isinstance(batch.features, dict):
            raise InvalidArgumentError("the loader has several tables of features; give it one for PyG's batches")
        hops = [_new_edges(block, before) for block, before in _from_inside(batch.blocks)]
        edge_index = torch.cat([hop[0] for hop in hops], dim=1) if hops else torch.empty(2, 0, dtype=torch.int64)
        data = self._data(edge_index=edge_index, n_id=batch.vertices, num_nodes=batch.vertices.shape[0])
        data.batch_size = batch.targets.shape[0]
        sizes = [data.batch_size, *(block.num_sources for block in reversed(batch.blocks))]
        data.num_sampled_nodes = [data.batch_size, *(b - a for a, b in pairwise(sizes))]
        data.num_sampled_edges = [hop[0].shape[1] for hop in hops]
        if batch.features is not None:
            data.x = gathered(batch.features)
        if batch.labels is not None:
            data.y = batch.labels
        if batch.blocks and batch.blocks[0].weights is not None:
            data.edge_weight = torch.cat([hop[1] for hop in hops])
        return data


def _from_inside(blocks: tuple[Block, ...]) -> Iterator[tuple[Block, int]]:
    """Yield the blocks from the seeds outwards, each with the number of targets of the one before."""
    before = 0
    for block in reversed(blocks):
        yield block, before
        before = block.num_targets


def _new_edges(block: Block, before: int) -> tuple[Tensor, Any]:
    """Return the edges of the targets that no block further inside has, `[2, E]`, and their weights."""
    first = int(block.offsets[before])
    targets = torch.arange(before, block.num_targets).repeat_interleave(block.offsets[before:].diff())
    ends = torch.stack([block.sources[first:].to(torch.int64), targets])
    return ends, None if block.weights is None else block.weights[first:]
