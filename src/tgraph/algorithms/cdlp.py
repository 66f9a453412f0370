"""Community detection by label propagation, as LDBC Graphalytics defines it.

Returns: labels, vertex numbers: the vertex whose own label reached this vertex.
Technique: all vertices at once take the most frequent label among their neighbours, the smallest of several (Raghavan,
Albert, Kumara 2007; made deterministic in the LDBC Graphalytics specification). The compiled form counts labels in
small hash tables and skips vertices around which nothing changed (`tgraph.kernels.cpu.cdlp`); the other one sorts
pairs of vertex and label.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.operators import changed_mask
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor
from tgraph.task import Task, uses_kernels


class CDLP(Program):
    """Every vertex takes the most frequent label among its neighbours."""

    along, by_parts = "both", True
    vertex_fields = ("labels",)

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        numbers, order = graph.numbers(), _id_order(graph)
        if order is None:
            return {"labels": numbers}, None
        return {"labels": graph.runtime.index_select(graph.runtime.asarray(_places(graph, order)), numbers)}, None

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Let all vertices look around at the same time."""
        runtime, labels = edges.graph.runtime, state.fields["labels"]
        new_labels = edges.most_frequent(labels)
        state.fields["labels"] = new_labels
        return edges.graph.sum_of(runtime.astype(changed_mask(labels, new_labels), "int64"))

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        order = _id_order(graph)
        if order is None:
            return fields
        return {"labels": graph.runtime.index_select(graph.runtime.asarray(order), fields["labels"])}


@recorded
def cdlp(graph: Graph, *, max_iterations: int = 10, **how: Unpack[How]) -> Result:
    """Find communities: vertices that took over the same label from their neighbours.

    A vertex starts with its own id as label. In each iteration all vertices at once take the most frequent label among
    their neighbours along incoming and outgoing edges; of several, the one whose id is smallest (by vertex number,
    where ids are neither integers nor strings). A neighbour counts once per edge: twice if edges lead both ways. A
    vertex without edges keeps its label.

    Args:
        graph: Any graph; weights do not count.
        max_iterations: The number of iterations, fewer if no label changes any more. Labels may swap places for ever
            (two vertices and one edge do), so there is always a limit.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `labels`: vertex numbers; the vertices of a community have the same one. `residual` is the number
        of labels that the last iteration changed; `converged` says that there was none.

    >>> import tgraph as tg
    >>> triangles = tg.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], directed=False)
    >>> cdlp(triangles).labels.tolist()
    [0, 0, 0, 3, 3, 3]
    """
    if max_iterations is None:
        raise InvalidArgumentError("max_iterations=None: labels may change for ever; give a whole number, 0 or more")
    if not max_iterations or not graph.num_vertices or not uses_kernels(graph, how):
        return run(CDLP(), graph, max_iterations=max_iterations, **how)
    from tgraph.kernels.cpu.cdlp import Propagation

    with Task("CDLP", graph, how, max_iterations) as task:
        order, changed = _id_order(graph), 1
        incoming = task.rows("in")[:2] if graph.directed else None
        propagation = Propagation(task.rows("out")[:2], incoming, _places(graph, order))
        while changed and len(task.trace) < max_iterations:
            vertices, edges, changed = propagation.sweep(task.watch("vertices", graph.num_vertices))
            task.record("pull", vertices, edges, float(changed))
        labels = propagation.labels if order is None else order[propagation.labels]
        return task.result(
            {"labels": labels}, converged=not changed, residual=float(changed), vertex_fields=("labels",)
        )


def _id_order(graph: Graph) -> Array | None:
    """Return the vertices in the order of the user's ids; None where that is the order of their numbers."""
    if graph.vertex_labels is None or graph.vertex_labels.dtype.kind == "O":
        return None
    ids = graph.labels_of(np.arange(graph.num_vertices))
    if bool((ids[1:] > ids[:-1]).all()):
        return None
    return np.argsort(ids, kind="stable").astype(index_dtype(graph.num_vertices))


def _places(graph: Graph, order: Array | None) -> Array:
    """Return the first labels: the place of each vertex among the user's ids."""
    count = graph.num_vertices
    places = np.arange(count, dtype=index_dtype(count))
    if order is not None:
        places[order] = np.arange(count)
    return places
