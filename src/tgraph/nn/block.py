"""What one layer of a network aggregates over: for every target its edges from sources."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.kernels.cpu.csr import transpose


@dataclass(frozen=True)
class Reverse:
    """The edges of a block again, grouped by source, targets ascending."""

    offsets: Tensor  # [S+1] int64
    targets: Tensor  # [E] int32
    edges: Tensor  # [E] int32 or int64: where each edge is in the block


@dataclass(frozen=True)
class Block:
    """Edges from sources to targets in compressed rows, one row per target.

    The edges of target t are the positions `offsets[t]` to `offsets[t + 1] - 1`. In a block of a whole graph and in a
    sampled one the first `num_targets` sources are the targets themselves.

    >>> import tgraph as tg
    >>> block = Block.of_graph(tg.from_edges([0, 1, 1], [1, 2, 0], runtime="numpy"))
    >>> block.num_targets, block.offsets.tolist(), block.sources.tolist()
    (3, [0, 1, 2, 3], [1, 0, 1])
    """

    offsets: Tensor  # [T+1] int64
    sources: Tensor  # [E] int32
    num_sources: int
    weights: Tensor | None = None  # [E], of the graph's edges; None = unweighted
    edges: Tensor | None = field(default=None, repr=False)  # [E] int64: numbers in Graph.edges(); None = not asked for

    @classmethod
    def of_graph(cls, graph: Graph, along: str = "out") -> Block:
        """Return the block of a whole graph: every vertex gathers from those that point at it.

        Args:
            graph: Any graph; edges in both directions if it is undirected.
            along: The way that messages take: `"out"` from source to target of an edge, `"in"` the other way.
        """
        if along not in ("out", "in"):
            raise InvalidArgumentError(f"along={along!r} is not known; use 'out' or 'in'")
        if graph.num_vertices > np.iinfo(np.int32).max:
            raise InvalidArgumentError(
                f"the graph has {graph.num_vertices:,} vertices; a block holds at most 2^31 - 1, sample from it instead"
            )
        offsets, sources, weights = graph.adjacency("in" if along == "out" else "out").to_numpy()
        device = graph.runtime.device if graph.runtime.name == "torch" else "cpu"
        return cls(
            _tensor(offsets, device),
            _tensor(sources.astype(np.int32, copy=False), device),
            graph.num_vertices,
            None if weights is None else _tensor(weights, device),
        )

    @property
    def num_targets(self) -> int:
        """The number of rows."""
        return int(self.offsets.shape[0]) - 1

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return int(self.sources.shape[0])

    @cached_property
    def reverse(self) -> Reverse:
        """The same edges grouped by source, for gradients; made when first asked for, where the block is."""
        if self.offsets.device.type != "cpu":
            return self._reverse_by_sorting()
        offsets, sources = self.offsets.cpu().numpy(), self.sources.cpu().numpy()
        positions = np.arange(self.num_edges, dtype=np.int32 if self.num_edges < 2**31 else np.int64)
        rows = transpose(offsets, sources, positions, self.num_sources)
        return Reverse(*(_tensor(array, self.offsets.device) for array in rows))

    @cached_property
    def reverse_weights(self) -> Tensor | None:
        """The weights in the order of the reverse, made when first asked for; they must not change afterwards."""
        return None if self.weights is None else self.weights.index_select(0, self.reverse.edges)

    def _reverse_by_sorting(self) -> Reverse:
        """The same by a stable sort on the device: nothing travels to the host and back."""
        order = torch.argsort(self.sources, stable=True)
        counts = torch.zeros(self.num_sources + 1, dtype=torch.int64, device=self.offsets.device)
        counts.index_add_(0, self.sources.long() + 1, torch.ones_like(order))
        rows = torch.arange(self.num_targets, dtype=torch.int32, device=self.offsets.device)
        targets = rows.repeat_interleave(self.offsets.diff(), output_size=self.num_edges).index_select(0, order)
        edges = order.to(torch.int32) if self.num_edges < 2**31 else order
        return Reverse(torch.cumsum(counts, 0), targets, edges)

    def with_reverse(self, reverse: Reverse) -> Block:
        """Return the same block with its reverse, which someone made before it is asked for."""
        block = replace(self)
        vars(block)["reverse"] = reverse
        return block

    def to(self, device: Any, non_blocking: bool = False) -> Block:
        """Return the block on another device, with its reverse if that was made."""

        def move(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor.to(device, non_blocking=non_blocking)

        offsets, sources, weights, edges = map(move, (self.offsets, self.sources, self.weights, self.edges))
        block = Block(offsets, sources, self.num_sources, weights, edges)
        if "reverse" in vars(self):
            rows = (self.reverse.offsets, self.reverse.targets, self.reverse.edges)
            return block.with_reverse(Reverse(*(move(one) for one in rows)))
        return block


def _tensor(array: Any, device: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
