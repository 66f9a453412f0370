"""Small random graphs for property tests, and the same graphs as NetworkX and dense matrices know them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import tgraph as tg

RUNTIMES = ("torch", "numpy")
DIRECTIONS = ("auto", "push", "pull")

WEIGHTS = {
    "none": None,
    "small": st.integers(0, 4),  # many zeros and many ties
    "large": st.integers(0, 10**6),
    "float": st.floats(0, 8, allow_subnormal=False),
}


@dataclass(frozen=True)
class SmallGraph:
    """A list of edges: self-loops, duplicates and isolated vertices included."""

    num_vertices: int
    edges: tuple[tuple[int, int], ...]
    weights: tuple[float, ...] | None
    directed: bool

    @property
    def columns(self) -> tuple[list[int], list[int]]:
        return [source for source, _ in self.edges], [target for _, target in self.edges]

    def build(self) -> tg.Graph:
        weights = None if self.weights is None else np.asarray(self.weights, self.weight_dtype)
        return tg.from_edges(*self.columns, weights, directed=self.directed, num_vertices=self.num_vertices)

    @property
    def weight_dtype(self) -> Any:
        return np.int64 if all(isinstance(weight, int) for weight in self.weights or ()) else np.float64

    def to_networkx(self) -> Any:
        graph = nx.MultiDiGraph() if self.directed else nx.MultiGraph()
        graph.add_nodes_from(range(self.num_vertices))
        weights = self.weights or [1] * len(self.edges)
        graph.add_weighted_edges_from((*edge, weight) for edge, weight in zip(self.edges, weights, strict=True))
        return graph

    def to_matrix(self, weighted: bool = False) -> np.ndarray:
        """Return the dense adjacency matrix: the sum of the weights, or the number of edges, between two vertices."""
        matrix = np.zeros((self.num_vertices, self.num_vertices))
        for position, (source, target) in enumerate(self.edges):
            weight = self.weights[position] if weighted and self.weights is not None else 1.0
            matrix[source, target] += weight
            if not self.directed and source != target:
                matrix[target, source] += weight
        return matrix


@st.composite
def small_graphs(draw: Any, weights: tuple[str, ...] = ("none",), max_vertices: int = 14) -> SmallGraph:
    """Draw a graph with at least one vertex."""
    num_vertices = draw(st.integers(1, max_vertices))
    vertices = st.integers(0, num_vertices - 1)
    edges = draw(st.lists(st.tuples(vertices, vertices), max_size=3 * num_vertices))
    kind = WEIGHTS[draw(st.sampled_from(weights))]
    drawn = None if kind is None else draw(st.lists(kind, min_size=len(edges), max_size=len(edges)))
    return SmallGraph(num_vertices, tuple(edges), None if drawn is None else tuple(drawn), draw(st.booleans()))


def ways_to_run() -> Any:
    """Draw the keywords of a run: runtime and direction."""
    return st.fixed_dictionaries(
        {
            "runtime": st.sampled_from(RUNTIMES),
            "direction": st.sampled_from(DIRECTIONS),
            "kernel": st.sampled_from(("auto", "plain")),
        }
    )


def expected_levels(case: SmallGraph, source: int) -> list[int]:
    found = nx.single_source_shortest_path_length(case.to_networkx(), source)
    return [found.get(vertex, -1) for vertex in range(case.num_vertices)]


def expected_distances(case: SmallGraph, source: int) -> list[float]:
    found = nx.single_source_dijkstra_path_length(case.to_networkx(), source)
    return [float(found.get(vertex, np.inf)) for vertex in range(case.num_vertices)]


def expected_labels(case: SmallGraph) -> list[int]:
    components = nx.connected_components(case.to_networkx().to_undirected())
    labels = {vertex: min(component) for component in components for vertex in component}
    return [labels[vertex] for vertex in range(case.num_vertices)]


def expected_ranks(
    case: SmallGraph, damping: float, jumps: np.ndarray | None = None, weighted: bool = False
) -> np.ndarray:
    """Solve the equations of PageRank directly."""
    matrix = case.to_matrix(weighted)
    jumps = np.full(case.num_vertices, 1.0) if jumps is None else np.asarray(jumps, np.float64)
    jumps = jumps / jumps.sum()
    totals = matrix.sum(axis=1)
    follow = np.where(totals[:, None] > 0, matrix / np.where(totals > 0, totals, 1)[:, None], jumps[None, :])
    return np.linalg.solve(np.eye(case.num_vertices) - damping * follow.T, (1 - damping) * jumps)
