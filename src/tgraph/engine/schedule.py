"""Which direction an iteration takes, from the work that each would do.

Push does work on the edges of the active vertices; pull looks at every vertex, and at the incoming edges of those that
can still change.
Per edge, push costs more: positions are made, data expanded, and targets hit at random, where pull reads the graph's
own tensors in order.
"""

from __future__ import annotations

PUSH_COST_PER_EDGE = 2.0  # of a pulled edge; 1 to 3 measured with numpy and torch on R-MAT 18


def choose_direction(wanted: str, frontier_edges: int, unexplored_edges: int, num_vertices: int) -> str:
    """Return push or pull.

    >>> choose_direction("auto", 10, 1000, 100), choose_direction("auto", 900, 1000, 100)
    ('push', 'pull')
    """
    if wanted != "auto":
        return wanted
    return "pull" if frontier_edges * PUSH_COST_PER_EDGE > unexplored_edges + num_vertices else "push"
