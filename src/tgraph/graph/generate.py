"""Graphs that are made, not measured: `tgraph.generate`.

Random ones take a `seed` and give the same graph for it on any number of threads and on every runtime. All of them take
`weights`, see `tgraph.graph.random_weights`: None, `"uniform"` or a pair `(low, high)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph.build import from_edges
from tgraph.graph.graph import Graph
from tgraph.graph.random_weights import check_seed, check_share, check_whole, random_weights
from tgraph.kernels.cpu.barabasi_albert import barabasi_albert_edges
from tgraph.kernels.cpu.copying_model import copied_links
from tgraph.kernels.cpu.counter_random import uniform
from tgraph.kernels.cpu.erdos_renyi import distinct_pairs
from tgraph.kernels.cpu.rmat import rmat_edges
from tgraph.runtime import Array

MAX_SCALE = 40
COUNT_STREAM, REMOVED_STREAM, ADDED_STREAM, PLACE_STREAM = 101, 102, 103, 104


def rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    seed: int = 0,
    weights: Any = None,
    probabilities: tuple[float, float, float, float] = (0.57, 0.19, 0.19, 0.05),
    directed: bool = True,
    permute: bool = True,
    duplicates: str = "keep",
    self_loops: str = "keep",
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make a Kronecker graph: few vertices with very many edges, small distances, as in social networks and the web.

    Args:
        scale: There are 2^scale vertices, 0 to 40; some of them stay isolated.
        edge_factor: There are edge_factor * 2^scale edges, before `duplicates` and `self_loops` are applied.
        seed: Another seed, another graph.
        weights: None; `"uniform"`, float64 from 0 to below 1; or `(low, high)`, from low to below high: int64 for
            integers, float64 for floats.
        probabilities: Of the four quarters of the adjacency matrix; the default is that of the Graph 500 benchmark.
        directed: If False, every edge is stored in both directions.
        permute: Rename the vertices at random, so that ids say nothing about degrees.
        duplicates: As in `from_edges`.
        self_loops: As in `from_edges`.
        runtime: As in `from_edges`.
        device: As in `from_edges`.

    >>> rmat(10, 8, seed=1).num_edges
    8192
    """
    scale = check_whole("scale", scale, 0, MAX_SCALE)
    edge_factor = check_whole("edge_factor", edge_factor, 0)
    shares = _check_probabilities(probabilities)
    sources, targets = rmat_edges(scale, edge_factor << scale, shares, check_seed(seed), permute)
    policies = {"duplicates": duplicates, "self_loops": self_loops}
    return _build(sources, targets, 1 << scale, weights, seed, directed, runtime, device, **policies)


def rmat_chunks(
    scale: int,
    edge_factor: int = 16,
    *,
    seed: int = 0,
    probabilities: tuple[float, float, float, float] = (0.57, 0.19, 0.19, 0.05),
    permute: bool = True,
    edges_per_chunk: int = 1 << 22,
) -> Iterator[tuple[Array, Array]]:
    """Yield the edges of the same graph as `rmat`, chunk by chunk, for `tgraph.build_file`.

    >>> [len(sources) for sources, targets in rmat_chunks(10, 8, edges_per_chunk=5000)]  # of chunks
    [5000, 3192]
    """
    scale = check_whole("scale", scale, 0, MAX_SCALE)
    total = check_whole("edge_factor", edge_factor, 0) << scale
    shares, number = _check_probabilities(probabilities), check_seed(seed)
    for first in range(0, total, check_whole("edges_per_chunk", edges_per_chunk, 1)):
        yield rmat_edges(scale, min(edges_per_chunk, total - first), shares, number, permute, first)


def erdos_renyi(
    num_vertices: int,
    num_edges: int | None = None,
    *,
    probability: float | None = None,
    seed: int = 0,
    weights: Any = None,
    directed: bool = False,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make a graph in which all edges are equally likely, without self-loops and duplicates.

    Give `num_edges`, the exact number of edges, or `probability`, that of each possible edge.

    >>> erdos_renyi(100, 250, seed=1).num_edges
    250
    """
    num_vertices = check_whole("num_vertices", num_vertices, 0, 2**31 - 1)
    num_possible = num_vertices * max(num_vertices - 1, 0) // (1 if directed else 2)
    if (num_edges is None) == (probability is None):
        raise InvalidArgumentError(
            f"num_edges={num_edges!r} and probability={probability!r}: give one of the two, not both and not none"
        )
    seed = check_seed(seed)
    if probability is not None:
        num_edges = _binomial(num_possible, probability, seed)
    num_edges = check_whole("num_edges", num_edges, 0, num_possible)
    sources, targets = distinct_pairs(num_vertices, num_edges, num_possible, seed)
    return _build(sources, targets, num_vertices, weights, seed, directed, runtime, device)


def barabasi_albert(
    num_vertices: int,
    edges_per_vertex: int,
    *,
    seed: int = 0,
    weights: Any = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make an undirected graph that grew: each new vertex chooses neighbours in proportion to their degrees.

    It starts as a star of edges_per_vertex + 1 vertices and is connected, without self-loops and duplicates.

    >>> barabasi_albert(100, 3, seed=1).num_edges
    291
    """
    num_vertices = check_whole("num_vertices", num_vertices, 2, 2**31 - 1)
    edges_per_vertex = check_whole("edges_per_vertex", edges_per_vertex, 1, num_vertices - 1, "num_vertices - 1")
    sources, targets = barabasi_albert_edges(num_vertices, edges_per_vertex, check_seed(seed))
    return _build(sources, targets, num_vertices, weights, seed, False, runtime, device)


def web_like(
    num_vertices: int,
    edges_per_vertex: int = 16,
    *,
    seed: int = 0,
    copied_share: float = 0.9,
    weights: Any = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make a directed graph like the web: pages copy most of their links from a page shortly before them.

    Args:
        num_vertices: The pages, in the order of their addresses: those of a site are side by side.
        edges_per_vertex: Links of every page; links to the same page count once, so there are some fewer.
        seed: Another seed, another graph.
        copied_share: The part of its links that a page copies; of the others one half leads nearby.
        weights: As in `rmat`.
        runtime: As in `from_edges`.
        device: As in `from_edges`.

    >>> graph = web_like(1000, 8, seed=1)
    >>> graph.num_vertices, 7000 < graph.num_edges <= 8000
    (1000, True)
    """
    num_vertices = check_whole("num_vertices", num_vertices, 0, 2**31 - 1)
    edges_per_vertex = check_whole("edges_per_vertex", edges_per_vertex, 0)
    share = check_share("copied_share", copied_share)
    targets = copied_links(num_vertices, edges_per_vertex, share, check_seed(seed))
    sources = np.repeat(np.arange(num_vertices, dtype=targets.dtype), edges_per_vertex)
    policies = {"duplicates": "first"}
    return _build(sources, targets.ravel(), num_vertices, weights, seed, True, runtime, device, **policies)


def grid(
    rows: int,
    columns: int,
    *,
    diagonal: bool = False,
    seed: int = 0,
    weights: Any = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make an undirected grid: vertex r * columns + c is joined to those beside, above and below it.

    With `diagonal`, also to those at its corners.

    >>> grid(2, 3).num_edges, grid(2, 3, diagonal=True).num_edges
    (7, 11)
    """
    numbers = _grid_numbers(rows, columns)
    steps = [(numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])]
    if diagonal:
        steps += [(numbers[:-1, :-1], numbers[1:, 1:]), (numbers[:-1, 1:], numbers[1:, :-1])]
    sources, targets = (np.concatenate([step[end].ravel() for step in steps]) for end in (0, 1))
    return _build(sources, targets, numbers.size, weights, seed, False, runtime, device)


def road_like(
    rows: int,
    columns: int,
    *,
    seed: int = 0,
    removed_share: float = 0.1,
    diagonal_share: float = 0.05,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make an undirected graph like a road network: small degrees, long ways, weights that are lengths.

    Vertices are the points of a grid, each moved a little. About `removed_share` of the grid's edges are missing, and
    `diagonal_share` of its cells have a diagonal. Every vertex keeps the edge to the left or upwards, so the graph is
    connected. Weights are the distances of the points, float64, with 1 for a step of the grid.

    >>> graph = road_like(20, 30, seed=1)
    >>> graph.num_vertices, graph.directed, graph.weighted
    (600, False, True)
    """
    numbers = _grid_numbers(rows, columns)
    seed = check_seed(seed)
    for argument, share in (("removed_share", removed_share), ("diagonal_share", diagonal_share)):
        check_share(argument, share)
    leftwards, upwards = _kept_roads(numbers, seed, removed_share)
    crossed = uniform(numbers.size, seed, ADDED_STREAM).reshape(numbers.shape) < diagonal_share
    crossed[:1] = crossed[:, :1] = False
    steps = ((leftwards, 1), (upwards, columns), (crossed, columns + 1))
    targets = np.concatenate([numbers[kept] for kept, _ in steps])
    sources = np.concatenate([numbers[kept] - distance for kept, distance in steps])
    lengths = _distances(numbers, sources, targets, seed)
    return from_edges(sources, targets, lengths, False, numbers.size, runtime=runtime, device=device)


def star(
    num_vertices: int,
    *,
    directed: bool = False,
    seed: int = 0,
    weights: Any = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make a star: an edge from vertex 0 to every other one.

    >>> star(5).out_degrees().tolist()
    [4, 1, 1, 1, 1]
    """
    targets = np.arange(1, check_whole("num_vertices", num_vertices, 0))
    return _build(np.zeros_like(targets), targets, num_vertices, weights, seed, directed, runtime, device)


def path(
    num_vertices: int,
    *,
    directed: bool = False,
    seed: int = 0,
    weights: Any = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make a path: an edge from every vertex to the next one.

    >>> path(4, directed=True).out_targets.tolist()
    [1, 2, 3]
    """
    targets = np.arange(1, check_whole("num_vertices", num_vertices, 0))
    return _build(targets - 1, targets, num_vertices, weights, seed, directed, runtime, device)


def complete(
    num_vertices: int,
    *,
    directed: bool = False,
    seed: int = 0,
    weights: Any = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Make the graph with all edges between different vertices; directed, in both directions.

    >>> complete(4).num_edges, complete(4, directed=True).num_edges
    (6, 12)
    """
    num_vertices = check_whole("num_vertices", num_vertices, 0)
    wanted = ~np.eye(num_vertices, dtype=bool) if directed else np.triu(np.ones((num_vertices,) * 2, bool), 1)
    sources, targets = np.nonzero(wanted)
    return _build(sources, targets, num_vertices, weights, seed, directed, runtime, device)


def _build(
    sources: Array,
    targets: Array,
    num_vertices: int,
    weights: Any,
    seed: int,
    directed: bool,
    runtime: str | None,
    device: str | None,
    **policies: str,
) -> Graph:
    values = random_weights(weights, sources.size, seed)
    return from_edges(sources, targets, values, directed, num_vertices, runtime=runtime, device=device, **policies)


def _check_probabilities(probabilities: Any) -> tuple[float, ...]:
    shares = tuple(check_share("each of probabilities", share) for share in probabilities)
    if len(shares) != 4 or abs(sum(shares) - 1) > 1e-6:
        raise InvalidArgumentError(
            f"probabilities={probabilities!r} has {len(shares)} entries with the sum {sum(shares):g}; "
            "give four numbers whose sum is 1"
        )
    return shares


def _binomial(num_possible: int, probability: float, seed: int) -> int:
    share = check_share("probability", probability)
    return int(np.random.default_rng([seed, COUNT_STREAM]).binomial(num_possible, share))


def _grid_numbers(rows: Any, columns: Any) -> Array:
    """Return the vertex of every place, `[rows, columns] int64`."""
    rows, columns = check_whole("rows", rows, 0), check_whole("columns", columns, 0)
    return np.arange(rows * columns).reshape(rows, columns)


def _kept_roads(numbers: Array, seed: int, removed_share: float) -> tuple[Array, Array]:
    """Say for every place whether the edge to the left and the one upwards stay; one of them always does."""
    draws = uniform(2 * numbers.size, seed, REMOVED_STREAM).reshape(2, *numbers.shape)
    leftwards, upwards = draws >= removed_share
    leftwards[:, :1] = False
    upwards[:1] = False
    lost = ~(leftwards | upwards)
    leftwards[:1] |= lost[:1]
    upwards[1:] |= lost[1:]
    leftwards[:, :1] = False
    return leftwards, upwards


def _distances(numbers: Array, sources: Array, targets: Array, seed: int) -> Array:
    """Return the lengths of edges between grid points that were moved by up to 0.3 in each direction."""
    moves = 0.6 * uniform(2 * numbers.size, seed, PLACE_STREAM).reshape(2, -1) - 0.3
    places = np.stack(np.divmod(numbers.ravel(), max(numbers.shape[1], 1))) + moves
    across = places[:, sources] - places[:, targets]
    lengths: Array = np.hypot(across[0], across[1])
    return lengths
