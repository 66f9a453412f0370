"""The result of random walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tgraph.graph import Graph
from tgraph.results.trace import Trace
from tgraph.runtime import Array, Tensor


@dataclass(repr=False)
class Walks:
    """Walks through a graph, one per row.

    >>> import tgraph as tg
    >>> from tgraph.algorithms.random_walks import random_walks
    >>> found = random_walks(tg.from_edges(["ann", "bob"], ["bob", "cy"]), ["ann", "bob"], length=2)
    >>> found.walks.tolist()
    [[0, 1, 2], [1, 2, -1]]
    >>> found.ids().tolist()
    [['ann', 'bob', 'cy'], ['bob', 'cy', None]]
    """

    graph: Graph
    walks: Tensor  # [W, length + 1] vertex numbers, -1 = the walk had ended
    trace: Trace

    def __len__(self) -> int:
        return int(self.walks.shape[0])

    def to_numpy(self) -> Array:
        """Return the walks as a NumPy array of vertex numbers, -1 after a dead end."""
        return self.graph.runtime.to_numpy(self.walks)

    def ids(self) -> Array:
        """Return the walks under the user's ids; after a dead end -1 among ids of 0 or more, None among others."""
        numbers = self.to_numpy()
        return self.graph.labels_of(numbers.reshape(-1)).reshape(numbers.shape)

    def to_lists(self) -> list[list[Any]]:
        """Return every walk as a list of the user's ids, without what comes after a dead end."""
        kept = (self.to_numpy() >= 0).sum(axis=1).tolist()
        return [row[:count] for row, count in zip(self.ids().tolist(), kept, strict=True)]

    def __repr__(self) -> str:
        steps = int(self.walks.shape[1]) - 1
        return f"Walks({len(self):,} walks of up to {steps:,} steps; {self.trace.total_seconds:.3f} s)"
