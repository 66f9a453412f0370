"""Graph processing on tensors: one program, written once, on any engine and any tensor runtime.

>>> import tgraph as tg
>>> graph = tg.from_edges(["ann", "bob", "cy"], ["bob", "cy", "bob"])
>>> tg.pagerank(graph).top(1)[0][0]
'bob'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tgraph.config import config  # at once: modules of these names would stand in the way later
from tgraph.run import run

if TYPE_CHECKING:
    from tgraph import errors, runtime
    from tgraph import nn as nn
    from tgraph.algorithms.betweenness import betweenness
    from tgraph.algorithms.bfs import bfs
    from tgraph.algorithms.cdlp import cdlp
    from tgraph.algorithms.closeness import closeness
    from tgraph.algorithms.coloring import coloring
    from tgraph.algorithms.distance_matrix import distance_matrix
    from tgraph.algorithms.eigenvector import eigenvector
    from tgraph.algorithms.hits import hits
    from tgraph.algorithms.k_core import k_core
    from tgraph.algorithms.katz import katz
    from tgraph.algorithms.lcc import lcc
    from tgraph.algorithms.leiden import leiden
    from tgraph.algorithms.louvain import louvain
    from tgraph.algorithms.mis import mis
    from tgraph.algorithms.mst import mst
    from tgraph.algorithms.multi_source_bfs import multi_source_bfs
    from tgraph.algorithms.pagerank import pagerank
    from tgraph.algorithms.php import php
    from tgraph.algorithms.random_walks import random_walks
    from tgraph.algorithms.scc import scc
    from tgraph.algorithms.sssp import sssp
    from tgraph.algorithms.triangles import triangles
    from tgraph.algorithms.wcc import wcc
    from tgraph.elementwise import absolute, exp, log, maximum, minimum, sqrt, where
    from tgraph.graph import Batch, CompressedGraph, DynamicGraph, Graph, from_csr, from_edges, generate, shard
    from tgraph.group import distributed
    from tgraph.interop.arrow import from_arrow, to_arrow, to_polars
    from tgraph.interop.cugraph import from_cugraph, to_cugraph
    from tgraph.interop.dgl import from_dgl, to_dgl
    from tgraph.interop.igraph import from_igraph, to_igraph
    from tgraph.interop.networkit import from_networkit, to_networkit
    from tgraph.interop.networkx import from_networkx, to_networkx
    from tgraph.interop.pandas import from_pandas, to_pandas
    from tgraph.interop.pyg import from_pyg, to_pyg
    from tgraph.interop.scipy import from_scipy, to_scipy
    from tgraph.interop.xml_files import read_gexf, read_graphml, write_gexf, write_graphml
    from tgraph.io import read, write
    from tgraph.layout.compress import compress
    from tgraph.layout.partition import Partition, partition
    from tgraph.layout.reorder import PaddedIds, pad, reorder
    from tgraph.memory import build_file, offload, open
    from tgraph.program import Program
    from tgraph.prove import Check, check
    from tgraph.results import Result
    from tgraph.service import batches, read_stream, stream

__version__ = "0.1.0"

_ALGORITHMS = (
    "betweenness",
    "bfs",
    "cdlp",
    "closeness",
    "coloring",
    "distance_matrix",
    "eigenvector",
    "hits",
    "k_core",
    "katz",
    "lcc",
    "leiden",
    "louvain",
    "mis",
    "mst",
    "multi_source_bfs",
    "pagerank",
    "php",
    "random_walks",
    "scc",
    "sssp",
    "triangles",
    "wcc",
)
_HOMES = {
    **{f"tgraph.algorithms.{name}": (name,) for name in _ALGORITHMS},
    "tgraph.elementwise": ("absolute", "exp", "log", "maximum", "minimum", "sqrt", "where"),
    "tgraph.graph": (
        "Batch",
        "CompressedGraph",
        "DynamicGraph",
        "Graph",
        "from_csr",
        "from_edges",
        "generate",
        "shard",
    ),
    "tgraph.group": ("distributed",),
    "tgraph.interop.arrow": ("from_arrow", "to_arrow", "to_polars"),
    "tgraph.interop.cugraph": ("from_cugraph", "to_cugraph"),
    "tgraph.interop.dgl": ("from_dgl", "to_dgl"),
    "tgraph.interop.igraph": ("from_igraph", "to_igraph"),
    "tgraph.interop.networkit": ("from_networkit", "to_networkit"),
    "tgraph.interop.networkx": ("from_networkx", "to_networkx"),
    "tgraph.interop.pandas": ("from_pandas", "to_pandas"),
    "tgraph.interop.pyg": ("from_pyg", "to_pyg"),
    "tgraph.interop.scipy": ("from_scipy", "to_scipy"),
    "tgraph.interop.xml_files": ("read_gexf", "read_graphml", "write_gexf", "write_graphml"),
    "tgraph.io": ("read", "write"),
    "tgraph.layout.compress": ("compress",),
    "tgraph.layout.partition": ("Partition", "partition"),
    "tgraph.layout.reorder": ("PaddedIds", "pad", "reorder"),
    "tgraph.memory": ("build_file", "offload", "open"),
    "tgraph.program": ("Program",),
    "tgraph.prove": ("Check", "check"),
    "tgraph.results": ("Result",),
    "tgraph.service": ("batches", "read_stream", "stream"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Batch",
    "Check",
    "CompressedGraph",
    "DynamicGraph",
    "Graph",
    "PaddedIds",
    "Partition",
    "Program",
    "Result",
    "__version__",
    "absolute",
    "batches",
    "betweenness",
    "bfs",
    "build_file",
    "cdlp",
    "check",
    "closeness",
    "coloring",
    "compress",
    "config",
    "distance_matrix",
    "distributed",
    "eigenvector",
    "errors",
    "exp",
    "from_arrow",
    "from_csr",
    "from_cugraph",
    "from_dgl",
    "from_edges",
    "from_igraph",
    "from_networkit",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "generate",
    "hits",
    "k_core",
    "katz",
    "lcc",
    "leiden",
    "log",
    "louvain",
    "maximum",
    "minimum",
    "mis",
    "mst",
    "multi_source_bfs",
    "offload",
    "open",
    "pad",
    "pagerank",
    "partition",
    "php",
    "random_walks",
    "read",
    "read_gexf",
    "read_graphml",
    "read_stream",
    "reorder",
    "run",
    "runtime",
    "scc",
    "shard",
    "sqrt",
    "sssp",
    "stream",
    "to_arrow",
    "to_cugraph",
    "to_dgl",
    "to_igraph",
    "to_networkit",
    "to_networkx",
    "to_pandas",
    "to_polars",
    "to_pyg",
    "to_scipy",
    "triangles",
    "wcc",
    "where",
    "write",
    "write_gexf",
    "write_graphml",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import tgraph` alone takes milliseconds."""
    if name in ("errors", "nn", "runtime"):
        return importlib.import_module(f"tgraph.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"tgraph has no {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
