"""Decoding of WebGraph's BV format: successor lists as references, intervals and residuals in instantaneous codes.

The vertices are decoded one behind the other, so that every referenced list is already there and no offsets are
needed. Single-threaded. Every read is checked against the end of the bits and every value against the sizes given, so
that damaged input ends with a status, never outside an array; each step consumes bits or fills a place, so it ends.

P. Boldi, S. Vigna: The WebGraph framework I: compression techniques. WWW 2004.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

CODES = ("unary", "gamma", "delta", "zeta", "nibble")
_UNARY, _GAMMA, _DELTA, _ZETA, _NIBBLE = range(5)

MAX_BITS = 61  # of one value: sums of two stay inside int64
FAILED = -1  # what reading a code returns where the bits end or the value is too long

STATUSES = (
    "",
    "a code runs past the end of the file, or its value has more than 61 bits",
    "the vertex has more successors than there are vertices",
    "there are more arcs than the properties say",
    "the reference leads before the window or the first vertex",
    "the copy blocks are longer than the referenced list",
    "the copied successors and intervals exceed the outdegree",
    "a successor lies outside the vertices",
    "a successor occurs twice",
)
_OK, _BAD_CODE, _BAD_DEGREE, _BAD_ARCS, _BAD_REFERENCE, _BAD_BLOCKS, _BAD_COUNT, _BAD_SUCCESSOR, _TWICE = range(9)


def decode_bv(
    content: bytes,
    num_vertices: int,
    num_arcs: int,
    codes: tuple[int, int, int, int, int],
    window_size: int,
    min_interval_length: int,
    zeta_k: int,
) -> tuple[Array, Array, int, int, int]:
    """Decode a BV stream into offsets `[V+1]` and targets `[E]`.

    `codes` are positions in `CODES` for outdegrees, references, block counts, blocks and residuals. Returns also
    the position in `STATUSES` (0 = all is well), and the vertex and bit where decoding stopped. Deterministic.
    """
    padded = content + bytes(16 + -len(content) % 8)
    words = np.frombuffer(padded, ">u8").astype(np.uint64)
    offsets = np.zeros(num_vertices + 1, np.int64)
    targets = np.empty(num_arcs, index_dtype(num_vertices))
    scratch = np.empty(num_vertices, targets.dtype)
    cursor = np.zeros(2, np.int64)  # the next bit, and the number of bits
    cursor[1] = 8 * len(content)
    settings = np.array([*codes, window_size, min_interval_length, zeta_k], np.int64)
    status, vertex = _decode(words, cursor, settings, offsets, targets, scratch)
    return offsets, targets, int(status), int(vertex), int(cursor[0])


# --- bits ------------------------------------------------------------------------------------------------------------
@njit(**JIT)
def _window(words, position):
    """The 64 bits from `position` on, first bit highest."""
    word, shift = position >> 6, np.uint64(position & 63)
    if shift == np.uint64(0):
        return words[word]
    return (words[word] << shift) | (words[word + 1] >> (np.uint64(64) - shift))


@njit(**JIT)
def _leading_zeros(bits):
    """The number of zeros before the first one. Needs bits != 0."""
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if (bits >> np.uint64(64 - step)) == np.uint64(0):
            bits = bits << np.uint64(step)
            count += step
    return count


@njit(**JIT)
def _read_bits(words, cursor, count):
    """The next `count` bits as a number."""
    if count < 0 or count > MAX_BITS or cursor[0] + count > cursor[1]:
        return FAILED
    if count == 0:
        return 0
    value = np.int64(_window(words, cursor[0]) >> np.uint64(64 - count))
    cursor[0] += count
    return value


@njit(**JIT)
def _read_unary(words, cursor):
    """The number of zeros before the next one."""
    zeros = 0
    while cursor[0] < cursor[1]:
        bits = _window(words, cursor[0])
        if bits != np.uint64(0):
            count = _leading_zeros(bits)
            cursor[0] += count + 1
            return zeros + count if cursor[0] <= cursor[1] else FAILED
        cursor[0] += 64
        zeros += 64
    return FAILED


@njit(**JIT)
def _read_below_power(words, cursor, exponent):
    """The rest of a value whose highest bit is 2^exponent, less one."""
    rest = _read_bits(words, cursor, exponent)
    return FAILED if rest < 0 else (np.int64(1) << exponent) + rest - 1


@njit(**JIT)
def _read_gamma(words, cursor):
    exponent = _read_unary(words, cursor)
    return _read_below_power(words, cursor, exponent)


@njit(**JIT)
def _read_delta(words, cursor):
    exponent = _read_gamma(words, cursor)
    return _read_below_power(words, cursor, exponent)


@njit(**JIT)
def _read_zeta(words, cursor, k):
    """Intervals [2^(hk), 2^((h+1)k)) with h in unary and minimal binary codes inside."""
    h = _read_unary(words, cursor)
    if h < 0 or h * k + k > MAX_BITS:
        return FAILED
    least = np.int64(1) << (h * k)
    value = _read_bits(words, cursor, h * k + k - 1)
    if value < 0 or value < least:
        return FAILED if value < 0 else value + least - 1
    last = _read_bits(words, cursor, 1)
    return FAILED if last < 0 else (value << 1) + last - 1


@njit(**JIT)
def _read_nibble(words, cursor):
    """Groups of a stop bit and three bits, highest first."""
    value = np.int64(0)
    while value < np.int64(1) << (MAX_BITS - 3):
        group = _read_bits(words, cursor, 4)
        if group < 0:
            return FAILED
        value = (value << 3) | (group & 7)
        if group >= 8:
            return value
    return FAILED


@njit(**JIT)
def _read_code(words, cursor, code, k):
    if code == _GAMMA:
        return _read_gamma(words, cursor)
    if code == _UNARY:
        return _read_unary(words, cursor)
    if code == _DELTA:
        return _read_delta(words, cursor)
    if code == _ZETA:
        return _read_zeta(words, cursor, k)
    return _read_nibble(words, cursor)


@njit(**JIT)
def _signed(value):
    """From 0, 1, 2, 3, 4 to 0, -1, 1, -2, 2."""
    return value >> 1 if value & 1 == 0 else -((value + 1) >> 1)


# --- successor lists -------------------------------------------------------------------------------------------------
@njit(**JIT)
def _decode(words, cursor, settings, offsets, targets, scratch):
    """Fills offsets and targets, one vertex behind the other; returns a status and the vertex where it stopped."""
    num_vertices = offsets.size - 1
    for vertex in range(num_vertices):
        degree = _read_code(words, cursor, settings[0], settings[7])
        if degree < 0:
            return _BAD_CODE, vertex
        if degree > num_vertices:
            return _BAD_DEGREE, vertex
        if degree > targets.size - offsets[vertex]:
            return _BAD_ARCS, vertex
        offsets[vertex + 1] = offsets[vertex] + degree
        if degree > 0:
            status = _decode_row(words, cursor, settings, offsets, targets, scratch, vertex)
            if status != _OK:
                return status, vertex
    return _OK, num_vertices


@njit(**JIT)
def _decode_row(words, cursor, settings, offsets, targets, scratch, vertex):
    """Writes the row as up to three ascending runs (copied, intervals, residuals), then merges them."""
    begin, end = offsets[vertex], offsets[vertex + 1]
    place = begin
    if settings[5] > 0:
        place, status = _copy_reference(words, cursor, settings, offsets, targets, vertex)
        if status != _OK:
            return status
    copied = place
    if place < end and settings[6] > 0:
        place, status = _fill_intervals(words, cursor, settings[6], targets, vertex, place, end, offsets.size - 1)
        if status != _OK:
            return status
    status = _fill_residuals(words, cursor, settings, targets, vertex, place, end, offsets.size - 1)
    if status == _OK:
        status = _merge(targets, scratch, begin, copied, place)
    if status == _OK:
        status = _merge(targets, scratch, begin, place, end)
    return status


@njit(**JIT)
def _copy_reference(words, cursor, settings, offsets, targets, vertex):
    """Copies the blocks of an earlier row that the list names; returns the next free place and a status."""
    place, end = offsets[vertex], offsets[vertex + 1]
    distance = _read_code(words, cursor, settings[1], settings[7])
    if distance < 0:
        return place, _BAD_CODE
    if distance == 0:
        return place, _OK
    if distance > settings[5] or distance > vertex:
        return place, _BAD_REFERENCE
    source, source_end = offsets[vertex - distance], offsets[vertex - distance + 1]
    num_blocks = _read_code(words, cursor, settings[2], settings[7])
    if num_blocks < 0:
        return place, _BAD_CODE
    for block in range(num_blocks + 1):
        if block < num_blocks:
            length = _read_code(words, cursor, settings[3], settings[7])
            if length < 0:
                return place, _BAD_CODE
            length += 1 if block > 0 else 0
        else:
            length = source_end - source  # an even number of blocks: the rest is copied as well
        if length > source_end - source:
            return place, _BAD_BLOCKS
        if block % 2 == 0:
            if length > end - place:
                return place, _BAD_COUNT
            for i in range(length):
                targets[place + i] = targets[source + i]
            place += length
        source += length
    return place, _OK


@njit(**JIT)
def _fill_intervals(words, cursor, min_length, targets, vertex, place, end, num_vertices):
    """Writes runs of consecutive successors; returns the next free place and a status."""
    count = _read_gamma(words, cursor)
    if count < 0:
        return place, _BAD_CODE
    following = np.int64(0)
    for interval in range(count):
        gap, extra = _read_gamma(words, cursor), _read_gamma(words, cursor)
        if gap < 0 or extra < 0:
            return place, _BAD_CODE
        left = vertex + _signed(gap) if interval == 0 else following + gap + 1
        length = extra + min_length
        if length > end - place:
            return place, _BAD_COUNT
        if left < 0 or left > num_vertices - length:
            return place, _BAD_SUCCESSOR
        for i in range(length):
            targets[place + i] = left + i
        place += length
        following = left + length
    return place, _OK


@njit(**JIT)
def _fill_residuals(words, cursor, settings, targets, vertex, place, end, num_vertices):
    """Writes the remaining successors, each as the gap to the one before."""
    successor = np.int64(0)
    for i in range(place, end):
        gap = _read_code(words, cursor, settings[4], settings[7])
        if gap < 0:
            return _BAD_CODE
        successor = vertex + _signed(gap) if i == place else successor + gap + 1
        if successor < 0 or successor >= num_vertices:
            return _BAD_SUCCESSOR
        targets[i] = successor
    return _OK


@njit(**JIT)
def _merge(targets, scratch, begin, middle, end):
    """Merges two ascending runs in place; only the first is set aside. Needs end - begin <= scratch.size."""
    if begin == middle or middle == end:
        return _OK
    count = middle - begin
    for i in range(count):
        scratch[i] = targets[begin + i]
    left, right, place = 0, middle, begin
    while left < count and right < end:
        if scratch[left] == targets[right]:
            return _TWICE
        if scratch[left] < targets[right]:
            targets[place] = scratch[left]
            left += 1
        else:
            targets[place] = targets[right]
            right += 1
        place += 1
    for i in range(left, count):
        targets[place + i - left] = scratch[i]
    return _OK
