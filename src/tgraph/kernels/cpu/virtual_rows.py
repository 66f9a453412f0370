"""From rows of symbols to rows of vertices and virtual vertices, and back.

A symbol stands for a pair of earlier symbols. Not every symbol is worth a row of its own: `choose` keeps those whose
row and uses take less room than writing the row out at every use. Kept symbols become virtual vertices, numbered after
the vertices by their depth: 1 where a row has vertices only, else one more than the deepest virtual vertex in it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.symbol_rows import SymbolRows, sort_small
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

PASSES = 6  # of choosing in which pairs that were written out may be kept again
ROW_COST = 1  # what a row takes beside its symbols, in symbols: its offset


def build_layers(rows: SymbolRows, pairs: Array, *, ascending: bool) -> tuple[Array, Array, Array]:
    """Return offsets and neighbours of all rows, those of virtual vertices behind those of vertices, and layers.

    `pairs [P, 2]` are the symbols from V on. Layer k of virtual vertices is from `layers[k]` to `layers[k + 1] - 1`,
    `layers [D+1] int64`. With `ascending` the neighbours of every row are put into ascending order. Deterministic.

    >>> rows = SymbolRows(np.array([4, 3, 4, 4], np.uint32), np.array([0, 2, 3, 4]), np.array([2, 1, 1, 0]))
    >>> [array.tolist() for array in build_layers(rows, np.array([[1, 2]], np.uint32), ascending=False)]
    [[0, 3, 5, 7, 7], [1, 2, 3, 1, 2, 1, 2], [4]]
    """
    num_vertices = rows.starts.size
    row_uses = np.zeros(len(pairs), np.int64)
    _count_uses(rows.symbols, rows.starts, rows.sizes, num_vertices, row_uses)
    is_kept, lengths = _choose(row_uses, pairs, num_vertices)
    depths = _find_depths(pairs, num_vertices, is_kept)
    kept = np.flatnonzero(is_kept)
    kept = kept[np.argsort(depths[kept], kind="stable")]
    numbers = np.zeros(len(pairs), np.uint32)  # 0 = written out
    numbers[kept] = np.arange(num_vertices, num_vertices + kept.size)
    sizes = np.empty(num_vertices + kept.size, np.int64)
    team = team_size(rows.num_symbols)
    run_team(_measure, team, rows.symbols, rows.starts, rows.sizes, numbers, lengths, sizes)
    sizes[num_vertices:] = lengths[kept]
    total = int(sizes.sum())
    offsets = np.zeros(sizes.size + 1, index_dtype(total + 1))
    np.cumsum(sizes, out=offsets[1:])
    neighbors = np.empty(total, np.uint32)
    height = int(_find_heights(pairs, num_vertices).max(initial=0)) + 2
    arguments = rows.symbols, rows.starts, rows.sizes, pairs, numbers, kept, offsets, neighbors, height, ascending
    run_team(_write_out, team, *arguments)
    layers = num_vertices + np.searchsorted(depths[kept], np.arange(1, _deepest(depths, kept) + 2))
    return offsets, neighbors.view(np.int32), layers.astype(np.int64)


def expand_rows(offsets: Array, neighbors: Array, num_vertices: int, out_offsets: Array, *, ascending: bool) -> Array:
    """Return the neighbours of all vertices with virtual ones written out, `[E]`; `out_offsets [V+1]` says where.

    >>> offsets, neighbors = np.array([0, 1, 2, 4]), np.array([2, 2, 0, 1], np.int32)
    >>> expand_rows(offsets, neighbors, 2, np.array([0, 2, 4]), ascending=False).tolist()
    [0, 1, 0, 1]
    """
    found = np.empty(int(out_offsets[-1]), neighbors.dtype)
    shared = np.zeros(8, np.int64)
    run_team(_expand, team_size(found.size), shared, offsets, neighbors, num_vertices, out_offsets, found, ascending)
    return found


def count_leaves(offsets: Array, neighbors: Array, num_vertices: int) -> Array:
    """Return for every vertex how many neighbours it has when virtual ones are written out, `[V] int64`.

    >>> count_leaves(np.array([0, 1, 2, 4]), np.array([2, 2, 0, 1], np.int32), 2).tolist()
    [2, 2]
    """
    counts = np.zeros(offsets.size - 1, np.int64)
    _count_leaves(offsets, neighbors, num_vertices, counts)
    return counts[:num_vertices]


def count_roots(offsets: Array, neighbors: Array, num_vertices: int) -> Array:
    """Return for every vertex in how many rows of vertices it is when virtual ones are written out, `[V] int64`.

    >>> count_roots(np.array([0, 1, 2, 4]), np.array([2, 2, 0, 1], np.int32), 2).tolist()
    [2, 2]
    """
    counts = np.zeros(offsets.size - 1, np.int64)
    _count_roots(offsets, neighbors, num_vertices, counts)
    return counts[:num_vertices]


def _deepest(depths: Array, kept: Array) -> int:
    return int(depths[kept[-1]]) if kept.size else 0


@njit(**JIT)
def _count_uses(symbols, starts, sizes, num_vertices, uses):
    """Writes how often each pair is in rows. One thread."""
    for row in range(starts.size):
        for i in range(starts[row], starts[row] + sizes[row]):
            if symbols[i] >= num_vertices:
                uses[symbols[i] - num_vertices] += 1


@njit(**JIT)
def _choose(row_uses, pairs, num_vertices):
    """Return which pairs are kept as rows, and the length of each one's row. One thread; users follow what they use.

    First all that are used once are written out. Then lengths and uses are known, and a pair is kept if it is worth its
    row, also one that was written out: those that use it may have been written out since, so it is used more often. At
    the end pairs are only written out, until none is.
    """
    count = len(pairs)
    is_kept, lengths = np.ones(count, np.bool_), np.zeros(count, np.int64)
    attempt, has_changed = 0, True
    while has_changed or attempt < 2:
        _measure_pairs(pairs, num_vertices, is_kept, lengths)
        uses, has_changed = row_uses.copy(), False
        for number in range(count - 1, -1, -1):
            used, length = uses[number], lengths[number]
            is_worth_it = used > 1 if attempt == 0 else length * used > length + used + ROW_COST
            if is_worth_it != is_kept[number] and (attempt < PASSES or is_kept[number]):
                is_kept[number], has_changed = is_worth_it, True
            for symbol in pairs[number]:
                if symbol >= num_vertices:
                    uses[symbol - num_vertices] += 1 if is_kept[number] else used
        attempt += 1
    return is_kept, lengths


@njit(**JIT)
def _measure_pairs(pairs, num_vertices, is_kept, lengths):
    for number in range(len(pairs)):
        length = 0
        for symbol in pairs[number]:
            is_written_out = symbol >= num_vertices and not is_kept[symbol - num_vertices]
            length += lengths[symbol - num_vertices] if is_written_out else 1
        lengths[number] = length


@njit(**JIT)
def _find_depths(pairs, num_vertices, is_kept):
    """Return the nesting of kept pairs; of others, that of the deepest kept one in them."""
    depths = np.zeros(len(pairs), np.int64)
    for number in range(len(pairs)):
        for symbol in pairs[number]:
            if symbol >= num_vertices:
                depths[number] = max(depths[number], depths[symbol - num_vertices])
        depths[number] += is_kept[number]
    return depths


@njit(**JIT)
def _find_heights(pairs, num_vertices):
    heights = np.ones(len(pairs), np.int64)
    for number in range(len(pairs)):
        for symbol in pairs[number]:
            if symbol >= num_vertices:
                heights[number] = max(heights[number], heights[symbol - num_vertices] + 1)
    return heights


@njit(**JIT)
def _measure(rank, size, symbols, starts, sizes, numbers, lengths, new_sizes):
    """Writes the sizes of its rows."""
    first, last = part(rank, size, starts.size)
    for row in range(first, last):
        length = 0
        for i in range(starts[row], starts[row] + sizes[row]):
            symbol = np.int64(symbols[i]) - starts.size
            length += lengths[symbol] if symbol >= 0 and numbers[symbol] == 0 else 1
        new_sizes[row] = length


@njit(**JIT)
def _write_symbol(symbol, pairs, numbers, num_vertices, stack, neighbors, put):
    """Write a symbol, or what it stands for where it is not kept; return the place behind."""
    stack[0], held = symbol, 1
    while held > 0:
        held -= 1
        top = np.int64(stack[held])
        pair = top - num_vertices
        if pair < 0 or numbers[pair] != 0:
            neighbors[put] = top if pair < 0 else numbers[pair]
            put += 1
        else:
            stack[held], stack[held + 1] = pairs[pair, 1], pairs[pair, 0]
            held += 2
    return put


@njit(**JIT)
def _write_out(rank, size, symbols, starts, sizes, pairs, numbers, kept, offsets, neighbors, height, ascending):
    """Writes the neighbours of its rows and of its virtual vertices."""
    num_vertices = starts.size
    stack = np.empty(height, np.uint32)
    first, last = part(rank, size, num_vertices)
    for row in range(first, last):
        put = np.int64(offsets[row])
        for i in range(starts[row], starts[row] + sizes[row]):
            put = _write_symbol(symbols[i], pairs, numbers, num_vertices, stack, neighbors, put)
        if ascending:
            sort_small(neighbors, np.int64(offsets[row]), put)
    first, last = part(rank, size, kept.size)
    for number in range(first, last):
        begin = np.int64(offsets[num_vertices + number])
        put = begin
        for symbol in pairs[kept[number]]:
            put = _write_symbol(symbol, pairs, numbers, num_vertices, stack, neighbors, put)
        if ascending:
            sort_small(neighbors, begin, put)


@njit(**JIT)
def _count_leaves(offsets, neighbors, num_vertices, counts):
    """Writes counts, those of virtual vertices first: a row has only virtual ones of lower numbers. One thread."""
    for turn in range(2):
        first, last = (num_vertices, counts.size) if turn == 0 else (0, num_vertices)
        for row in range(first, last):
            count = 0
            for e in range(offsets[row], offsets[row + 1]):
                count += counts[neighbors[e]] if neighbors[e] >= num_vertices else 1
            counts[row] = count


@njit(**JIT)
def _count_roots(offsets, neighbors, num_vertices, counts):
    """Writes counts, from the rows of vertices and from the highest virtual one down. One thread."""
    for row in range(num_vertices):
        for e in range(offsets[row], offsets[row + 1]):
            counts[neighbors[e]] += 1
    for row in range(counts.size - 1, num_vertices - 1, -1):
        for e in range(offsets[row], offsets[row + 1]):
            counts[neighbors[e]] += counts[row]


@njit(**JIT)
def _expand(rank, size, shared, offsets, neighbors, num_vertices, out_offsets, found, ascending):
    """Writes the rows of the chunks that it takes. Keeps a stack of places in rows; it grows where rows nest deeper."""
    chunk = 1 << 10
    stack = np.empty((64, 2), np.int64)
    while True:
        begin = fetch_add(shared, 0, chunk)
        if begin >= num_vertices:
            break
        for row in range(begin, min(begin + chunk, num_vertices)):
            put, held = out_offsets[row], 1
            stack[0, 0], stack[0, 1] = offsets[row], offsets[row + 1]
            while held > 0:
                e, end = stack[held - 1, 0], stack[held - 1, 1]
                if e == end:
                    held -= 1
                    continue
                stack[held - 1, 0] = e + 1
                neighbor = neighbors[e]
                if neighbor < num_vertices:
                    found[put] = neighbor
                    put += 1
                    continue
                if held == len(stack):
                    larger = np.empty((2 * held, 2), np.int64)
                    larger[:held] = stack
                    stack = larger
                stack[held, 0], stack[held, 1] = offsets[neighbor], offsets[neighbor + 1]
                held += 1
            if ascending:
                sort_small(found, out_offsets[row], put)
