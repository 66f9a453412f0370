"""A model of sweeps on groups larger than can be run: bytes, seconds and memory of an iteration of PageRank.

What every rank holds and sends is counted in a real graph, cut as a group would cut it (`count_loads`), or expected of
an R-MAT graph of any size (`expect_loads`). What that takes is said by a few numbers of the machines (`Machine`), two
of which `measure_machine` finds out here. Computing, the work at the boundary and sending follow each other.

Expected ghosts: the edges of a vertex with d of them lead to ranks at random, so that it is a ghost on
(P - 1)(1 - (1 - 1/P)^d) others. In an R-MAT graph of scale S, C(S, k) vertices have Poisson many edges, E p^(S-k) q^k
on average, where p and q are the sums of the rows of the matrix of probabilities.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.graph import Graph
from tgraph.graph.boundary import exchange_bytes
from tgraph.graph.division import bounds_by_degrees
from tgraph.graph.hubs import find_hubs, hub_edges
from tgraph.group import Alone, use_group
from tgraph.kernels.cpu.id_bits import IdBits
from tgraph.runtime import Array

VALUE_BYTES = 8  # of a message of PageRank
NUMBERS_SHARED = 5  # residual, total, two counts of bytes, whether to save
MESSAGES_PER_RANK = 4  # in an iteration: headers, positions, values, numbers
ROW_SHARES = (0.76, 0.24)  # of the Graph 500 probabilities
VALUES_TRIED, TIMES = 1 << 20, 5


@dataclass(frozen=True)
class Loads:
    """What every rank of a group holds, `[P]` each, and what goes between pairs of them."""

    edges: Array
    vertices: Array
    ghosts: Array  # values that a rank gets in an iteration
    lent: Array  # values that it sends
    num_vertices: int
    num_hubs: int = 0  # whose rows are divided: every rank sends one more value for each

    @property
    def num_ranks(self) -> int:
        """The number of ranks."""
        return self.edges.size


@dataclass(frozen=True)
class Machine:
    """What one rank runs on."""

    edges_per_second: float  # of a sweep
    values_per_second: float  # gathered from the boundary, compared and put down
    bandwidth_bytes_per_second: float  # into a rank and out of it, at the same time
    message_seconds: float  # of every message, beside its bytes
    ranks_per_core: float = 1.0  # above 1, ranks take turns


@dataclass(frozen=True)
class Iteration:
    """What an iteration takes."""

    sent_bytes: int  # by all ranks
    compute_seconds: float  # of the slowest rank
    boundary_seconds: float
    network_seconds: float
    memory_bytes: int  # of the largest rank, beside interpreter, libraries and compiled code

    @property
    def seconds(self) -> float:
        """The length of an iteration: nothing overlaps."""
        return self.compute_seconds + self.boundary_seconds + self.network_seconds


def count_loads(graph: Graph, num_ranks: int) -> Loads:
    """Count what the ranks of a group would hold of this graph, whose incoming rows are swept.

    >>> import tgraph as tg
    >>> loads = count_loads(tg.generate.rmat(8, 8, seed=1, runtime="numpy"), 4)
    >>> int(loads.edges.sum()), int(loads.ghosts.sum()) == int(loads.lent.sum())
    (2048, True)
    """
    offsets, sources, _ = graph.adjacency("in").to_numpy()
    outgoing = [] if not graph.directed else [graph.runtime.to_numpy(graph.out_degrees())]
    bounds = bounds_by_degrees([np.diff(offsets), *outgoing], num_ranks)
    pairs = np.zeros((num_ranks, num_ranks), np.int64)  # [r, s] the vertices of s that are ghosts on r
    hubs = find_hubs(offsets, num_ranks)
    lengths = offsets[hubs + 1] - offsets[hubs]
    edges = np.diff(offsets[bounds])
    for rank in range(num_ranks):
        first, last = int(bounds[rank]), int(bounds[rank + 1])
        bits = IdBits(graph.num_vertices)
        own_hubs = hubs[(hubs >= first) & (hubs < last)]
        for begin, end in pairwise([first - 1, *own_hubs.tolist(), last]):
            bits.add(sources[offsets[begin + 1] : offsets[end]])
        for hub, length in zip(hubs.tolist(), lengths.tolist(), strict=True):
            begin, end = length * rank // num_ranks, length * (rank + 1) // num_ranks
            bits.add(sources[offsets[hub] + begin : offsets[hub] + end])
            edges[rank] += end - begin - (length if hub in own_hubs else 0)
        bits.add(hubs.astype(sources.dtype))
        bits.remove_range(first, last)
        pairs[rank] = np.diff(np.searchsorted(bits.listed(np.dtype(np.int64)), bounds))
    return Loads(edges, np.diff(bounds), pairs.sum(axis=1), pairs.sum(axis=0), graph.num_vertices, hubs.size)


def expect_loads(scale: int, num_ranks: int, edge_factor: int = 16) -> Loads:
    """Return what the ranks of a group will hold of an R-MAT graph with vertices in random order.

    Rows of hubs are divided. Of the others one more than its share may be on the slowest rank.

    >>> loads = expect_loads(22, 4)
    >>> int(loads.lent.sum())
    3827000
    """
    num_vertices, num_edges = 1 << scale, edge_factor << scale
    means = [num_edges * ROW_SHARES[0] ** (scale - ones) * ROW_SHARES[1] ** ones for ones in range(scale + 1)]
    ghosts = sum(
        math.comb(scale, ones) * (num_ranks - 1) * -math.expm1(-mean / num_ranks) for ones, mean in enumerate(means)
    )
    most = hub_edges(num_edges, num_ranks)
    num_hubs = sum(math.comb(scale, ones) for ones, mean in enumerate(means) if mean > most)
    share = np.full(num_ranks, num_edges / num_ranks)
    if num_ranks > 1:
        share[0] += max(mean for mean in means if mean <= most)
    each = np.full(num_ranks, ghosts / num_ranks)
    return Loads(share, np.full(num_ranks, num_vertices / num_ranks), each, each, num_vertices, num_hubs)


def predict(loads: Loads, machine: Machine) -> Iteration:
    """Return what an iteration takes on these machines."""
    size, turns = loads.num_ranks, max(machine.ranks_per_core, 1.0)
    to_others = size - 1
    headers = to_others * (int(exchange_bytes(np.zeros(1), np.zeros(1), VALUE_BYTES)[0]) + NUMBERS_SHARED * 8)
    sent = (loads.lent + loads.num_hubs * to_others / size) * VALUE_BYTES + headers
    received = (loads.ghosts + loads.num_hubs * to_others / size) * VALUE_BYTES + headers
    network = np.maximum(sent, received).max() / machine.bandwidth_bytes_per_second
    network += MESSAGES_PER_RANK * to_others * machine.message_seconds
    return Iteration(
        int(sent.sum()),
        float(loads.edges.max() / machine.edges_per_second * turns),
        float((loads.lent + loads.ghosts).max() / machine.values_per_second * turns),
        float(network if size > 1 else 0.0),
        int(_memory_bytes(loads).max()),
    )


def _memory_bytes(loads: Loads) -> Array:
    """Return the bytes of every rank while PageRank runs: rows, boundary, fields and what travels."""
    local = index_dtype(int((loads.vertices + loads.ghosts).max())).itemsize
    vertex = index_dtype(loads.num_vertices).itemsize
    rows = loads.edges * local + loads.vertices * 8
    boundary = loads.ghosts * vertex + loads.lent * (local + VALUE_BYTES + 1)  # last sent, whether it changed
    fields = loads.vertices * 2 * VALUE_BYTES + (loads.vertices + loads.ghosts) * VALUE_BYTES
    return rows + boundary + fields + np.maximum(loads.lent, loads.ghosts) * VALUE_BYTES


def measure_machine(graph: Graph, bandwidth_bytes_per_second: float, message_seconds: float) -> Machine:
    """Find out how fast a rank with one thread sweeps the graph here and handles a boundary; the rest is given."""
    from tgraph.algorithms import pagerank

    with use_group(Alone()):
        runs = [pagerank(graph, tol_l1=0.0, max_iterations=8, threads=1) for _ in range(2)]
    seconds = statistics.median(iteration.seconds for iteration in runs[1].trace)
    handled = statistics.median(_handle_boundary() for _ in range(TIMES))
    return Machine(graph.num_arcs / seconds, handled, bandwidth_bytes_per_second, message_seconds)


def _handle_boundary() -> float:
    """Do with values what a boundary does, and return how many that are in a second."""
    values, last = np.ones(2 * VALUES_TRIED), np.zeros(VALUES_TRIED)
    places = np.sort(np.random.default_rng(1).permutation(values.size)[: last.size]).astype(np.int32)
    started = time.perf_counter()
    sent = values[places]
    np.count_nonzero(sent != last)
    last[:] = sent
    values[: last.size] = last
    return 2 * last.size / (time.perf_counter() - started)
