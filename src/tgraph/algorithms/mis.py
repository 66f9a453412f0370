"""A maximal independent set: vertices without an edge between them, to which no vertex can be added.

Returns: members, bool.
Technique: every vertex draws a random number, and a vertex is taken once its neighbours with smaller numbers are out:
the set that a greedy loop in that order gives (Luby 1986; `tgraph.kernels.cpu.mis`). Where that kernel does not serve,
the same by rounds: whoever has the smallest number around it is taken, its neighbours leave.
"""

from __future__ import annotations

from typing import Unpack

from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels

NEVER = 2**63 - 1  # behind every place in an order


class MIS(Program):
    """Vertices with the smallest number around them are taken; their neighbours are out of the question."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = check_seed(seed)

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        from tgraph.kernels.cpu.mis import random_order

        order = graph.runtime.asarray(random_order(graph.num_vertices, self.seed))
        return {"members": graph.full(False, "bool"), "open": graph.full(True, "bool"), "order": order}, None

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Take and put out one round's vertices; return how many are left."""
        runtime, fields = edges.graph.runtime, state.fields
        taken, still_open = take_round(edges, fields["order"], fields["open"])
        fields["members"], fields["open"] = fields["members"] | taken, still_open
        return runtime.reduce(runtime.astype(still_open, "int64"), "sum")

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"members": fields["members"]}


def take_round(edges: Edges, order: Tensor, is_open: Tensor) -> tuple[Tensor, Tensor]:
    """Return the masks of the open vertices that come first among their open neighbours, and of those still open."""
    runtime = edges.graph.runtime
    first = edges.aggregate(runtime.where(is_open, order, NEVER), "min", along="both")
    taken = is_open & (order <= first)  # a loop brings a vertex its own number
    beside = edges.aggregate(taken, "any", along="both")
    return taken, is_open & ~taken & ~beside


@recorded
def mis(graph: Graph, seed: int = 0, **how: Unpack[How]) -> Result:
    """Find a maximal independent set; edge directions do not matter and self-loops are ignored.

    A seed gives one set: the same on every runtime, kernel and number of threads.

    Args:
        graph: Any graph.
        seed: Of the random order in which vertices are taken.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `members`: bool, True in the set.

    >>> import tgraph as tg
    >>> from tgraph.algorithms.mis import mis
    >>> mis(tg.from_edges([0, 0, 0], [1, 2, 3]), seed=2).members.tolist()
    [False, True, True, True]
    """
    check_seed(seed)
    if not uses_kernels(graph, how):
        return run(MIS(seed), graph, **how)
    from tgraph.kernels.cpu.mis import first_independent, random_order

    with Task("MIS", graph, how) as task:
        sides = tuple(task.rows(along)[:2] for along in (("out", "in") if graph.directed else ("out",)))
        order = random_order(graph.num_vertices, seed)
        members = first_independent(sides, order, task.watch("vertices", graph.num_vertices))
        return task.result({"members": members})
