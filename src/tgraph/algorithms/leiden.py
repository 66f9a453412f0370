"""Connected communities of high modularity by the Leiden algorithm.

Returns: labels, vertex numbers: the smallest vertex of the community; modularity; levels.
Technique: as Louvain, but before communities are joined each is divided into well connected parts, and the parts become
the vertices of the smaller graph, which start in their communities and can still leave them (Traag, Waltman, van Eck
2019; `tgraph.kernels.cpu.community_refinement`). Communities are connected, which Louvain does not promise.
Memory: a smaller graph takes 12 bytes per edge, and two exist while one is made of the other. Parts are smaller than
communities, so that on a graph with few communities these two can be larger than the graph itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from tgraph.algorithms.louvain import check_communities, finish, growth, start
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed
from tgraph.results.communities import Communities
from tgraph.run import How
from tgraph.runtime import Array
from tgraph.task import Task

if TYPE_CHECKING:
    from tgraph.kernels.cpu.communities import Level


def leiden(
    graph: Graph, *, resolution: float = 1.0, seed: int = 0, max_iterations: int | None = 2, **how: Unpack[How]
) -> Communities:
    """Find connected communities: groups of vertices with more weight inside than their strengths would give.

    Modularity is that of `tgraph.louvain`. Every community hangs together by edges with weight, and no two of them gain
    by being one.

    Runs compiled on the CPU; on another device the graph is copied there, and there is no kernel="plain".

    Args:
        graph: Any graph whose weights are finite and not negative; edges without weights count as 1.
        resolution: Above 1 communities become smaller, below 1 larger.
        seed: Another seed, another order of the vertices and perhaps other communities.
        max_iterations: How often to begin again with single vertices, in the communities found before; fewer if they
            stay the same. None = until they do.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `labels` (vertex numbers: the smallest vertex of the community), `modularity` (0 where there is no
        weight), `levels` (how often parts were joined) and `num_communities`; `converged` says that the last iteration
        changed nothing.

    >>> import tgraph as tg
    >>> barbell = tg.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> leiden(barbell).labels.tolist()
    [0, 0, 0, 3, 3, 3]
    """
    check_communities(graph, resolution)
    seed = check_seed(seed)
    with Task("Leiden", graph, how, max_iterations) as task:
        descent = _Descent(task, resolution, seed)
        iterations, is_done = 0, False
        while not is_done and iterations != task.max_iterations:
            is_done = not descent.run()
            iterations += 1
        return finish(task, descent.base, descent.labels, resolution, descent.levels, is_done)


class _Descent:
    """From single vertices to communities that nobody gains by joining, again and again."""

    def __init__(self, task: Task, resolution: float, seed: int) -> None:
        self.task, self.seed = task, seed
        self.base, self.coefficient = start(task, resolution)
        self.labels = self.base.alone()
        self.levels = self.turns = 0

    def run(self) -> bool:
        """Go through all levels once; say whether any label changed."""
        from tgraph.kernels.cpu.communities import move_single_vertices, move_vertices
        from tgraph.kernels.cpu.community_levels import join_communities, number_in_order

        level, vertices, communities = self.base, self.base.alone(), self.labels.copy()
        while True:
            watch = self.task.watch("vertices", level.num_vertices)
            if self.turns == 0:
                communities, gain = move_single_vertices(level, self.seed, 0, self.coefficient, watch)
            else:
                gain = move_vertices(level, communities, self._order(level), self.coefficient, watch)
            count = number_in_order(communities)
            self.task.record("move", level.num_vertices, level.num_arcs, growth(self.base, gain))
            if count == level.num_vertices:
                break
            parts = self._parts(level, communities)
            num_parts = number_in_order(parts)
            if num_parts == level.num_vertices:  # nobody is connected inside a community: all are better alone
                communities = level.alone()
                continue
            joined = join_communities(level, parts, num_parts, self.task.watch("parts", num_parts))
            self.task.record("refine and join", level.num_vertices, level.num_arcs)
            vertices, level = parts[vertices], joined
            communities = _of_parts(parts, communities, num_parts)
            self.levels += 1
        before, self.labels = self.labels, communities[vertices]
        number_in_order(self.labels)
        return not np.array_equal(before, self.labels)

    def _order(self, level: Level) -> Array:
        from tgraph.kernels.cpu.communities import visiting_order

        self.turns += 1
        return visiting_order(level, self.seed, self.turns)

    def _parts(self, level: Level, communities: Array) -> Array:
        """Return well connected parts of the communities; connected ones if no two vertices are."""
        from tgraph.kernels.cpu.community_refinement import connected_parts, refine_communities

        watch = self.task.watch("vertices", level.num_vertices)
        parts = refine_communities(level, communities, self._order(level), self.coefficient, watch)
        is_alone = bool((parts == level.alone()).all())
        return connected_parts(level, communities) if is_alone else parts


def _of_parts(parts: Array, communities: Array, num_parts: int) -> Array:
    """Return the community of every part, `[num_parts]`."""
    of_parts = np.empty(num_parts, communities.dtype)
    of_parts[parts] = communities
    return of_parts
