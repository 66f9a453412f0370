"""How a check looks at a graph and how it says which rule is broken, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array


@dataclass(frozen=True)
class Arcs:
    """All stored edges of a graph as NumPy arrays; an undirected edge is two arcs."""

    graph: Graph
    sources: Array  # [E]
    targets: Array  # [E]
    weights: Array | None  # [E], None = unweighted

    def check(self, rule: str, broken: Array, **columns: Array) -> None:
        """Raise for the first arc of the mask; `columns` `[V]` are shown at both of its ends."""
        if not broken.any():
            return
        arc = int(np.argmax(broken))
        ends = [int(self.sources[arc]), int(self.targets[arc])]
        shown = [f"{name} {column[ends[0]]} and {column[ends[1]]}" for name, column in columns.items()]
        if self.weights is not None:
            shown.append(f"weight {self.weights[arc]}")
        edge = " -> ".join(repr(name_of(self.graph, end)) for end in ends)
        raise VerificationError(rule, f"edge {edge} ({', '.join(shown)})" if shown else f"edge {edge}")

    def reach(self, chosen: Array) -> Array:
        """Return the mask `[V]` of the vertices that a chosen arc leads to."""
        reached = np.zeros(self.graph.num_vertices, bool)
        reached[self.targets[chosen]] = True
        return reached


def arcs_of(graph: Graph) -> Arcs:
    """Return the arcs of a graph."""
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices, dtype=targets.dtype), np.diff(offsets))
    return Arcs(graph, sources, targets, weights)


def as_values(graph: Graph, name: str, values: Any, kinds: str) -> Array:
    """Return one value per vertex as a NumPy array, or raise if length or kind of type (`i`, `f`) are others."""
    array = runtimes.get("numpy").asarray(values)
    if array.shape != (graph.num_vertices,):
        raise VerificationError(f"{name} has one value per vertex", f"shape {array.shape}")
    if array.dtype.kind not in kinds:
        raise VerificationError(f"{name} has the right type", f"type {array.dtype.name}")
    return array


def check_vertices(graph: Graph, rule: str, broken: Array, **columns: Array) -> None:
    """Raise for the first vertex of the mask; `columns` `[V]` are shown at it."""
    if not broken.any():
        return
    vertex = int(np.argmax(broken))
    shown = ", ".join(f"{name} {column[vertex]}" for name, column in columns.items())
    raise VerificationError(rule, f"vertex {name_of(graph, vertex)!r}" + (f" ({shown})" if shown else ""))


def name_of(graph: Graph, vertex: int) -> Any:
    """Return the user's id of one vertex number."""
    return graph.labels_of(np.asarray([vertex])).tolist()[0]


def push(arcs: Arcs, values: Array, factors: Array | None, reverse: bool = False) -> Array:
    """Return, per vertex, the sum over its incoming arcs of the value at the other end times the arc's factor.

    One arc after the other in stored order: nothing here is shared with the engines' reductions.
    """
    froms, tos = (arcs.targets, arcs.sources) if reverse else (arcs.sources, arcs.targets)
    moved = values[froms] if factors is None else values[froms] * factors
    received = np.zeros(arcs.graph.num_vertices)
    np.add.at(received, tos, moved)
    return received


def spread(graph: Graph, name: str, given: Mapping[Any, float] | Any | None) -> Array:
    """Return a distribution over the vertices: the given one scaled to sum 1, uniform for None."""
    if given is None:
        return np.full(graph.num_vertices, 1 / max(graph.num_vertices, 1))
    if isinstance(given, Mapping):
        shares = np.zeros(graph.num_vertices)
        shares[graph.vertices_of(list(given))] = list(given.values())
    else:
        shares = as_values(graph, name, given, "fiu").astype(np.float64)
    scaled: Array = shares / shares.sum()
    return scaled
