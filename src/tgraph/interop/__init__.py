"""Conversions from and to the graphs of other libraries. A library is imported when its function is called."""

from tgraph.interop.networkx import from_networkx, to_networkx
from tgraph.interop.pandas import from_pandas, to_pandas
from tgraph.interop.pyg import from_pyg, to_pyg
from tgraph.interop.scipy import from_scipy, to_scipy

__all__ = [
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "to_networkx",
    "to_pandas",
    "to_pyg",
    "to_scipy",
]
