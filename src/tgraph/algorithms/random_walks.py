"""Random walks: uniform, by weight, and second-order ones as node2vec takes them.

Returns: walks, `[W, length + 1]` vertex numbers, -1 after a dead end.
Technique: one random number per step (two per try of a second-order step, by rejection), each a hash of seed, walk and
step, so that the walks are the same on any number of threads (`tgraph.kernels.cpu.random_walks`). node2vec: Grover,
Leskovec 2016.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed, check_whole
from tgraph.results.recorded import recorded
from tgraph.results.walks import Walks
from tgraph.run import How
from tgraph.runtime import Array
from tgraph.task import Task

LARGEST_LENGTH = 2**31 - 2


@recorded
def random_walks(
    graph: Graph,
    starts: Iterable[Any] | None = None,
    *,
    length: int,
    walks_per_vertex: int = 1,
    seed: int = 0,
    p: float = 1.0,
    q: float = 1.0,
    weighted: bool = False,
    **how: Unpack[How],
) -> Walks:
    """Walk from vertex to vertex along edges chosen at random.

    With p or q other than 1 a step depends on the vertex before it: the chance of an edge is divided by p if it leads
    back there, by q if it leads to a vertex that has no edge from there, and not changed otherwise. An edge that occurs
    twice is chosen twice as often. A walk ends where no edge leads on; weights of 0 do not lead on.

    Runs compiled on the CPU; on another device the graph is copied there, and there is no kernel="plain".

    Args:
        graph: Any graph; edges are followed in their direction.
        starts: The user's ids of the vertices to start from; None = all vertices.
        length: The number of steps.
        walks_per_vertex: How many walks start at each; those of one start follow each other.
        seed: Another seed, other walks. Walk i depends on the seed, on i and on its start, not on how many there are.
        p: Above 1: seldom go back at once. Far from 1 it takes more tries to find a step.
        q: Above 1: stay near the vertex before; below 1: go away from it.
        weighted: Choose edges with the probability of their weights, which must be finite and not negative.
        how: How to run, see `tgraph.run`.

    Returns:
        `Walks`: `.walks [W, length + 1]` (vertex numbers, -1 after a dead end), `.ids()`, `.to_lists()`, `.to_numpy()`.

    >>> import tgraph as tg
    >>> ring = tg.from_edges([0, 1, 2], [1, 2, 0])
    >>> random_walks(ring, [1], length=4).walks.tolist()
    [[1, 2, 0, 1, 2]]
    """
    length = check_whole("length", length, 0, LARGEST_LENGTH)
    seed = check_seed(seed)
    bias = (1 / _positive("p", p), 1 / _positive("q", q))
    numbers = np.arange(graph.num_vertices) if starts is None else graph.vertices_of(starts)
    numbers = np.repeat(numbers, check_whole("walks_per_vertex", walks_per_vertex, 0, 2**31))
    if weighted:
        _check_weights(graph)
    from tgraph.kernels.cpu.random_walks import row_sums, walk

    with Task("RandomWalks", graph, how) as task:
        offsets, neighbors, weights = task.rows("out")
        is_biased = bias != (1.0, 1.0)
        if is_biased and not graph.is_sorted:
            offsets, neighbors, weights = _ascending(offsets, neighbors, weights)
        sums = row_sums(offsets, weights) if weighted and weights is not None else None
        if sums is not None and np.isinf(sums.max(initial=0.0)):
            raise InvalidArgumentError("weights of one vertex sum up to infinity; divide them by a large number first")
        watch = task.watch("walks", numbers.size)
        walks = walk(offsets, neighbors, sums, numbers, length, seed, bias if is_biased else None, watch)
        task.record("walk", numbers.size, int((walks[:, 1:] >= 0).sum()))
        return Walks(task.graph, task.graph.runtime.asarray(walks), task.trace)


def _positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1e-300 < value < 1e300:
        raise InvalidArgumentError(f"{name}={value!r} must be a number above 0, between 1e-300 and 1e300")
    return value


def _check_weights(graph: Graph) -> None:
    if graph.weights is None:
        raise InvalidArgumentError("weighted=True needs a graph with weights; build it with some, or leave it out")
    weights = graph.runtime.to_numpy(graph.weights)
    wrong = ~(weights >= 0) | np.isinf(weights) if weights.dtype.kind == "f" else weights < 0
    if wrong.any():
        worst = weights[wrong].tolist()[0]
        raise InvalidArgumentError(f"weights hold {worst}; walks by weight need finite weights of 0 or more")


def _ascending(offsets: Array, neighbors: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Return the rows with their neighbours in ascending order, as two turns of the graph leave them."""
    from tgraph.kernels.cpu.csr import transpose

    count = offsets.size - 1
    return transpose(*transpose(offsets, neighbors, weights, count), count)
