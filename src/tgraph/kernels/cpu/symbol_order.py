"""Another order for the symbols of every row, where the order of its neighbours is known anyway (ascending rows).

Symbols that occur about equally often, first and last in the same rows, then stand side by side, so that pairs of them
repeat.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.symbol_rows import SymbolRows, sort_small, take_rows
from tgraph.kernels.cpu.team import JIT, team_size
from tgraph.kernels.cpu.watch import Watch

POWERS = 64  # of two


def put_alike_together(rows: SymbolRows, num_symbols: int, watch: Watch) -> None:
    """Order the symbols of every row by how often they occur (by powers of 2), and by the first and last row with them.

    Writes the rows, which are all looked at then. Deterministic.

    >>> rows = SymbolRows(np.array([1, 2, 3, 1, 3], np.uint32), np.array([0, 3]), np.array([3, 2]))
    >>> put_alike_together(rows, 4, Watch())
    >>> rows.symbols.tolist()
    [1, 3, 2, 1, 3]
    """
    rows.open_all()
    uses, found = np.zeros((num_symbols, 3), np.int32), np.empty(num_symbols, np.uint32)
    num_found = _look_for_uses(rows.symbols, rows.starts, rows.sizes, uses, found)
    order, ranks = np.empty(num_found, np.uint32), np.empty(num_symbols, np.uint32)
    _order_symbols(found[:num_found], uses, order, ranks)
    arrays = rows.symbols, rows.starts, rows.sizes, rows.open_rows
    watch.run(_order_rows, team_size(rows.num_pairs), *arrays, ranks, order)


@njit(**JIT)
def _look_for_uses(symbols, starts, sizes, uses, found):
    """Writes how often each symbol occurs, and the first and the last row with it, side by side; and `found`, in the
    order in which they occur first. Returns how many. One thread.
    """
    num_found = 0
    for row in range(starts.size):
        for i in range(starts[row], starts[row] + sizes[row]):
            symbol = symbols[i]
            if uses[symbol, 0] == 0:
                uses[symbol, 1] = row
                found[num_found] = symbol
                num_found += 1
            uses[symbol, 0] += 1
            uses[symbol, 2] = row
    return num_found


@njit(**JIT)
def _order_symbols(found, uses, order, ranks):
    """Writes the symbols in their new order, and the place of each in it. One thread.

    They come by the first row with them already, so it remains to divide them by powers, and to order those that have
    power and first row in common.
    """
    places = np.zeros(POWERS + 1, np.int64)
    for symbol in found:
        places[_power(uses[symbol, 0]) + 1] += 1
    for power in range(POWERS):
        places[power + 1] += places[power]
    for symbol in found:
        power = _power(uses[symbol, 0])
        order[places[power]] = symbol
        places[power] += 1
    keys = np.empty(found.size, np.uint64)
    begin = 0
    for end in range(1, found.size + 1):
        if end < found.size and _are_alike(uses, order[begin], order[end]):
            continue
        if end - begin > 1:
            for i in range(begin, end):
                keys[i] = (np.uint64(uses[order[i], 2]) << np.uint64(32)) | np.uint64(order[i])
            sort_small(keys, begin, end)
            for i in range(begin, end):
                order[i] = np.uint32(keys[i] & np.uint64(0xFFFFFFFF))
        begin = end
    for i in range(order.size):
        ranks[order[i]] = i


@njit(**JIT)
def _power(count):
    """Return a number that is the smaller, the larger the power of two is up to a count."""
    power = POWERS
    while count > 0:
        count >>= 1
        power -= 1
    return power


@njit(**JIT)
def _are_alike(uses, one, other):
    return uses[one, 1] == uses[other, 1] and _power(uses[one, 0]) == _power(uses[other, 0])


@njit(**JIT)
def _order_rows(rank, size, shared, symbols, starts, sizes, rows, ranks, order):
    """Writes the rows, each by the thread that took it."""
    while True:
        first, last = take_rows(shared, rows.size)
        if first == last:
            break
        for row in rows[first:last]:
            start, end = starts[row], starts[row] + sizes[row]
            for i in range(start, end):
                symbols[i] = ranks[symbols[i]]
            sort_small(symbols, start, end)
            for i in range(start, end):
                symbols[i] = order[symbols[i]]
