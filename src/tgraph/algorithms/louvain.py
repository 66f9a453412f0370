"""Communities of high modularity by the Louvain method.

Returns: labels, vertex numbers: the smallest vertex of the community; modularity; levels.
Technique: vertices move to the neighbouring community where modularity grows most; when few gain, communities become
the vertices of a smaller graph, and so on (Blondel, Guillaume, Lambiotte, Lefebvre 2008), until none of them gains.
Large graphs are moved in batches that see each other's moves only afterwards, small ones and those with short rows by
queues (`tgraph.kernels.cpu.communities`). The answer is the same on any number of threads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Unpack

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed, check_whole
from tgraph.results.communities import Communities
from tgraph.results.recorded import recorded
from tgraph.run import How
from tgraph.runtime import Array
from tgraph.task import Task

if TYPE_CHECKING:
    from tgraph.kernels.cpu.community_levels import Level


@recorded
def louvain(
    graph: Graph, *, resolution: float = 1.0, seed: int = 0, max_levels: int | None = None, **how: Unpack[How]
) -> Communities:
    """Find communities: groups of vertices with more weight inside than the strengths of their vertices would give.

    Modularity is the sum over the communities of inner / total - resolution * (strength / total)^2. The strength of a
    vertex is the sum of the weights of its edges, a self-loop counting twice; total is the sum of all strengths, inner
    that part of it which stays inside the community. The direction of edges does not matter: an edge, and each of two
    opposite ones, joins its ends with its weight.

    Runs compiled on the CPU; on another device the graph is copied there, and there is no kernel="plain".

    Args:
        graph: Any graph whose weights are finite and not negative; edges without weights count as 1.
        resolution: Above 1 communities become smaller, below 1 larger.
        seed: Another seed, another order of the vertices and perhaps other communities.
        max_levels: Stop after joining communities this often; None = when no two of them gain by being one.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `labels` (vertex numbers: the smallest vertex of the community), `modularity` (0 where there is no
        weight), `levels` (how often communities were joined) and `num_communities`.

    >>> import tgraph as tg
    >>> barbell = tg.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> louvain(barbell).labels.tolist()
    [0, 0, 0, 3, 3, 3]
    """
    check_communities(graph, resolution)
    seed = check_seed(seed)
    limit = None if max_levels is None else check_whole("max_levels", max_levels, 0, 2**31)
    from tgraph.kernels.cpu.communities import move_vertices
    from tgraph.kernels.cpu.community_levels import join_communities

    with Task("Louvain", graph, how) as task:
        base, coefficient = start(task, resolution)
        level, labels, levels, is_done = base, base.alone(), 0, False
        while not is_done and levels != limit:
            communities, watch = level.alone(), task.watch("vertices", level.num_vertices)
            count, gain = move_vertices(level, communities, seed, levels, coefficient, watch, is_alone=True)
            num_vertices, num_arcs, is_done = level.num_vertices, level.num_arcs, count == level.num_vertices
            if not is_done:
                labels, levels = communities[labels], levels + 1
                level = join_communities(level, communities, count, task.watch("communities", count))
            task.record("level", num_vertices, num_arcs, growth(base, gain))
        return finish(task, base, labels, resolution, levels, is_done)


def check_communities(graph: Graph, resolution: float) -> None:
    """Raise unless modularity can be computed: a resolution of 0 or more, finite weights of 0 or more."""
    if isinstance(resolution, bool) or not isinstance(resolution, (int, float)) or not 0 <= resolution < math.inf:
        raise InvalidArgumentError(f"resolution={resolution!r} must be a finite number, 0 or more")
    if graph.weights is None or not graph.num_arcs:
        return
    weights = graph.runtime.to_numpy(graph.weights)
    worst = next((value for value in (weights.min(), weights.max()) if not 0 <= value < math.inf), None)
    if worst is not None:
        raise InvalidArgumentError(f"weights hold {worst}; modularity needs finite weights of 0 or more")


def start(task: Task, resolution: float) -> tuple[Level, float]:
    """Return the graph as the first level, and the resolution divided by the sum of all strengths."""
    from tgraph.kernels.cpu.community_levels import first_level

    base = first_level(task.rows("out"), task.rows("in") if task.graph.directed else None)
    total = float(base.strengths.sum())
    coefficient = resolution / total if total else 0.0
    if not math.isfinite(total) or not math.isfinite(coefficient):
        raise InvalidArgumentError(f"weights sum up to {total / 2:g}, beyond float64; scale them to about 1 first")
    return base, coefficient


def growth(base: Level, gain: float) -> float:
    """Return by how much modularity grew for a gain in weight."""
    total = float(base.strengths.sum())
    return 2 * gain / total if total else 0.0


def finish(task: Task, base: Level, labels: Array, resolution: float, levels: int, converged: bool) -> Communities:
    """Name communities, numbered in order, by their smallest vertices, measure modularity and return the result."""
    from tgraph.kernels.cpu.community_levels import inner_weight, sum_by_community

    numbers = labels.astype(np.int64)
    smallest = np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))  # where a number first occurs
    total, modularity = float(base.strengths.sum()), 0.0
    if total:
        shares = sum_by_community(base, labels, smallest.size) / total
        modularity = inner_weight(base, labels) / total - resolution * float((shares * shares).sum())
    named = smallest[numbers].astype(task.rows("out")[1].dtype)
    result = task.result({"labels": named}, converged=converged, vertex_fields=("labels",))
    return Communities(**vars(result), modularity=modularity, levels=levels)
