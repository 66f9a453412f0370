"""The same graph with its vertices in another order, `tgraph.reorder`, or under padded ids, `tgraph.pad`.

Results on a reordered graph carry the user's ids, so nobody has to turn the order back.
"""

from tgraph.layout.reorder.by_name import ORDERS, reorder
from tgraph.layout.reorder.padded import PaddedIds, pad

__all__ = ["ORDERS", "PaddedIds", "pad", "reorder"]
