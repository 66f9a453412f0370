"""Greedy colouring: neighbours get different colours, vertices with many edges choose first.

Returns: colors, int32 from 0.
Technique: the vertex with the largest degree comes first, equal degrees in random order; each takes the smallest colour
that no earlier neighbour has, many at once (Jones, Plassmann 1993; `tgraph.kernels.cpu.coloring`). Where that kernel
does not serve, colour after colour: those who take colour 0 are the independent set that a greedy loop in that order
gives, those who take colour 1 that of the rest, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from tgraph.algorithms.mis import take_round
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor
from tgraph.task import Task, uses_kernels


class Coloring(Program):
    """One iteration gives one colour to the first independent set of the vertices that have none."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = check_seed(seed)

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        order = graph.runtime.asarray(_order(graph, self.seed))
        return {"colors": graph.full(-1, "int32"), "order": order}, None

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Give the next colour; return how many vertices have none."""
        runtime, colors = edges.graph.runtime, state.fields["colors"]
        still_open = colors < 0
        while runtime.item(runtime.reduce(still_open, "any")):
            taken, still_open = take_round(edges, state.fields["order"], still_open)
            colors = runtime.where(taken, runtime.full(1, state.iteration, "int32"), colors)
        state.fields["colors"] = colors
        return runtime.reduce(runtime.astype(colors < 0, "int64"), "sum")

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"colors": fields["colors"]}


@dataclass(repr=False)
class ColoringResult(Result):
    """A result that also says how many colours there are."""

    @property
    def num_colors(self) -> int:
        """The number of colours."""
        return int(self.to_numpy().max(initial=-1)) + 1

    def to(self, runtime: str | None = None, device: str | None = None) -> ColoringResult:
        """Return the result with its tensors and its graph on another runtime or device."""
        return _as_coloring(super().to(runtime, device))


@recorded
def coloring(graph: Graph, seed: int = 0, **how: Unpack[How]) -> ColoringResult:
    """Give neighbours different colours, with few colours; directions do not matter and self-loops are ignored.

    A vertex's degree counts its edges in both directions, duplicates included. A seed gives one colouring: the same on
    every runtime, kernel and number of threads.

    Args:
        graph: Any graph.
        seed: Of the random order among equal degrees.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `colors`: int32 from 0, and with `num_colors`.

    >>> import tgraph as tg
    >>> from tgraph.algorithms.coloring import coloring
    >>> result = coloring(tg.from_edges([0, 0, 0, 1], [1, 2, 3, 2]))
    >>> result.num_colors, result.colors.tolist()[0], result.colors.tolist()[3]
    (3, 0, 1)
    """
    check_seed(seed)
    if not uses_kernels(graph, how):
        return _as_coloring(run(Coloring(seed), graph, **how))
    from tgraph.kernels.cpu.coloring import first_fit_colors

    with Task("Coloring", graph, how) as task:
        sides = tuple(task.rows(along)[:2] for along in (("out", "in") if graph.directed else ("out",)))
        order = _order(task.graph, seed)
        colors = first_fit_colors(sides, order, task.watch("vertices", graph.num_vertices))
        return _as_coloring(task.result({"colors": colors}))


def _order(graph: Graph, seed: int) -> Array:
    from tgraph.kernels.cpu.coloring import largest_first_order

    degrees = graph.runtime.to_numpy(graph.out_degrees())
    if graph.directed:
        degrees = degrees + graph.runtime.to_numpy(graph.in_degrees())
    return largest_first_order(degrees, seed)


def _as_coloring(result: Result) -> ColoringResult:
    own = (result.name, result.graph, result.fields, result.trace, result.converged, result.residual)
    return ColoringResult(*own, result.vertex_fields)
