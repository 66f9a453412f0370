"""Connected communities of high modularity by the Leiden algorithm.

Returns: labels, vertex numbers: the smallest vertex of the community; modularity; levels.
Technique: as Louvain, but before communities are joined each is divided into connected parts, and the parts become the
vertices of the smaller graph, which start in their communities and can still leave them (Traag, Waltman, van Eck 2019).
On levels with many edges parts are found by moving single vertices inside the communities, more than once, and dividing
what comes out into connected pieces (`tgraph.kernels.cpu.community_refinement`); elsewhere, as in the paper, a vertex
moves once. Communities are connected, which Louvain does not promise.
Memory: a smaller graph takes 12 bytes per edge (8 if it is large and weights are whole numbers); beside it exist either
the edges inside its communities or the next one. Where parts stay small it can have half as many edges as the graph.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from tgraph.algorithms.louvain import check_communities, finish, growth, start
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed
from tgraph.results.communities import Communities
from tgraph.results.recorded import recorded
from tgraph.run import How
from tgraph.runtime import Array
from tgraph.task import Task


@recorded
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
        from tgraph.kernels.cpu.communities import move_vertices
        from tgraph.kernels.cpu.community_levels import join_communities, number_in_order
        from tgraph.kernels.cpu.community_refinement import refine_communities

        level, vertices, communities = self.base, self.base.alone(), self.labels.copy()
        is_alone = self.turns == 0
        while True:
            watch, how = self.task.watch("vertices", level.num_vertices), (self.seed, self._turn(), self.coefficient)
            count, gain = move_vertices(level, communities, *how, watch, is_alone)
            self.task.record("move", level.num_vertices, level.num_arcs, growth(self.base, gain))
            if count == level.num_vertices:
                break
            how = (self.seed, self._turn(), self.coefficient)
            parts = refine_communities(level, communities, *how, self.task.watch("vertices", level.num_vertices))
            num_parts = number_in_order(parts)
            is_alone = num_parts == level.num_vertices
            if is_alone:  # nobody is connected inside a community: all are better alone
                communities = level.alone()
                continue
            num_vertices, num_arcs = level.num_vertices, level.num_arcs
            level = join_communities(level, parts, num_parts, self.task.watch("parts", num_parts))
            self.task.record("refine and join", num_vertices, num_arcs)
            vertices, communities = parts[vertices], _of_parts(parts, communities, num_parts)
            self.levels += 1
        before, self.labels = self.labels, communities[vertices]
        number_in_order(self.labels)
        return not np.array_equal(before, self.labels)

    def _turn(self) -> int:
        """Return the number of the next order of vertices."""
        self.turns += 1
        return self.turns


def _of_parts(parts: Array, communities: Array, num_parts: int) -> Array:
    """Return the community of every part, `[num_parts]`."""
    of_parts = np.empty(num_parts, communities.dtype)
    of_parts[parts] = communities
    return of_parts
