"""Three ways to bring the edges of active vertices near, and the choice among them.

| way | what is moved | good where |
|---|---|---|
| `filter` | the whole block, in large requests | many of its vertices are active |
| `compact` | the pages of the active rows, in many requests at once | few are active |
| `zero_copy` | nothing by us: the kernel touches the mapped file, the system brings the pages | very few are active |
"""

from tgraph.memory.transfer.choose import TRANSFERS, choose_transfers, smallest_block_bytes
from tgraph.memory.transfer.compact import CompactRows, list_rows, plan_compact

__all__ = ["TRANSFERS", "CompactRows", "choose_transfers", "list_rows", "plan_compact", "smallest_block_bytes"]
