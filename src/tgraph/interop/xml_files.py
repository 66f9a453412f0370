"""GraphML and GEXF files, read and written by NetworkX: for small graphs that other tools draw."""

from __future__ import annotations

import os
from typing import Any

from tgraph.errors import MissingDependencyError
from tgraph.graph import Graph
from tgraph.interop.networkx import from_networkx, to_networkx
from tgraph.io.files import replacing


def read_graphml(path: str | os.PathLike[str], weight: str | None = "weight", **options: Any) -> Graph:
    """Read a GraphML file; `options` are those of `tgraph.from_networkx`.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.write_graphml(tg.from_edges(["ann"], ["bob"], weights=[1.5]), folder + "/small.graphml")
    ...     tg.read_graphml(folder + "/small.graphml", runtime="numpy")
    Graph(2 vertices, 1 edges, directed, weighted, labelled, numpy on cpu)
    """
    return from_networkx(_networkx("read_graphml").read_graphml(path), weight, **options)


def write_graphml(graph: Graph, path: str | os.PathLike[str], weight: str = "weight") -> None:
    """Write a GraphML file; see `tgraph.to_networkx`."""
    networkx = _networkx("write_graphml")
    with replacing(path) as temporary:
        networkx.write_graphml(to_networkx(graph, weight), temporary)


def read_gexf(path: str | os.PathLike[str], weight: str | None = "weight", **options: Any) -> Graph:
    """Read a GEXF file; `options` are those of `tgraph.from_networkx`."""
    return from_networkx(_networkx("read_gexf").read_gexf(path), weight, **options)


def write_gexf(graph: Graph, path: str | os.PathLike[str], weight: str = "weight") -> None:
    """Write a GEXF file; see `tgraph.to_networkx`.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.write_gexf(tg.from_edges(["ann"], ["bob"]), folder + "/small.gexf")
    ...     tg.read_gexf(folder + "/small.gexf").vertex_labels.tolist()
    ['ann', 'bob']
    """
    networkx = _networkx("write_gexf")
    with replacing(path) as temporary:
        networkx.write_gexf(to_networkx(graph, weight), temporary)


def _networkx(function: str) -> Any:
    try:
        import networkx
    except ImportError as error:
        raise MissingDependencyError("networkx", function, extra="networkx") from error
    return networkx
