"""Conversions from and to the graphs of other libraries. A library is imported when its function is called."""

from tgraph.interop.arrow import from_arrow, to_arrow, to_polars
from tgraph.interop.cugraph import from_cugraph, to_cugraph
from tgraph.interop.igraph import from_igraph, to_igraph
from tgraph.interop.networkit import from_networkit, to_networkit
from tgraph.interop.networkx import from_networkx, to_networkx
from tgraph.interop.pandas import from_pandas, to_pandas
from tgraph.interop.pyg import from_pyg, to_pyg
from tgraph.interop.scipy import from_scipy, to_scipy
from tgraph.interop.xml_files import read_gexf, read_graphml, write_gexf, write_graphml

__all__ = [
    "from_arrow",
    "from_cugraph",
    "from_igraph",
    "from_networkit",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "read_gexf",
    "read_graphml",
    "to_arrow",
    "to_cugraph",
    "to_igraph",
    "to_networkit",
    "to_networkx",
    "to_pandas",
    "to_polars",
    "to_pyg",
    "to_scipy",
    "write_gexf",
    "write_graphml",
]
