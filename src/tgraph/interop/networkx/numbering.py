"""From nodes to their numbers, by their hashes: a neighbour is equal to a node, so its hash is that node's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidGraphError
from tgraph.kernels.cpu.vertex_ids import IdTable
from tgraph.runtime import Array

MAX_SPREAD = 8  # hashes up to this many times the number of nodes are looked up in a table


class Numbering:
    """The numbers of nodes, given the hashes of all, `[V] int64`, in the order of their numbers.

    >>> numbering = Numbering(np.array([70, 10**12]))
    >>> numbering.distinct, numbering.numbers_of(np.array([10**12, 70])).tolist()
    (True, [1, 0])
    """

    def __init__(self, hashes: Array) -> None:
        self._count = hashes.size
        self._is_plain = np.array_equal(hashes, np.arange(hashes.size))  # nodes 0, 1, 2, ...
        self._table, self._sparse_table = np.empty(0, np.int32), IdTable(hashes[:0])
        if not self._is_plain and hashes.min() >= 0 and hashes.max() < MAX_SPREAD * hashes.size:
            self._table = np.full(int(hashes.max()) + 1, -1, np.int32)
            self._table[hashes] = np.arange(hashes.size)
        elif not self._is_plain:
            self._sparse_table = IdTable(hashes)
        self.distinct = np.array_equal(self.numbers_of(hashes), np.arange(hashes.size))

    def numbers_of(self, hashes: Array) -> Array:
        """Return the numbers of nodes with these hashes, `[N] int32`; every one is the hash of some node."""
        if self._is_plain:
            numbers = hashes.astype(np.int32)
        elif self._table.size:
            numbers = self._table[hashes]
        else:
            numbers = self._sparse_table.numbers_of(hashes)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self._count:
            raise InvalidGraphError(["a neighbor in the adjacency is no node of the graph"])
        return numbers

    def number_of(self, node: Any) -> int:
        """Return the number of the only node that can be equal to this one, -1 if there is none."""
        wanted = hash(node)
        if self._is_plain:
            return wanted if 0 <= wanted < self._count else -1
        if self._table.size:
            return int(self._table[wanted]) if 0 <= wanted < self._table.size else -1
        return int(self._sparse_table.numbers_of(np.array([wanted]))[0])
