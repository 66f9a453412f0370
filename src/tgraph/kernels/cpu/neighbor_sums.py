"""Sums over the neighbours of a vertex, for workers that sweep over all edges.

A processor guesses where a row ends, and where the lengths of rows vary it guesses wrong about once per row, which
takes as long as several additions. So there the edges of a row beyond a multiple of four are added without a branch:
three are read in any case, and the bits of those that belong to the next row are masked. These sums alone became 1.2
to 1.5 times as fast on R-MAT 20, Slashdot, roads and web pages. Where most rows have the same length the guesses are
right, and reading more would cost a third of the time on a grid. Where the values are not in the cache guesses do not
matter; reading on beyond the end of a row by mistake even brings what the next one needs.

Rows with gaps are summed in the same way where no neighbour is deleted (`sum_gapped_row`).
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.gapped_layout import dead_bit
from tgraph.kernels.cpu.team import BORROWING, JIT
from tgraph.runtime.protocol import Array

ONE, TWO, THREE, FOUR, FIVE = (np.uint64(number) for number in range(1, 6))
ALL = np.int64(-1)  # bits of a mask
KEPT = np.array([-1, -1, -1, 0, 0, 0], np.int64)  # masks: of three values the first 3 - i are kept from place i on
BEYOND_CACHE = 1 << 24  # bytes of values; it is no question of the machine, so that answers are not
WINDOWS, WINDOW = 16, 256  # samples of neighbouring rows
OFTEN = 0.1  # of the rows have another length than the one before, at least, where lengths vary


def lengths_vary(offsets: Array) -> bool:
    """Say whether a processor would often be wrong about where the next row ends, from a sample of the rows.

    >>> lengths_vary(np.arange(0, 400, 4)), lengths_vary(np.arange(100) ** 2)
    (False, True)
    """
    step = max((offsets.size - 1 - WINDOW) // (WINDOWS - 1), WINDOW)
    parts = (np.diff(offsets[first : first + WINDOW + 1]) for first in range(0, offsets.size - 1, step))
    differs = np.concatenate([part[1:] != part[:-1] for part in parts] or [np.empty(0, bool)])
    return bool(differs.size) and float(differs.mean()) >= OFTEN


@intrinsic
def masked(typing_context, value, mask):
    """Return a float of which only those bits are left that the mask has; a branch could not come of it.

    A short float (`short_floats`, held as uint16) becomes a float32.
    """
    if value == types.uint16:
        return types.float32(value, mask), _lengthen_masked
    if not isinstance(value, types.Float):
        raise TypingError(f"{value} is no float")

    def codegen(context, builder, signature, args):
        word = ir.IntType(signature.args[0].bitwidth)
        mask = builder.trunc(args[1], word) if word.width < signature.args[1].bitwidth else args[1]
        return builder.bitcast(builder.and_(builder.bitcast(args[0], word), mask), args[0].type)

    return value(value, mask), codegen


def _lengthen_masked(context, builder, signature, args):
    word = ir.IntType(32)
    mask = builder.trunc(args[1], word) if signature.args[1].bitwidth > word.width else args[1]
    long = builder.shl(builder.zext(args[0], word), word(16))
    return builder.bitcast(builder.and_(long, mask), ir.FloatType())


@njit(**BORROWING, forceinline=True)
def sum_row(varies, dtype, first, last, neighbors, sent):
    """Return the sum of `sent`, float64 or float32, over some edges; it is made in `dtype`, one of the two.

    `varies` says what `lengths_vary` does of the rows. Edges and neighbours are unsigned.
    """
    total, edge = dtype(0.0), first
    if sent.nbytes >= BEYOND_CACHE:
        while edge < last:
            total += dtype(sent[neighbors[edge]])
            edge += ONE
        return total
    if varies and first + THREE <= np.uint64(neighbors.size):
        rest = (last - first) & THREE
        total = _sum_of_three(dtype, first, THREE - rest, neighbors, sent)
        edge += rest
    while edge + FOUR <= last:  # additions wait less for each other so
        left = dtype(sent[neighbors[edge]]) + dtype(sent[neighbors[edge + ONE]])
        right = dtype(sent[neighbors[edge + TWO]]) + dtype(sent[neighbors[edge + THREE]])
        total += left + right
        edge += FOUR
    while edge < last:
        total += dtype(sent[neighbors[edge]])
        edge += ONE
    return total


@njit(**BORROWING, forceinline=True)
def _sum_of_three(dtype, first, place, neighbors, sent):
    """Return the sum over three edges, without those that the masks from `place` on take away."""
    left = dtype(masked(sent[neighbors[first]], KEPT[place]))
    middle = dtype(masked(sent[neighbors[first + ONE]], KEPT[place + ONE]))
    return left + middle + dtype(masked(sent[neighbors[first + TWO]], KEPT[place + TWO]))


@njit(**BORROWING, forceinline=True)
def sum_gapped_row(dtype, num_dead, first, last, cells, sent):
    """Return the sum of `sent`, floats of 64, 32 or 16 bits, over cells of a row with gaps; it is made in `dtype`.

    `num_dead` is the number of deleted neighbours in the row, whose cells are passed over. Where there are none, up to
    three cells behind the row are read, in which may be anything.
    """
    total, cell = dtype(0.0), first
    if num_dead or first + THREE > np.uint64(cells.size):
        dead = dead_bit(cells)
        while cell < last:
            if not cells[cell] & dead:
                total += dtype(masked(sent[cells[cell]], ALL))
            cell += ONE
        return total
    rest = (last - first) & THREE
    total += _kept(dtype, first, KEPT[THREE - rest], cells, sent)
    total += _kept(dtype, first + ONE, KEPT[FOUR - rest], cells, sent)
    total += _kept(dtype, first + TWO, KEPT[FIVE - rest], cells, sent)
    cell += rest
    while cell < last:
        left = dtype(masked(sent[cells[cell]], ALL)) + dtype(masked(sent[cells[cell + ONE]], ALL))
        right = dtype(masked(sent[cells[cell + TWO]], ALL)) + dtype(masked(sent[cells[cell + THREE]], ALL))
        total += left + right
        cell += FOUR
    return total


@njit(**BORROWING, forceinline=True)
def _kept(dtype, cell, mask, cells, sent):
    """Return what the neighbour in a cell sent, 0 if the mask is 0; then nobody looks who that is."""
    return dtype(masked(sent[np.uint64(cells[cell]) & np.uint64(mask)], mask))


@njit(**BORROWING, forceinline=True)
def sum_weighted_row(varies, first, last, neighbors, weights, factor, sent):
    """Return `factor` times the sum of `sent` over some edges, each times its weight; without weights as `sum_row`.

    Weights may be so large that the factor must come first.
    """
    if not weights.size:
        return sum_row(varies, np.float64, first, last, neighbors, sent) * factor
    total = 0.0
    for edge in range(first, last):
        total += sent[neighbors[edge]] * factor * weights[edge]
    return total


@njit(**JIT)
def sum_pieces(size, shared, meeting, counter, pieces, neighbors, weights, factor, sent, partials):
    """Writes partials[piece], the sum over a piece of a long row, one thread per piece; meets if there are any."""
    num_pieces = pieces.shape[0]
    while num_pieces > 0:
        piece = fetch_add(shared, counter, 1)
        if piece >= num_pieces:
            return meet(shared, meeting, size)
        partials[piece] = sum_weighted_row(False, pieces[piece, 2], pieces[piece, 3], neighbors, weights, factor, sent)
    return meeting
