"""Vertex ids in fewer bytes: frames of 1,024, each id as its difference to the one before, in 0 to 4 bytes.

    ids           7  8  9  12  40 ...       of all rows, one behind the other; a frame knows nothing of rows
    differences   8  1  1   3  28 ...       to the id before, to -1 at the beginning of a frame
    folded       14  0  0   4  54 ...       2 (d - 1), or 1 - 2 d where d < 1: where the next row begins
    frame        kind | lengths, 2 bits each | bytes of the folded differences, lowest first

The kind says which four lengths can be named, the set that makes the frame smallest. Where neighbours lie together,
most differences are 1 and take no byte at all. Four ids are decoded at a time by one shuffle of bytes, so decoding is
several times as fast as a disk. Frames do not depend on each other: any of them can be decoded alone.

The idea of lengths apart from bytes is that of Stream VByte (D. Lemire, N. Kurz, C. Rupp, 2018).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.byte_shuffle import NO_BYTE, READ_BYTES, add_four
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.runtime.protocol import Array

FRAME_IDS = 1024
ID_BYTES = 4
PADDING_BYTES = READ_BYTES  # that must be readable behind a frame
LENGTHS = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [1, 2, 3, 4]], np.uint8)  # by kind


def _tables() -> tuple[Array, Array]:
    """Return, by kind and by four lengths in a byte: where each byte of four words comes from, and their length."""
    places, sizes = np.full((len(LENGTHS), 256, 16), NO_BYTE, np.uint8), np.zeros((len(LENGTHS), 256), np.uint8)
    for kind, lengths in enumerate(LENGTHS):
        for four in range(256):
            position = 0
            for lane in range(4):
                length = int(lengths[four >> 2 * lane & 3])
                places[kind, four, 4 * lane : 4 * lane + length] = np.arange(position, position + length)
                position += length
            sizes[kind, four] = position
    return places.ravel(), sizes.ravel()


DECODING_TABLES = _tables()


def num_frames(num_ids: int) -> int:
    """Return the number of frames of so many ids; the last one may be shorter than others."""
    return -(-num_ids // FRAME_IDS)


def last_frame_ids(first: int, last: int, num_ids: int) -> int:
    """Return how many ids the last of the frames from `first` to `last` (not included) holds, of `num_ids` in all."""
    return min(num_ids - (last - 1) * FRAME_IDS, FRAME_IDS) if last > first else 0


def encode_ids(ids: Array) -> tuple[Array, Array]:
    """Return ids `[N] int32`, none of them negative, as bytes, and where each frame begins in them, `[F+1] int64`.

    Deterministic, whatever the number of threads.

    >>> coded, begins = encode_ids(np.arange(5, 3000, dtype=np.int32))
    >>> coded.size, begins.tolist()
    (758, [0, 258, 517, 758])
    """
    values, count = as_unsigned(ids), num_frames(ids.size)
    kinds, begins = np.empty(count, np.uint8), np.zeros(count + 1, np.int64)
    size = team_size(ids.size)
    run_team(_choose_kinds, size, values, LENGTHS, kinds, begins)
    np.cumsum(begins, out=begins)
    coded = np.zeros(int(begins[-1]), np.uint8)
    run_team(_write_frames, size, values, LENGTHS, kinds, begins, coded)
    return coded, begins


def decode_frames(coded: Array, begins: Array, ends: Array, last_count: int, limit: int, ids: Array) -> int | None:
    """Decode frames into `ids [F * FRAME_IDS] uint32`, each to a place of its own; return the first damaged one.

    Frame i is `coded[begins[i]:ends[i]]`; the last one holds `last_count` ids, all others are full.
    Every id is below `limit`, and PADDING_BYTES must follow a frame. `ids` may lie in the same memory, if the place of
    each frame ends before that frame begins. One thread, which does not hold Python's lock meanwhile.

    >>> coded, begins = encode_ids(np.array([3, 4, 5, 1], np.int32))
    >>> ids = np.empty(FRAME_IDS, np.uint32)
    >>> decode_frames(np.append(coded, np.zeros(16, np.uint8)), begins[:-1], begins[1:], 4, 6, ids)
    >>> ids[:4].tolist()
    [3, 4, 5, 1]
    """
    damaged = int(_decode(coded, begins, ends, 0, last_count, np.uint32(limit), *DECODING_TABLES, ids))
    return None if damaged < 0 else damaged


# --- encoding --------------------------------------------------------------------------------------------------------
@njit(**JIT)
def _folded(value, last):
    """The difference of two ids, as it is stored; `last` is the id before."""
    less_one = np.int32(np.uint32(value - last - np.uint32(1)))
    return np.uint32(np.uint32(less_one) << np.uint32(1)) ^ np.uint32(less_one >> np.int32(31))


@njit(**JIT)
def _num_bytes(folded):
    count = 0
    while folded:
        folded >>= np.uint32(8)
        count += 1
    return count


@njit(**JIT)
def _choose_kinds(rank, size, values, lengths, kinds, sizes):
    """Write kinds[i] and the bytes of frame i to sizes[i + 1]; a frame has one writer."""
    first, last = part(rank, size, kinds.size)
    for frame in range(first, last):
        begin, end = frame * FRAME_IDS, min((frame + 1) * FRAME_IDS, values.size)
        needed = np.zeros(5, np.int64)  # how many differences take so many bytes
        before = np.uint32(0xFFFFFFFF)
        for i in range(begin, end):
            needed[_num_bytes(_folded(values[i], before))] += 1
            before = values[i]
        groups = (end - begin + 3) // 4
        needed[1] += 4 * groups - (end - begin)
        kinds[frame], sizes[frame + 1] = 0, np.int64(1) << np.int64(40)
        for kind in range(lengths.shape[0]):
            total = _total_bytes(needed, lengths[kind])
            if 0 <= total < sizes[frame + 1] - 1 - groups:
                kinds[frame], sizes[frame + 1] = kind, 1 + groups + total


@njit(**JIT)
def _total_bytes(needed, lengths):
    """The bytes of differences that need so many, where these lengths can be named; -1 = some need more."""
    total, which = np.int64(0), 0
    for count in range(5):
        while which < 4 and lengths[which] < count:
            which += 1
        if which == 4:
            return np.int64(-1) if needed[count:].sum() else total
        total += needed[count] * lengths[which]
    return total


@njit(**JIT)
def _write_frames(rank, size, values, lengths, kinds, begins, coded):
    """Write each frame to its own place in coded, which is 0 before; a frame has one writer."""
    first, last = part(rank, size, kinds.size)
    for frame in range(first, last):
        begin, end = frame * FRAME_IDS, min((frame + 1) * FRAME_IDS, values.size)
        named, groups = lengths[kinds[frame]], (end - begin + 3) // 4
        control = begins[frame] + 1
        place, before = control + groups, np.uint32(0xFFFFFFFF)
        coded[control - 1] = kinds[frame]
        for i in range(4 * groups):
            folded = np.uint32(1)  # the last id once more, where a group of four is not full
            if begin + i < end:
                folded = _folded(values[begin + i], before)
                before = values[begin + i]
            which, needed = 0, _num_bytes(folded)
            while named[which] < needed:
                which += 1
            coded[control + i // 4] |= np.uint8(which << (2 * (i % 4)))
            for byte in range(named[which]):
                coded[place] = np.uint8((folded >> np.uint32(8 * byte)) & np.uint32(255))
                place += 1


# --- decoding --------------------------------------------------------------------------------------------------------
@njit(**JIT)
def decode_some(edges, first, last, ids):
    """Decode the frames from `first` to `last`, not included, of a `CodedEdges`; return the first damaged one or -1."""
    count = min(edges.num_ids - (last - 1) * FRAME_IDS, FRAME_IDS)
    begins, ends = edges.begins[first:last], edges.begins[first + 1 : last + 1]
    damaged = _decode(edges.coded, begins, ends, edges.shift, count, edges.limit, edges.places, edges.sizes, ids)
    return np.int64(-1) if damaged < 0 else first + damaged


@njit(**JIT)
def _decode(coded, begins, ends, shift, last_count, limit, places, sizes, ids):
    """Writes ids, frame by frame; returns the first frame that is damaged, -1 for none. One thread. The lengths in a
    frame must add up to its end, and every id lies below the limit, so that damage never leads outside an array.
    """
    for frame in range(begins.size):
        begin, end = np.uint64(begins[frame] + shift), np.uint64(ends[frame] + shift)
        count = last_count if frame == begins.size - 1 else FRAME_IDS
        groups = np.uint64((count + 3) // 4)
        if begin + np.uint64(1) + groups > end or coded[begin] >= LENGTHS.shape[0]:
            return frame
        table, control = np.uint64(coded[begin]) << np.uint64(8), begin + np.uint64(1)
        if control + groups + _named_bytes(coded, control, groups, table, sizes) != end:
            return frame
        place, last, at = control + groups, np.uint32(0xFFFFFFFF), np.uint64(frame * FRAME_IDS)
        for group in range(groups):
            entry = table + np.uint64(coded[control + np.uint64(group)])
            last = add_four(coded, place, places, entry << np.uint64(4), last, ids, at)
            place += np.uint64(sizes[entry])
            at += np.uint64(4)
        if _largest(ids, frame * FRAME_IDS, count) >= limit:
            return frame
    return -1


@njit(**JIT)
def _named_bytes(coded, control, groups, table, sizes):
    """The bytes of all differences of a frame; a pass of its own is faster than a look at the end after each four."""
    total = np.uint64(0)
    for group in range(groups):
        total += np.uint64(sizes[table + np.uint64(coded[control + np.uint64(group)])])
    return total


@njit(**JIT)
def _largest(ids, first, count):
    largest = np.uint32(0)
    for i in range(np.uint64(first), np.uint64(first + count)):
        largest = max(largest, ids[i])
    return largest
