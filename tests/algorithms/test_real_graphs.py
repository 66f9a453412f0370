"""All five algorithms on real graphs, against SciPy and NetworkX and their own checks.

Every graph runs on every runtime in every direction. The expected answers of a graph are computed once.
"""

from __future__ import annotations

import gzip
import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

import tgraph as tg
from small_graphs import DIRECTIONS, RUNTIMES
from tgraph.verify import check_bfs, check_hits, check_pagerank, check_sssp, check_wcc

Array = np.ndarray


class _PlanetoidUnpickler(pickle.Unpickler):
    """Loads a dictionary of lists and nothing that could run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "defaultdict"):
            return defaultdict
        if module in ("builtins", "__builtin__") and name in ("list", "dict", "int"):
            return {"list": list, "dict": dict, "int": int}[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not expected in a graph")


def _read_planetoid(path: Path) -> tg.Graph:
    with path.open("rb") as file:
        neighbors = _PlanetoidUnpickler(file, encoding="latin1").load()
    sources = [vertex for vertex, found in neighbors.items() for _ in found]
    targets = [target for found in neighbors.values() for target in found]
    return tg.from_edges(sources, targets, num_vertices=len(neighbors)).symmetrize()


def _read_gowalla(folder: Path) -> tg.Graph:
    """Users and items as one graph: items are numbered behind the users."""
    users, items = [], []
    for name in ("train.txt.gz", "test.txt.gz"):
        with gzip.open(folder / name, "rt") as file:
            for line in file:
                user, *found = (int(word) for word in line.split())
                users.extend([user] * len(found))
                items.extend(found)
    first_item = max(users) + 1
    return tg.from_edges(users, np.asarray(items) + first_item, directed=False)


READERS: dict[str, Callable[[Path], tg.Graph]] = {
    "wiki-Vote": lambda data: tg.read(data / "wiki-Vote" / "wiki-Vote.txt.gz"),
    "ego-Facebook": lambda data: tg.read(data / "ego-Facebook" / "facebook_combined.txt.gz", directed=False),
    "cora": lambda data: _read_planetoid(data / "cora" / "ind.cora.graph"),
    "pubmed": lambda data: _read_planetoid(data / "pubmed" / "ind.pubmed.graph"),
    "email-Enron": lambda data: tg.read(data / "email-Enron" / "email-Enron.txt.gz"),
    "soc-Slashdot0902": lambda data: tg.read(data / "soc-Slashdot0902" / "soc-Slashdot0902.txt.gz"),
    "web-NotreDame": lambda data: tg.read(data / "web-NotreDame" / "web-NotreDame.tar.gz", skip_rows=1),
    "road-usroads": lambda data: tg.read(data / "road-usroads" / "road-usroads.mtx.gz", symmetric=True),
    "sx-mathoverflow": lambda data: tg.read(data / "sx-mathoverflow" / "sx-mathoverflow.txt.gz", weights=None),
    "cnr-2000": lambda data: tg.read(data / "cnr-2000" / "cnr-2000.graph"),
    "gowalla": lambda data: _read_gowalla(data / "gowalla"),
}
SIZES = {  # vertices and edges as the data's own description counts them
    "wiki-Vote": (7_115, 103_689),
    "ego-Facebook": (4_039, 88_234),
    "cora": (2_708, 5_278),
    "pubmed": (19_717, 44_324 + 3),  # three of them self-loops
    "email-Enron": (36_692, 367_662),
    "soc-Slashdot0902": (82_168, 948_464),
    "web-NotreDame": (325_729, 1_497_134),
    "road-usroads": (129_164, 165_435),
    "sx-mathoverflow": (24_818, 506_550),
    "cnr-2000": (325_557, 3_216_152),
    "gowalla": (29_858 + 40_981, 1_027_370),
}
SMALL = ("wiki-Vote", "ego-Facebook", "cora")
RUNS = [(name, runtime, direction) for name in READERS for runtime in RUNTIMES for direction in DIRECTIONS]


@dataclass(frozen=True)
class Case:
    """A graph with random weights from 1 to 100, and the expected answers, each computed when first asked for."""

    graph: tg.Graph
    source: int  # the vertex with the most outgoing edges

    @cached_property
    def arcs(self) -> tuple[Array, Array, Array]:
        offsets, targets, weights = self.graph.adjacency("out").to_numpy()
        assert weights is not None
        return np.repeat(np.arange(self.graph.num_vertices), np.diff(offsets)), targets, weights

    def matrix(self, values: Array) -> csr_array:
        """Return the matrix of the sums of values between two vertices."""
        sources, targets, _ = self.arcs
        return csr_array((values.astype(np.float64), (sources, targets)), (self.graph.num_vertices,) * 2)

    @cached_property
    def counts(self) -> csr_array:
        """How many edges lead from row to column."""
        return self.matrix(np.ones(self.arcs[0].size))

    @cached_property
    def shortest(self) -> csr_array:
        """The smallest weight from row to column."""
        sources, targets, weights = self.arcs
        order = np.lexsort((weights, targets, sources))
        keys = sources[order] * self.graph.num_vertices + targets[order]
        kept = order[np.concatenate([[True], keys[1:] != keys[:-1]])]
        return csr_array(
            (weights[kept].astype(np.float64), (sources[kept], targets[kept])), (self.graph.num_vertices,) * 2
        )

    @cached_property
    def levels(self) -> Array:
        """Follow the predecessors that SciPy's search gives: in its order every parent comes first."""
        order, predecessors = breadth_first_order(self.counts, self.source)
        levels = np.full(self.graph.num_vertices, -1)
        levels[self.source] = 0
        for vertex in order[1:].tolist():
            levels[vertex] = levels[predecessors[vertex]] + 1
        return levels

    @cached_property
    def distances(self) -> Array:
        return np.asarray(dijkstra(self.shortest, indices=self.source))

    @cached_property
    def labels(self) -> Array:
        _, components = connected_components(self.counts, directed=False)
        smallest = np.full(self.graph.num_vertices, self.graph.num_vertices)
        np.minimum.at(smallest, components, np.arange(self.graph.num_vertices))
        return smallest[components]

    @cached_property
    def ranks(self) -> Array:
        """PageRank by sparse products, until only rounding changes it."""
        count, degrees = self.graph.num_vertices, self.counts.sum(axis=1)
        turned, shares = self.counts.T.tocsr(), 1 / np.maximum(degrees, 1)
        ranks = np.full(count, 1 / count)
        for _ in range(250):
            ranks = 0.85 * (turned @ (ranks * shares) + ranks[degrees == 0].sum() / count) + 0.15 / count
        return ranks

    @cached_property
    def scores(self) -> tuple[Array, Array]:
        """Hubs and authorities by sparse products of unit vectors, until only rounding changes them."""
        turned, hubs = self.counts.T.tocsr(), np.ones(self.graph.num_vertices)
        for _ in range(1000):
            authorities = turned @ hubs
            authorities /= np.linalg.norm(authorities)
            new_hubs = self.counts @ authorities
            new_hubs /= np.linalg.norm(new_hubs)
            change, hubs = np.abs(new_hubs - hubs).sum(), new_hubs
            if change < 1e-14:
                break
        return hubs / hubs.sum(), authorities / authorities.sum()


@cache
def _case(name: str, data: Path) -> Case:
    plain = READERS[name](data)
    sources, targets, _ = plain.edges()
    weights = np.random.default_rng(len(name)).integers(1, 101, sources.size)
    graph = tg.from_edges(
        plain.vertices_of(sources),
        plain.vertices_of(targets),
        weights,
        directed=plain.directed,
        num_vertices=plain.num_vertices,
    )
    return Case(graph, int(np.argmax(np.diff(graph.adjacency("out").to_numpy()[0]))))


@pytest.fixture(params=RUNS, ids=lambda run: "-".join(run))
def case_and_how(request: pytest.FixtureRequest, shared_data: Path) -> tuple[Case, dict[str, Any]]:
    name, runtime, direction = request.param
    return _case(name, shared_data), {"runtime": runtime, "direction": direction}


@pytest.mark.parametrize("name", READERS)
def test_sizes(shared_data: Path, name: str) -> None:
    graph = _case(name, shared_data).graph
    assert (graph.num_vertices, graph.num_edges) == SIZES[name]


def test_levels(case_and_how: tuple[Case, dict[str, Any]]) -> None:
    case, how = case_and_how
    result = tg.bfs(case.graph, case.source, **how)
    check_bfs(case.graph, case.source, result.levels, result.parents)
    np.testing.assert_array_equal(result.to_numpy(), case.levels)


def test_distances(case_and_how: tuple[Case, dict[str, Any]]) -> None:
    case, how = case_and_how
    result = tg.sssp(case.graph, case.source, **how)
    check_sssp(case.graph, case.source, result.distances, result.parents)
    np.testing.assert_array_equal(result.to_numpy(), case.distances)


def test_components(case_and_how: tuple[Case, dict[str, Any]]) -> None:
    case, how = case_and_how
    result = tg.wcc(case.graph, **how)
    check_wcc(case.graph, result.labels)
    np.testing.assert_array_equal(result.to_numpy(), case.labels)


def test_ranks(case_and_how: tuple[Case, dict[str, Any]]) -> None:
    case, how = case_and_how
    result = tg.pagerank(case.graph, tol_l1=1e-13, max_iterations=250, **how)
    assert result.converged
    assert check_pagerank(case.graph, result.ranks, tol_l1=1e-13) < 1e-10
    np.testing.assert_allclose(result.to_numpy(), case.ranks, rtol=1e-9)


def test_scores(case_and_how: tuple[Case, dict[str, Any]]) -> None:
    case, how = case_and_how
    result = tg.hits(case.graph, tol_l1=1e-13, max_iterations=1000, **how)
    assert result.converged
    check_hits(case.graph, result.hubs, result.authorities, 1e-9)
    for name, expected in zip(("hubs", "authorities"), case.scores, strict=True):
        np.testing.assert_allclose(result.column(name), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_ranks_are_those_of_networkx(shared_data: Path, name: str) -> None:
    graph = _case(name, shared_data).graph
    network: Any = nx.MultiDiGraph() if graph.directed else nx.MultiGraph()
    network.add_nodes_from(range(graph.num_vertices))
    sources, targets, weights = graph.edges()
    assert weights is not None
    network.add_weighted_edges_from(zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True))
    for weighted in (False, True):
        found = nx.pagerank(network, weight="weight" if weighted else None, tol=1e-17, max_iter=1000)
        result = tg.pagerank(graph, tol_l1=1e-13, max_iterations=300, weighted=weighted)
        expected = [found[vertex] for vertex in range(graph.num_vertices)]
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-9)
        check_pagerank(graph, result.ranks, tol_l1=1e-13, weighted=weighted)
