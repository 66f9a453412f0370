"""Which direction an iteration takes, from the work that each would do.

Push does work on the edges of the active vertices; pull looks at every vertex, and at the incoming edges of those that
can still change.
Per edge, push costs more: positions are made, data expanded, and targets hit at random, where pull reads the graph's
own tensors in order.
"""

from __future__ import annotations

from dataclasses import dataclass

MANY_EDGES = 15  # a frontier with this part of all edges not yet followed is worth a pull
FEW_ACTIVE = 18  # pull goes on while more than this part of the vertices are active, or ever more
PUSH_COST_PER_EDGE = 2.0  # of a pulled edge; 1 to 3 measured with numpy and torch on R-MAT 18


def choose_direction(wanted: str, frontier_edges: int, unexplored_edges: int, num_vertices: int) -> str:
    """Return push or pull.

    >>> choose_direction("auto", 10, 1000, 100), choose_direction("auto", 900, 1000, 100)
    ('push', 'pull')
    """
    if wanted != "auto":
        return wanted
    return "pull" if frontier_edges * PUSH_COST_PER_EDGE > unexplored_edges + num_vertices else "push"


@dataclass
class WaveDirection:
    """The direction of a search whose pull ends at the first active neighbour (Beamer, Asanovic, Patterson 2012).

    Numbers are those of the whole graph, so that all who compute on parts of it choose alike.

    >>> wave = WaveDirection(num_vertices=100, unexplored_edges=1000)
    >>> wave.choose(1, 10), wave.choose(40, 600), wave.choose(50, 300), wave.choose(2, 4)
    ('push', 'pull', 'pull', 'push')
    """

    num_vertices: int
    unexplored_edges: int
    last: str = "push"
    last_active: int = 0

    def choose(self, num_active: int, frontier_edges: int) -> str:
        """Return push or pull for an iteration with so many active vertices, which have so many edges."""
        if self.last == "pull":
            pulls = num_active >= self.last_active or num_active > self.num_vertices // FEW_ACTIVE
        else:
            pulls = frontier_edges > (self.unexplored_edges + self.num_vertices) // MANY_EDGES
        self.unexplored_edges = max(self.unexplored_edges - frontier_edges, 0)
        self.last, self.last_active = "pull" if pulls else "push", num_active
        return self.last
