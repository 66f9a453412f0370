"""A batch of changes on its way into a graph: by vertex number, as mutations of stored arcs, and in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph.batch import Batch, Edges
from tgraph.kernels.cpu.gapped_rows import Mutations, order_mutations
from tgraph.runtime import Array


@dataclass(frozen=True)
class NamedBatch:
    """A batch by vertex number; -1 = not known."""

    added: Array
    inserted: list[Array]  # sources, targets
    deleted: list[Array]
    changed: list[Array]
    gone: Array  # vertices to remove that are there
    is_missing: Array  # of the vertices to remove as they were given: which are not
    new_labels: Array

    @property
    def num_new(self) -> int:
        """The number of ids that were not known."""
        return int(self.new_labels.size)


@dataclass(frozen=True)
class Arcs:
    """Mutations of stored directions; those of removed vertices come first, mirrored ones last."""

    sources: Array
    targets: Array
    weights: Array  # empty = unweighted
    kinds: Array
    num_edges: int  # without the mirrored ones
    num_gone: int  # edges of removed vertices
    num_unknown: int  # edges with an unknown end, which are left out

    def in_order(self, direction: str, num_vertices: int) -> Mutations:
        """Return them in the order of outgoing (`"out"`) or incoming (`"in"`) rows."""
        ends = self.sources, self.targets
        return order_mutations(*(ends if direction == "out" else ends[::-1]), self.weights, self.kinds, num_vertices)


@dataclass(frozen=True)
class Prepared:
    """A batch by vertex number that nothing speaks against."""

    named: NamedBatch
    arcs: Arcs
    outgoing: Mutations | None  # in the order of outgoing rows, where they had to be looked up already
    version: int  # of the graph that it is for


def stored_weights(edges: Edges, dtype: np.dtype[Any] | None) -> Array:
    """Return the weights of edges in the graph's type, 1 where there are none; empty if the graph has none (None)."""
    weights = edges[2]
    if dtype is None:
        if weights is not None:
            raise InvalidArgumentError("weights were given, and the graph has none; leave them out")
        return np.empty(0)
    if weights is None:
        return np.ones(edges[0].size, dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        converted = weights.astype(dtype)
    is_lost = converted != weights if dtype.kind == "i" else np.isinf(converted) & ~np.isinf(weights)
    if is_lost.any():
        wanted = "whole numbers" if dtype.kind == "i" else "numbers"
        raise InvalidArgumentError(
            f"weights holds {weights[is_lost][0]}, and the graph's weights are {dtype.name}; give {wanted} in "
            "their range"
        )
    return converted


def refuse_unknown(batch: Batch, named: NamedBatch) -> None:
    """Raise if the batch removes, deletes or changes what names a vertex that is not in the graph."""
    parts = [("remove_vertices", batch.remove_vertices, ~named.is_missing)]
    parts += [("delete", column, found >= 0) for column, found in zip(batch.delete, named.deleted, strict=False)]
    parts += [("change", column, found >= 0) for column, found in zip(batch.change, named.changed, strict=False)]
    for word, ids, is_known in parts:
        if not is_known.all():
            raise InvalidArgumentError(
                f"{word} names vertex {ids[~is_known].tolist()[0]!r}, which is not in the graph, and "
                "missing='error'; use 'ignore' to skip such changes"
            )
