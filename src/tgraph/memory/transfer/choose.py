"""Which way is the cheapest for each block: the costs of HyTGraph (formulas 1 to 3) on a link that was measured.

filter      bytes of the block / bandwidth
compact     requests * seconds per request + bytes of their pages / bandwidth + seconds per plan
zero_copy   pages * seconds per page fault + seconds per plan

A plan says which rows these are and where they lie; it takes the processor's time, whatever the disk. The vertices of a
whole block can send several times while it is near; rows that are moved alone would have to come as often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tgraph.memory.far_file import ALIGNMENT
from tgraph.runtime import Array

if TYPE_CHECKING:
    from tgraph.memory.link import Link

TRANSFERS = ("filter", "compact", "zero_copy")
COMPACT_GAIN = 0.5  # planning many small requests keeps a core busy: they must cost less than this part of a block

ROWS_AT_LEAST = 8  # that must cost less than their block: fewer are not worth the near memory that lists of rows take


def choose_transfers(
    link: Link,
    block_bytes: Array,
    requests: Array,
    page_bytes: Array,
    touched_bytes: Array | None = None,
    times: float = 1.0,
) -> Array:
    """Return the position in `TRANSFERS` of the cheapest way for every block.

    `requests` and `page_bytes` are how many requests the active rows need and the bytes of all their pages;
    `touched_bytes` is what reading in place brings near, where that is something else than pages; `times` is how often
    the vertices of a whole block send.

    >>> from tgraph.memory.link import Link
    >>> link = Link(bytes_per_second=1e9, seconds_per_request=1e-4, seconds_per_fault=3e-4, seconds_per_plan=1e-5)
    >>> megabyte = np.full(3, 1e6)
    >>> [TRANSFERS[i] for i in choose_transfers(link, megabyte, np.array([100, 5, 0]), np.array([8e5, 2e4, 0]))]
    ['filter', 'compact', 'zero_copy']
    """
    touched_bytes = page_bytes if touched_bytes is None else touched_bytes
    rows_seconds = (requests * link.seconds_per_request + page_bytes / link.bytes_per_second) / COMPACT_GAIN
    costs = [
        block_bytes / link.bytes_per_second + link.seconds_per_request,
        times * (rows_seconds + link.seconds_per_plan),
        times * (touched_bytes / ALIGNMENT * link.seconds_per_fault + link.seconds_per_plan),
    ]
    order = np.array([0, 2, 1])  # of equal costs the first is taken: whole blocks, then no request at all
    return order[np.argmin(np.stack(costs)[order], axis=0)]


def smallest_block_bytes(link: Link, num_arrays: int = 1) -> int:
    """Return how large blocks must be for rows to pay: more than `ROWS_AT_LEAST`, on a page of each array, would cost.

    >>> from tgraph.memory.link import Link
    >>> smallest_block_bytes(Link(1e9, seconds_per_request=1e-4, seconds_per_fault=3e-4, seconds_per_plan=1e-4))
    1665536
    """
    one_page = (link.seconds_per_request + ALIGNMENT / link.bytes_per_second) / COMPACT_GAIN
    rows_seconds = ROWS_AT_LEAST * num_arrays * min(one_page, link.seconds_per_fault) + link.seconds_per_plan
    return int(max(rows_seconds - link.seconds_per_request, 0.0) * link.bytes_per_second)
