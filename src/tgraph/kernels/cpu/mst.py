"""Minimum spanning forest by Boruvka's rounds, the light edges first.

Edges are ordered by (weight, smaller end, larger end), so the forest is unique. Edges up to a sampled one, about two
per vertex, are listed and joined first; of the later ones only those between two of the trees made so far are listed
(filtering: Osipov, Sanders, Singler 2009). In a round every tree finds its first edge to another tree, first by weight
and then by ends, and hangs itself under that tree (Boruvka 1926).

Needs 32 bytes and three ids per vertex, and 8 bytes and two ids per listed edge: about two edges per vertex first, and
then as many of the later ones as still join two trees. Deterministic: a chosen edge is kept at the root that hung
itself under another one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, fetch_min, load
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 1 << 6  # vertices
ROOM = 1 << 8  # edges that a thread collects before it lists them
LIGHT_PER_VERTEX = 2
SAMPLES = 1 << 11
ONE, HALF = np.uint64(1), np.uint64(32)
LOW_HALF, NOTHING = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)
SIGN = np.uint64(1 << 63)
_HALT = COUNTERS + 48
_LISTED, _CHUNKS, _HUNG = COUNTERS, COUNTERS + 8, COUNTERS + 24  # 1, 2 and 3 counters; the last take turns


class Forest(NamedTuple):
    """A spanning forest: the smaller and the larger end and the weight of each edge, and a label per vertex."""

    sources: Array
    targets: Array
    weights: Array | None
    labels: Array  # the smallest vertex of the tree


def minimum_spanning_forest(
    offsets: Array, targets: Array, weights: Array | None, is_symmetric: bool, watch: Watch | None = None
) -> Forest:
    """Return the forest; weights (None = all equal) hold no NaN. There are at most 2^32 vertices.

    `is_symmetric` says that every edge is stored both ways with one weight.

    >>> offsets, targets = np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32)
    >>> forest = minimum_spanning_forest(offsets, targets, np.array([5, 1, 2]), False)
    >>> forest.sources.tolist(), forest.targets.tolist(), forest.weights.tolist(), forest.labels.tolist()
    ([1, 0], [2, 2], [2, 1], [0, 0, 0])
    """
    num_vertices = offsets.size - 1
    bits, flip = _ordered_bits(weights)
    components, parents, labels = (np.empty(num_vertices, targets.dtype) for _ in range(3))
    best_keys, best_ends, keys, ends = (np.full(num_vertices, NOTHING) for _ in range(4))
    lists = [np.empty(targets.size, dtype) for dtype in (targets.dtype, targets.dtype, np.uint64)]  # mostly untouched
    arrays = (offsets, targets, components, parents, labels, best_keys, best_ends, keys, ends, *lists)
    light = _light_edge(offsets, targets, bits, flip, is_symmetric)
    size = team_size(targets.size + num_vertices)
    (watch or Watch()).run(_span, size, bits, flip, light, is_symmetric, *(as_unsigned(array) for array in arrays))
    chosen = np.flatnonzero(ends != NOTHING)
    sources, others = ends[chosen] >> HALF, ends[chosen] & LOW_HALF
    kept = None if weights is None else _weights_of(keys[chosen], bits.dtype, flip, weights.dtype)
    return Forest(sources.astype(targets.dtype), others.astype(targets.dtype), kept, labels)


def _ordered_bits(weights: Array | None) -> tuple[Array, np.int64]:
    """Return signed integers that `_key` can order, and what it flips in negative ones: all but the sign of floats."""
    if weights is None:
        return np.empty(0, np.int8), np.int64(0)
    if weights.dtype.kind != "f":
        return weights if weights.dtype.kind == "i" else weights.astype(np.int64), np.int64(0)
    floats = np.ascontiguousarray(weights if weights.dtype.itemsize in (4, 8) else weights.astype(np.float64))
    bits = floats.view(f"i{floats.dtype.itemsize}")
    return bits, np.int64(np.iinfo(bits.dtype).max)


def _weights_of(keys: Array, bits_dtype: np.dtype[Any], flip: np.int64, dtype: np.dtype[Any]) -> Array:
    """Return the weights that have these keys."""
    signed = (keys ^ SIGN).view(np.int64)
    bits = np.where(signed < 0, signed ^ flip, signed).astype(bits_dtype)
    return bits.view(f"f{bits.itemsize}").astype(dtype) if dtype.kind == "f" else bits.astype(dtype)


def _light_edge(
    offsets: Array, targets: Array, bits: Array, flip: np.int64, is_symmetric: bool
) -> tuple[np.uint64, np.uint64]:
    """Return key and smaller end of an edge that about LIGHT_PER_VERTEX edges per vertex do not come after.

    It is guessed from a sample. With the end it divides equal weights too.
    """
    num_edges = targets.size // 2 if is_symmetric else targets.size
    wanted = LIGHT_PER_VERTEX * (offsets.size - 1)
    if num_edges <= 2 * wanted:
        return NOTHING, NOTHING
    arcs = np.linspace(0, targets.size - 1, SAMPLES).astype(np.int64)
    sources = np.searchsorted(offsets, arcs, "right") - 1
    small = np.minimum(sources, targets[arcs]).astype(np.uint64)
    keys = np.asarray([_key(bits, arc, flip, end) for arc, end in zip(arcs, small, strict=True)], np.uint64)
    place = np.lexsort((small, keys))[SAMPLES * wanted // num_edges]
    return keys[place], small[place]


@njit(**JIT)
def _key(bits, arc, flip, small):
    """Return a number whose order is that of the weights; of unweighted edges the smaller end, which comes next."""
    if bits.size == 0:
        return np.uint64(small)
    value = np.int64(bits[arc])
    if value < 0 and flip != 0:
        value ^= flip
        if value == -1:  # a negative zero
            value = 0
    return np.uint64(value) ^ SIGN


@njit(**JIT)
def _span(rank, size, shared, bits, flip, light, is_symmetric, offsets, targets, components, parents, labels,
          best_keys, best_ends, keys, ends, small_ends, large_ends, listed_keys):  # fmt: skip
    """Writes labels, keys and ends [V]: the edge by which a root hung itself under another tree."""
    first, last = part(rank, size, np.int64(labels.size))
    for vertex in range(first, last):
        components[vertex] = vertex
        parents[vertex] = vertex
    lists = (small_ends, large_ends, listed_keys)
    meeting, turn = meet(shared, 1, size), 0
    for is_heavy in range(2):
        if is_heavy and light[0] == NOTHING:
            break
        counter = _CHUNKS + 8 * is_heavy
        _collect(shared, counter, is_heavy != 0, bits, flip, light, is_symmetric, offsets, targets, components, lists)
        meeting = meet(shared, meeting, size)
        begin, end = part(rank, size, shared[_LISTED])
        while True:
            end = _offer_keys(begin, end, components, best_keys, lists)
            meeting = meet(shared, meeting, size)
            _offer_ends(begin, end, components, best_keys, best_ends, lists)
            meeting = meet(shared, meeting, size)
            _hang(shared, turn, first, last, components, parents, best_keys, best_ends, keys, ends)
            if rank == 0:
                shared[_HALT] = load(shared, STOP)
            meeting = meet(shared, meeting, size)
            hung = 0 if shared[_HALT] else shared[_HUNG + 8 * turn]
            turn = (turn + 1) % 3
            if rank == 0:
                shared[_HUNG + 8 * ((turn + 1) % 3)], shared[_LISTED] = 0, 0
            if hung == 0:
                break
            for vertex in range(first, last):
                components[vertex] = _root(parents, components[vertex])
                best_keys[vertex], best_ends[vertex] = NOTHING, NOTHING
            meeting = meet(shared, meeting, size)
        meeting = meet(shared, meeting, size)
    for vertex in range(first, last):
        root = components[vertex]
        if best_ends[root] > np.uint64(vertex):
            fetch_min(best_ends, root, np.uint64(vertex))
    meeting = meet(shared, meeting, size)
    for vertex in range(first, last):
        labels[vertex] = best_ends[components[vertex]]


@njit(**JIT)
def _collect(shared, counter, is_heavy, bits, flip, light, is_symmetric, offsets, targets, components, lists):
    """Lists the light edges, or the heavy ones between two trees. Every thread writes the places that it reserves."""
    num_vertices = np.int64(components.size)
    smalls, larges, keys = np.empty(ROOM, np.uint64), np.empty(ROOM, np.uint64), np.empty(ROOM, np.uint64)
    count = 0
    while True:
        chunk = fetch_add(shared, counter, CHUNK)
        if chunk >= num_vertices or is_stopped(shared):
            break
        for vertex in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            for arc in range(offsets[vertex], offsets[vertex + ONE]):
                target = np.uint64(targets[arc])
                if target == vertex or (is_symmetric and target < vertex):
                    continue
                small = min(vertex, target)
                key = _key(bits, arc, flip, small)
                comes_after = key > light[0] or (key == light[0] and small > light[1])
                if comes_after != is_heavy or components[vertex] == components[target]:
                    continue
                smalls[count], larges[count], keys[count] = small, max(vertex, target), key
                count += 1
                if count == ROOM:
                    count = _list(shared, count, smalls, larges, keys, lists)
        fetch_add(shared, DONE, CHUNK)
    _list(shared, count, smalls, larges, keys, lists)


@njit(**JIT)
def _list(shared, count, smalls, larges, keys, lists):
    """Writes `count` places of the lists; returns how many are left: none."""
    place = fetch_add(shared, _LISTED, count)
    for i in range(count):
        lists[0][place + i], lists[1][place + i], lists[2][place + i] = smalls[i], larges[i], keys[i]
    return 0


@njit(**JIT)
def _offer_keys(begin, end, components, best_keys, lists):
    """Writes best_keys of the trees at both ends, by all threads; drops edges inside a tree. Returns the new end."""
    smalls, larges, keys = lists
    kept = begin
    for i in range(begin, end):
        left, right = components[smalls[i]], components[larges[i]]
        if left == right:
            continue
        key = keys[i]
        smalls[kept], larges[kept], keys[kept] = smalls[i], larges[i], key
        kept += 1
        if key < best_keys[left]:
            fetch_min(best_keys, left, key)
        if key < best_keys[right]:
            fetch_min(best_keys, right, key)
    return kept


@njit(**JIT)
def _offer_ends(begin, end, components, best_keys, best_ends, lists):
    """Writes best_ends of the trees at both ends, by all threads: the first ends among the edges with the best key."""
    smalls, larges, keys = lists
    for i in range(begin, end):
        small, large, key = np.uint64(smalls[i]), np.uint64(larges[i]), keys[i]
        pair = (small << HALF) | large
        for tree in (components[small], components[large]):
            if key == best_keys[tree] and pair < best_ends[tree]:
                fetch_min(best_ends, tree, pair)


@njit(**JIT)
def _hang(shared, turn, first, last, components, parents, best_keys, best_ends, keys, ends):
    """Writes parents, keys and ends of the roots from first to last. Of two that chose one edge the larger hangs."""
    hung = 0
    for vertex in range(first, last):
        pair, root = best_ends[vertex], np.uint64(vertex)
        if pair == NOTHING:
            continue
        left, right = np.uint64(components[pair >> HALF]), np.uint64(components[pair & LOW_HALF])
        other = right if left == root else left
        if best_ends[other] != pair or root > other:
            parents[vertex], keys[vertex], ends[vertex] = other, best_keys[vertex], pair
            hung += 1
    fetch_add(shared, _HUNG + 8 * turn, hung)


@njit(**JIT)
def _root(parents, vertex):
    """Return the root above a vertex and halve the way to it. Several threads may do so: they write ancestors only."""
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex
