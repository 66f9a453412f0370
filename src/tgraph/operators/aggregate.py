"""aggregate: where several messages reach one vertex, they become one.

Push: rows are senders, a message goes to every neighbour; duplicates meet by scatter_reduce.

    rows       2      4  5           with values 10, 20, 30 and "sum"
    messages   10 10 10  20  30 30   each row's value once per edge
    neighbors  3  4  5   6   0  6
    result     vertex 0: 30, 3: 10, 4: 10, 5: 10, 6: 50, the others the identity 0

Pull: rows are receivers, a message comes from every neighbour; a row's messages lie together, so a segment reduction
by the offsets meets them, without atomics on a parallel device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.dtypes import check_reduction, identity, reduced_dtype
from tgraph.operators.reconstruct import Subgraph
from tgraph.runtime import Runtime, Tensor


def aggregate(subgraph: Subgraph, messages: Tensor, op: str) -> Tensor:
    """Return the reduction of `messages [N]` (one per edge) for every row, `[S]`: the pull form."""
    return subgraph.runtime.segment_reduce(messages, subgraph.offsets, op)


class Accumulator:
    """The push form: a tensor over all vertices that takes messages block by block.

    >>> import numpy as np
    >>> from tgraph import runtime
    >>> totals = Accumulator(runtime.get("numpy"), 7, "sum", np.dtype("int64"))
    >>> totals.add(np.array([3, 4, 5, 6, 0, 6]), np.array([10, 10, 10, 20, 30, 30]))
    >>> totals.finish()
    array([30,  0,  0, 10, 10, 10, 50])
    """

    def __init__(self, runtime: Runtime, num_vertices: int, op: str, dtype: np.dtype[Any]) -> None:
        check_reduction(op, dtype)
        self._runtime, self._op = runtime, op
        self._scatter_op = "sum" if op == "mean" else op
        start = identity(self._scatter_op, dtype)
        self._reduced = runtime.full(num_vertices, start, reduced_dtype(self._scatter_op, dtype))
        self._counts = runtime.full(num_vertices, 0, np.int64) if op == "mean" else None

    def add(self, targets: Tensor, messages: Tensor) -> None:
        """Send `messages [N]` to the vertices `targets [N]`."""
        self._reduced = self._runtime.scatter_reduce(self._reduced, targets, messages, self._scatter_op)
        if self._counts is not None:
            self._counts = self._runtime.scatter_reduce(self._counts, targets, messages, "count")

    def finish(self) -> Tensor:
        """Return what reached every vertex, `[V]`; the identity where nothing did."""
        if self._counts is None:
            return self._reduced
        counts = self._runtime.astype(self._counts, self._runtime.dtype(self._reduced))
        return self._reduced / self._runtime.maximum(counts, 1)
