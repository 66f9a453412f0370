"""The same graph with its vertices in another order: `tgraph.reorder`.

Results carry the user's ids, so nobody has to turn the order back.
"""

from tgraph.layout.reorder.by_name import ORDERS, reorder

__all__ = ["ORDERS", "reorder"]
