"""The result of a search for communities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tgraph import runtime as runtimes
from tgraph.results.result import Result


@dataclass(repr=False)
class Communities(Result):
    """Labels of communities, and how good they are.

    >>> from tgraph.algorithms.louvain import louvain
    >>> import tgraph as tg
    >>> found = louvain(tg.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False))
    >>> found.num_communities, round(found.modularity, 3)
    (2, 0.357)
    """

    modularity: float = 0.0
    levels: int = 0  # how often communities were joined to the vertices of a smaller graph

    @property
    def num_communities(self) -> int:
        """The number of communities."""
        return int(np.unique(self.to_numpy()).size)

    def to(self, runtime: str | None = None, device: str | None = None) -> Communities:
        """Return the result with its tensors and its graph on another runtime or device."""
        target = runtimes.get(runtime, device)
        fields = {name: target.asarray(tensor) for name, tensor in self.fields.items()}
        return replace(self, graph=self.graph.to(runtime, device), fields=fields)

    def summary(self) -> str:
        """Return the outcome in one line."""
        return f"{self.num_communities:,} communities, modularity {self.modularity:.4f}, {super().summary()}"
