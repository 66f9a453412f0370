"""From and to PyTorch Geometric's `Data`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_csr, from_edges
from tgraph.runtime import Array


def from_pyg(
    data: Any,
    directed: bool = True,
    weight: str | None = "auto",
    *,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Return the edges of a `torch_geometric.data.Data` as a graph.

    Args:
        data: It needs `edge_index`; `num_nodes` is taken from it, isolated vertices included.
        directed: False where `edge_index` holds both directions of every edge and each pair is one edge.
        weight: The attribute with one number per edge; `"auto"`: `edge_weight`, else `edge_attr` if it has one
            number per edge, else no weights. None: no weights.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from_pyg(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=4))
    Graph(4 vertices, 2 edges, directed, unweighted, torch on cpu)
    """
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InvalidArgumentError(f"data is a {type(data).__name__} without an edge_index of the shape [2, edges]")
    graph = from_edges(
        edge_index[0],
        edge_index[1],
        _edge_weights(data, weight),
        num_vertices=data.num_nodes,
        labels=None,
        runtime=runtime,
        device=device,
    )
    if not directed:
        rows = graph.adjacency("out").to_numpy()
        graph = from_csr(*rows, directed=False, runtime=runtime, device=device)
    labels = getattr(data, "vertex_labels", None)
    return graph if labels is None else graph.relabel(labels)


def to_pyg(graph: Graph) -> Any:
    """Return the graph as a `torch_geometric.data.Data` that shares no memory with it.

    It has `edge_index` (both directions of an undirected edge), `num_nodes`, `edge_weight` if there are weights, and
    `vertex_labels` if there are labels: a tensor of integers, or a list of other ids.

    >>> import tgraph as tg
    >>> to_pyg(tg.from_edges([0, 0], [1, 2], weights=[0.5, 1.5]))
    Data(edge_index=[2, 2], num_nodes=3, edge_weight=[2])
    """
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError as error:
        raise MissingDependencyError("torch_geometric", "to_pyg") from error
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    data = Data(edge_index=torch.from_numpy(np.stack([sources, targets])), num_nodes=graph.num_vertices)
    if weights is not None:
        data.edge_weight = torch.tensor(weights)
    labels = graph.vertex_labels
    if labels is not None:
        data.vertex_labels = torch.tensor(labels) if labels.dtype.kind == "i" else labels.tolist()
    return data


def _edge_weights(data: Any, weight: str | None) -> Array | None:
    if weight is None:
        return None
    num_edges = data.edge_index.shape[1]
    names = ("edge_weight", "edge_attr") if weight == "auto" else (weight,)
    for name in names:
        values = getattr(data, name, None)
        if values is not None and values.numel() == num_edges == values.shape[0]:
            values = values.detach().reshape(-1).cpu()
            copied: Array = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy().copy()
            return copied
    if weight != "auto":
        raise InvalidArgumentError(f"data.{weight} does not hold one number per edge; it has {num_edges} edges")
    return None
