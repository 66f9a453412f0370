"""Edges grouped by row in two levels: a stable partition into buckets of rows, then a radix sort of each bucket.

A counting sort over all rows writes to as many places as there are rows, and each write misses every cache. Here the
edges first go to a few hundred buckets of neighbouring rows (the high bits of the row), which is a stream of writes
per bucket, and every bucket is then sorted where it lies, inside the cache of one core. On its way an edge is one
word: the low bits of its row above its neighbour, in the free high bits of the place where the neighbour will be. So
the second level needs no more room than one bucket per thread, and sorting by row and neighbour costs little more
than sorting by row (least significant digit first; Polychroniou and Ross, 2014, compare such sorts).

A bucket takes its place in every thread's part of the input by counting, so that the order does not depend on the
number of threads. Where one bucket holds a great share of the edges, rows are buckets: the classic counting sort.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

KEEP_ALL, KEEP_DIFFERENT, KEEP_GREATER = 0, 1, 2  # all edges; those with key != neighbour; with key > neighbour

ONE_LEVEL_BITS = 11  # so few rows, 2^11, are buckets themselves
BUCKET_EDGE_BITS = 16  # a bucket of 2^16 edges and its copy fit in the second cache of a core
LARGEST_SHARE = 8  # a bucket with more than this part of all edges is no work for one thread
DIGIT_BITS = 12  # the counters of a digit fill half of the first cache
FEWEST_DIGIT_BITS = np.uint64(6)
FEW = np.uint64(40)  # so few edges are sorted by insertion
CLAIMS_PER_THREAD = 64  # how many times a thread comes for more buckets

ZERO, ONE = np.uint64(0), np.uint64(1)


class Edges(NamedTuple):
    """Edges to group: `neighbors` is a column, or None where edge i leads to the row of `offsets` that holds it."""

    keys: Array  # [N] unsigned
    neighbors: Array | None  # [N] unsigned
    offsets: Array | None  # [R+1] unsigned
    weights: Array | None  # [N]
    keep: int = KEEP_ALL
    mirror: bool = False  # every edge that is no self-loop also the other way, right behind it


def group_edges(
    edges: Edges, num_rows: int, num_neighbors: int, dtype: np.dtype[Any], sort: bool = False
) -> tuple[Array, Array, Array | None]:
    """Return offsets `[num_rows + 1]`, neighbours and weights of the edges grouped by key.

    Inside a row edges keep their order; with `sort` neighbours ascend and only edges between the same two vertices
    keep it. Needs 0 <= keys < num_rows, and neighbours that are less than num_neighbors and fit `dtype`. Deterministic.
    """
    row_bits, neighbor_bits = _bits(num_rows), _bits(num_neighbors)
    low_bits = _low_bits(row_bits, neighbor_bits, 8 * dtype.itemsize, edges.keys.size << edges.mirror)
    starts, bounds = find_places(edges, num_rows, low_bits)
    if low_bits and np.diff(bounds).max(initial=0) > max(1 << BUCKET_EDGE_BITS, bounds[-1] // LARGEST_SHARE):
        low_bits = 0
        starts, bounds = find_places(edges, num_rows, 0)
    words = np.empty(bounds[-1], f"u{dtype.itemsize}")
    weights = None if edges.weights is None else np.empty(words.size, edges.weights.dtype)
    shifts = np.uint64(low_bits), np.uint64(neighbor_bits)
    run_team(_place_edges, len(starts), *edges, *shifts, starts, words, weights)
    offsets = bounds
    if low_bits or sort:
        del starts
        offsets = np.empty(num_rows + 1, np.int64)
        offsets[-1] = words.size
        _sort_buckets_by_team(bounds, shifts, sort, offsets, words, weights)
    return offsets, words.view(dtype), weights


def find_places(edges: Edges, num_rows: int, low_bits: int) -> tuple[Array, Array]:
    """Return the first place of every (thread, bucket) `[T, B]`, and the bounds `[B+1]` of the buckets.

    There are fewer threads where buckets are many: the counters take no more than 8 bytes per edge, or one thread's.
    """
    num_buckets = -(-num_rows >> low_bits)
    num_edges = edges.keys.size
    size = max(1, min(team_size(num_edges), num_edges // max(num_buckets, 1)))
    starts = np.zeros((size, num_buckets), np.int64)
    run_team(_count_edges, size, *edges, np.uint64(low_bits), starts)
    bounds = np.empty(num_buckets + 1, np.int64)
    _counts_to_starts(starts, bounds)
    return starts, bounds


def _bits(count: int) -> int:
    """Return how many bits the numbers below `count` need."""
    return max(count - 1, 0).bit_length()


def _low_bits(row_bits: int, neighbor_bits: int, word_bits: int, num_edges: int) -> int:
    """Return how many bits of a row are left to the second level; 0 = there is none."""
    wanted = max(_bits(num_edges) - BUCKET_EDGE_BITS, 0)
    if row_bits <= max(wanted, ONE_LEVEL_BITS):
        return 0
    return min(row_bits - wanted, max(word_bits - neighbor_bits, 0))


def _sort_buckets_by_team(
    bounds: Array,
    shifts: tuple[np.uint64, np.uint64],
    sort: bool,
    offsets: Array,
    words: Array,
    weights: Array | None,
) -> None:
    """Sort every bucket where it lies, and fill the offsets of the rows."""
    largest = int(np.diff(bounds).max(initial=0))
    size = team_size(words.size)
    counts = np.empty((size, 1 << DIGIT_BITS), np.uint32 if largest < 2**32 else np.uint64)
    first_bit = ZERO if sort else shifts[1]
    claimed = np.zeros(1, np.int64)
    run_team(_sort_buckets, size, claimed, bounds, *shifts, first_bit, largest, counts, offsets, words, weights)


@njit(**JIT)
def _count_edges(rank, size, keys, neighbors, row_offsets, weights, keep, mirror, low_bits, counts):
    """Writes counts[rank]."""
    mine = counts[rank]
    is_simple = keep == KEEP_ALL and not mirror
    first, last = part(rank, size, keys.size)
    row = _row_of(row_offsets, first)
    for i in range(first, last):
        key = np.uint64(keys[i])
        if is_simple:
            mine[key >> low_bits] += 1
        else:
            row = _next_row(row_offsets, row, i)
            neighbor = row
            if neighbors is not None:
                neighbor = np.uint64(neighbors[i])
            if keep == KEEP_ALL or (key > neighbor) or (keep == KEEP_DIFFERENT and key < neighbor):
                mine[key >> low_bits] += 1
                if mirror and key != neighbor:
                    mine[neighbor >> low_bits] += 1


@njit(**JIT)
def _next_row(offsets, row, position):
    """The row that holds an edge, from that of the edge before it on."""
    if offsets is not None:
        while offsets[row + ONE] <= np.uint64(position):
            row += ONE
    return row


@njit(**JIT)
def _row_of(offsets, position):
    """The row that holds an edge; 0 where there are no rows to look at."""
    if offsets is None:
        return ZERO
    return np.uint64(np.searchsorted(offsets, np.uint64(position), side="right") - 1)


@njit(**JIT)
def _counts_to_starts(counts, bounds):
    """Turns counts [T, B] into the first place of every (thread, bucket), in place, and fills bounds [B+1]."""
    place = 0
    for bucket in range(counts.shape[1]):
        bounds[bucket] = place
        for rank in range(counts.shape[0]):
            count = counts[rank, bucket]
            counts[rank, bucket] = place
            place += count
    bounds[counts.shape[1]] = place


@njit(**JIT)
def _place_edges(
    rank, size, keys, neighbors, row_offsets, weights, keep, mirror, low_bits, neighbor_bits, starts, words, new_weights
):
    """Writes the places that starts[rank] gives, which no other thread has."""
    mine = starts[rank]
    mask = (ONE << low_bits) - ONE
    first, last = part(rank, size, keys.size)
    row = _row_of(row_offsets, first)
    for i in range(first, last):
        key = np.uint64(keys[i])
        row = _next_row(row_offsets, row, i)
        neighbor = row
        if neighbors is not None:
            neighbor = np.uint64(neighbors[i])
        if keep == KEEP_ALL or (key > neighbor) or (keep == KEEP_DIFFERENT and key < neighbor):
            place = mine[key >> low_bits]
            mine[key >> low_bits] = place + 1
            words[place] = ((key & mask) << neighbor_bits) | neighbor
            if weights is not None:
                new_weights[place] = weights[i]
            if mirror and key != neighbor:
                place = mine[neighbor >> low_bits]
                mine[neighbor >> low_bits] = place + 1
                words[place] = ((neighbor & mask) << neighbor_bits) | key
                if weights is not None:
                    new_weights[place] = weights[i]


@njit(**JIT)
def _sort_buckets(
    rank, size, claimed, bounds, low_bits, neighbor_bits, first_bit, largest, scratch_counts, offsets, words, weights
):
    """Writes the words, weights and row offsets of the buckets that the thread takes, one thread per bucket."""
    num_buckets = bounds.size - 1
    step = max(1, num_buckets // (size * CLAIMS_PER_THREAD))
    scratch = np.empty(largest, words.dtype)
    scratch_weights = None if weights is None else np.empty(largest, weights.dtype)
    counts = scratch_counts[rank]
    while True:
        begin = fetch_add(claimed, 0, step)
        if begin >= num_buckets:
            break
        for bucket in range(begin, min(begin + step, num_buckets)):
            first, last = bounds[bucket], bounds[bucket + 1]
            some = words[first:last]
            some_weights = None if weights is None else weights[first:last]
            in_scratch = _sort_words(
                some, some_weights, scratch, scratch_weights, counts, first_bit, low_bits + neighbor_bits
            )
            if in_scratch and weights is not None:
                some_weights[:] = scratch_weights[: some.size]
            rows = offsets[bucket << np.int64(low_bits) : min((bucket + 1) << np.int64(low_bits), offsets.size - 1)]
            _strip_rows(scratch[: some.size] if in_scratch else some, some, neighbor_bits, first, rows)


@njit(**JIT)
def _sort_words(words, weights, scratch, scratch_weights, counts, first_bit, last_bit):
    """Sorts words by their bits first_bit to last_bit - 1, stably; says whether the result is in the scratch arrays."""
    if np.uint64(words.size) <= FEW:
        _insertion_sort(words, weights, first_bit)
        return False
    in_scratch = False
    widest = FEWEST_DIGIT_BITS  # counters are cleared and added up for every digit: no more of them than words
    while widest < np.uint64(DIGIT_BITS) and (np.uint64(words.size) >> widest) > ZERO:
        widest += ONE
    num_digits = (last_bit - first_bit + widest - ONE) // widest
    for digit in range(num_digits):
        low = first_bit + (last_bit - first_bit) * digit // num_digits
        high = first_bit + (last_bit - first_bit) * (digit + ONE) // num_digits
        if in_scratch:
            _sort_digit(scratch[: words.size], scratch_weights, words, weights, counts, low, high)
        else:
            _sort_digit(words, weights, scratch, scratch_weights, counts, low, high)
        in_scratch = not in_scratch
    return in_scratch


@njit(**JIT)
def _sort_digit(words, weights, new_words, new_weights, counts, low, high):
    """Writes the words into new_words, stably sorted by the bits low to high - 1."""
    mask = (ONE << (high - low)) - ONE
    for value in range(mask + ONE):
        counts[value] = 0
    for i in range(words.size):
        counts[(np.uint64(words[i]) >> low) & mask] += ONE
    place = ZERO
    for value in range(mask + ONE):
        count = np.uint64(counts[value])
        counts[value] = place
        place += count
    for i in range(words.size):
        value = (np.uint64(words[i]) >> low) & mask
        place = np.uint64(counts[value])
        counts[value] = place + ONE
        new_words[place] = words[i]
        if weights is not None:
            new_weights[place] = weights[i]


@njit(**JIT)
def _insertion_sort(words, weights, first_bit):
    """Sorts a few words by their bits from first_bit on, stably, in place."""
    for i in range(1, words.size):
        word = words[i]
        if weights is not None:
            weight = weights[i]
        k = i
        while k > 0 and (np.uint64(words[k - 1]) >> first_bit) > (np.uint64(word) >> first_bit):
            words[k] = words[k - 1]
            if weights is not None:
                weights[k] = weights[k - 1]
            k -= 1
        words[k] = word
        if weights is not None:
            weights[k] = weight


@njit(**JIT)
def _strip_rows(words, neighbors, neighbor_bits, first, offsets):
    """Writes the neighbours of words that are sorted by row, and the offsets of these rows; words may be neighbors."""
    mask = (ONE << neighbor_bits) - ONE
    row = ZERO
    for i in range(words.size):
        word = np.uint64(words[i])
        while row <= (word >> neighbor_bits):
            offsets[row] = first + i
            row += ONE
        neighbors[i] = word & mask
    while row < np.uint64(offsets.size):
        offsets[row] = first + words.size
        row += ONE
