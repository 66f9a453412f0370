"""From and to graphs of DGL."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_edges


def from_dgl(graph: Any, weight: str | None = None, *, runtime: str | None = None, device: str | None = None) -> Graph:
    """Return the edges of a homogeneous `dgl.DGLGraph` as a directed graph.

    Args:
        graph: Of DGL.
        weight: The name in `graph.edata` with one number per edge; None = no weights.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.
    """
    if not getattr(graph, "is_homogeneous", False):
        raise InvalidArgumentError(
            f"graph is a {type(graph).__name__} of several kinds of vertices; give one of one kind"
        )
    sources, targets = graph.edges(order="eid")
    weights = None
    if weight is not None:
        if weight not in graph.edata:
            known = ", ".join(graph.edata) or "none"
            raise InvalidArgumentError(f"weight={weight!r} is not in graph.edata; it has {known}")
        weights = graph.edata[weight].reshape(-1).cpu().numpy().copy()
    where: dict[str, Any] = {"runtime": runtime, "device": device}
    return from_edges(sources, targets, weights, num_vertices=graph.num_nodes(), labels=None, **where)


def to_dgl(graph: Graph) -> Any:
    """Return the graph as a `dgl.DGLGraph` that shares no memory with it; weights are `edata["weight"]`.

    An undirected edge is there in both directions. DGL knows no ids: vertices are numbers there.
    """
    try:
        import dgl
        import torch
    except ImportError as error:
        raise MissingDependencyError("dgl", "to_dgl") from error
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    ends = torch.from_numpy(sources), torch.from_numpy(targets.astype(np.int64))
    made = dgl.graph(ends, num_nodes=graph.num_vertices)
    if weights is not None:
        made.edata["weight"] = torch.tensor(weights)
    return made
