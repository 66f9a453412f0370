"""From and to cuGraph's graphs, through their edge lists on the host."""

from __future__ import annotations

from typing import Any

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph
from tgraph.interop.pandas import from_pandas, to_pandas

COLUMNS = {"source": ("src", "source", "0_src"), "target": ("dst", "destination", "0_dst")}
WEIGHTS = ("weights", "weight", "wgt")


def from_cugraph(graph: Any, **options: Any) -> Graph:
    """Return a cuGraph graph under its own vertex ids; vertices without edges are not in its edge list.

    `options` are those of `tgraph.from_edges`.
    """
    if not hasattr(graph, "view_edge_list"):
        raise InvalidArgumentError(f"graph is a {type(graph).__name__}; give a cuGraph graph")
    frame = graph.view_edge_list()
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    source, target = (_find(frame, argument, names) for argument, names in COLUMNS.items())
    weight = next((name for name in WEIGHTS if name in frame.columns), None)
    return from_pandas(frame, source, target, weight, directed=bool(graph.is_directed()), **options)


def to_cugraph(graph: Graph) -> Any:
    """Return the graph as a cuGraph graph under the user's ids; vertices without edges are left out."""
    try:
        import cudf
        import cugraph
    except ImportError as error:
        raise MissingDependencyError("cugraph", "to_cugraph") from error
    made = cugraph.Graph(directed=graph.directed)
    edges = cudf.from_pandas(to_pandas(graph))
    weight = None if graph.weights is None else "weight"
    made.from_cudf_edgelist(edges, source="source", destination="target", edge_attr=weight)
    return made


def _find(frame: Any, argument: str, names: tuple[str, ...]) -> str:
    for name in names:
        if name in frame.columns:
            return name
    raise InvalidArgumentError(f"the edge list has no {argument} column; it has {list(frame.columns)}")
