"""Label propagation, one synchronous sweep at a time: every vertex takes the most frequent label around it.

A thread counts the labels of one vertex in a small hash table of its own, twice as large as the vertex has edges, and
stops as soon as one label has more than half of them. Up to four labels are compared without a jump, in a loop of their
own over the vertices, and up to twelve with each other. What is called for every vertex is inlined: a call that takes
arrays costs tens of nanoseconds. Work is taken in pieces of about equal numbers of edges; vertices with very many edges
are counted by all threads together, in one shared array. Once few labels change, a vertex that changes marks its
neighbours, and only marked vertices look at their edges in the next sweep.

Memory: two labels, two marks and one count per vertex (14 bytes with 32-bit ids), and 256 KiB per thread.
Deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.counter_random import STEP
from tgraph.kernels.cpu.shares import take
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

FEW_EDGES = 12  # up to here labels are compared with each other, without a hash table
HUB_EDGES = 1 << 14  # a vertex with more edges is counted by all threads together
CHUNK = 1 << 15  # edges and vertices that a thread takes at once
MARKING_SHARE = 4  # neighbours are marked while less than 1 / 4 of the edges belong to vertices that changed
_ACTIVE_VERTICES, _ACTIVE_EDGES, _CHANGED, _CHANGED_EDGES = (COUNTERS + 8 * i for i in range(1, 5))


class Propagation:
    """Labels and what the next sweep needs to know. `incoming` are rows that count as well as `outgoing`, or None.

    >>> import numpy as np
    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    >>> path = Propagation(rows, None, np.arange(3, dtype=np.int32))
    >>> path.sweep(), path.labels.tolist()
    ((3, 4, 3), [1, 0, 1])
    """

    def __init__(
        self,
        outgoing: tuple[Array, Array],
        incoming: tuple[Array, Array] | None,
        labels: Array,
        num_labels: int | None = None,
    ) -> None:
        """Labels are below `num_labels`, the number of vertices unless given."""
        self.labels = labels
        nothing = (np.zeros(0, np.int64), np.zeros(0, labels.dtype))
        self._rows = tuple(as_unsigned(array) for side in (outgoing, incoming or nothing) for array in side)
        degrees = np.diff(outgoing[0]) + (0 if incoming is None else np.diff(incoming[0]))
        self._num_arcs = int(degrees.sum())
        self._hub_edges = HUB_EDGES
        self._hubs = np.nonzero(degrees > HUB_EDGES)[0].astype(np.uint64)
        largest = int(degrees[degrees <= HUB_EDGES].max(initial=1))
        self._capacity = 1 << (2 * largest - 1).bit_length()
        self._hub_counts = np.zeros((num_labels or labels.size) if self._hubs.size else 0, np.uint32)
        self._spare_labels = np.empty_like(labels)
        self._marks, self._spare_marks = np.ones(labels.size, np.uint8), np.zeros(labels.size, np.uint8)
        self._changed_edges = self._num_arcs

    def begin(self, labels: Array) -> None:
        """Take other labels, around which everything may have changed."""
        self.labels[:] = labels
        self._marks.fill(1)
        self._changed_edges = self._num_arcs

    def sweep(self, watch: Watch | None = None) -> tuple[int, int, int]:
        """Replace all labels; return how many vertices and edges were looked at, and how many labels changed."""
        size = team_size(self._num_arcs + self.labels.size)
        is_marking = MARKING_SHARE * self._changed_edges < self._num_arcs
        self._spare_marks.fill(0 if is_marking else 1)
        tables = np.empty((2, size, self._capacity), as_unsigned(self.labels).dtype)
        found = np.zeros((2, size, 8), np.uint64)  # of a hub: each thread's best label and its count
        arrays = (as_unsigned(self.labels), as_unsigned(self._spare_labels), self._marks, self._spare_marks)
        hubs = (self._hubs, self._hub_counts, found, tables)
        shared = (watch or Watch()).run(_sweep, size, *self._rows, *arrays, *hubs, is_marking, self._hub_edges, CHUNK)
        self.labels, self._spare_labels = self._spare_labels, self.labels
        self._marks, self._spare_marks = self._spare_marks, self._marks
        self._changed_edges = int(shared[_CHANGED_EDGES])
        return int(shared[_ACTIVE_VERTICES]), int(shared[_ACTIVE_EDGES]), int(shared[_CHANGED])


@njit(**JIT)
def _vertex_at(out_offsets, in_offsets, work):
    """The first vertex before which at least `work` edges and vertices lie."""
    low, high = np.uint64(0), np.uint64(out_offsets.size - 1)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        before = out_offsets[middle] + middle
        if in_offsets.size:
            before += in_offsets[middle]
        if before < work:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@njit(inline="always", **JIT)
def _edges_of(vertex, offsets):
    """The first and the last + 1 edge; none where there are no rows."""
    if offsets.size == 0:
        return np.uint64(0), np.uint64(0)
    return offsets[vertex], offsets[vertex + np.uint64(1)]


@njit(inline="always", **JIT)
def _count_labels(first, last, neighbors, labels, keys, counts, bits, half, best, most):
    """Count the labels of these neighbours; return the best so far and its count. Ends early above `half`."""
    empty, one = labels.dtype.type(-1), labels.dtype.type(1)
    mask = (np.uint64(1) << (np.uint64(64) - bits)) - np.uint64(1)
    for edge in range(first, last):
        label = labels[neighbors[edge]]
        slot = (np.uint64(label) * STEP) >> bits
        while keys[slot] != label:
            if keys[slot] == empty:
                keys[slot], counts[slot] = label, labels.dtype.type(0)
                break
            slot = (slot + np.uint64(1)) & mask
        count = counts[slot] + one
        counts[slot] = count
        if count > most or (count == most and label < best):
            best, most = label, count
            if most > half:
                break
    return best, most


@njit(inline="always", **JIT)
def _count_few(first, last, neighbors, labels, seen, held, best, most):
    """As _count_labels, comparing each label with the `held` ones before it; returns how many are held then too.

    Of equal labels the last one is counted in full. Nothing here is a jump that a processor could guess wrong.
    """
    for edge in range(first, last):
        label, count = labels[neighbors[edge]], np.uint32(1)
        for place in range(held):
            count += np.uint32(seen[place] == label)
        seen[held] = label
        held += np.uint64(1)
        is_better = (count > most) | ((count == most) & (label < best))
        best = label if is_better else best
        most = count if is_better else most
    return best, most, held


@njit(inline="always", **JIT)
def _most_of_four(first, last, neighbors, labels):
    """Return the most frequent label of one to four neighbours, the smallest such, without a jump.

    Who is missing stands for the last neighbour and has weight 0. Of equal labels the first one is counted in full.
    """
    one, two = np.uint64(1), np.uint64(2)
    end = last - one
    a, b = labels[neighbors[first]], labels[neighbors[min(first + one, end)]]
    c, d = labels[neighbors[min(first + two, end)]], labels[neighbors[end]]
    has_b, has_c, has_d = np.uint32(first < end), np.uint32(first + one < end), np.uint32(first + two < end)
    of_a = np.uint32(1) + has_b * np.uint32(a == b) + has_c * np.uint32(a == c) + has_d * np.uint32(a == d)
    of_b = has_b * (np.uint32(1) + has_c * np.uint32(b == c) + has_d * np.uint32(b == d))
    of_c = has_c * (np.uint32(1) + has_d * np.uint32(c == d))
    is_better = (of_b > of_a) | ((of_b == of_a) & (b < a))
    best, most = b if is_better else a, of_b if is_better else of_a
    is_better = (of_c > most) | ((of_c == most) & (c < best))
    best, most = c if is_better else best, of_c if is_better else most
    return d if (has_d > most) | ((has_d == most) & (d < best)) else best


@njit(inline="always", **JIT)
def _most_frequent(first, last, neighbors, in_first, in_last, in_neighbors, labels, keys, counts):
    """Return the most frequent label of the neighbours, the smallest such. Writes the tables. Needs an edge."""
    empty, degree = labels.dtype.type(-1), (last - first) + (in_last - in_first)
    if degree <= np.uint64(FEW_EDGES):
        best, most, held = _count_few(first, last, neighbors, labels, keys, np.uint64(0), empty, np.uint32(0))
        best, most, held = _count_few(in_first, in_last, in_neighbors, labels, keys, held, best, most)
        return best
    half, best, most = degree >> np.uint64(1), empty, labels.dtype.type(0)
    bits, capacity = np.uint64(63), np.uint64(2)
    while capacity < degree + degree:
        capacity += capacity
        bits -= np.uint64(1)
    for slot in range(capacity):
        keys[slot] = empty
    best, most = _count_labels(first, last, neighbors, labels, keys, counts, bits, half, best, most)
    if most <= half:
        best, most = _count_labels(in_first, in_last, in_neighbors, labels, keys, counts, bits, half, best, most)
    return best


@njit(**JIT)
def _own_part(rank, size, first, last):
    """The thread's share of these edges."""
    low, high = part(rank, size, np.int64(last - first))
    return first + np.uint64(low), first + np.uint64(high)


@njit(**JIT)
def _add_counts(first, last, neighbors, labels, hub_counts):
    """Add these edges to hub_counts, together with other threads; equal labels behind each other at once."""
    run, before = np.uint32(0), labels.dtype.type(0)
    for edge in range(first, last):
        label = labels[neighbors[edge]]
        if label != before and run:
            fetch_add(hub_counts, before, run)
            run = np.uint32(0)
        run += np.uint32(1)
        before = label
    if run:
        fetch_add(hub_counts, before, run)


@njit(**JIT)
def _best_count(first, last, neighbors, labels, hub_counts, best, most):
    """Return the label of these neighbours with the highest count, and the count."""
    for edge in range(first, last):
        label = np.uint64(labels[neighbors[edge]])
        count = np.uint64(hub_counts[label])
        if count > most or (count == most and label < best):
            best, most = label, count
    return best, most


@njit(**JIT)
def _clear_counts(first, last, neighbors, labels, hub_counts):
    """Set the counts of these neighbours back to 0."""
    for edge in range(first, last):
        hub_counts[labels[neighbors[edge]]] = np.uint32(0)


@njit(**JIT)
def _hub_label(
    rank, size, shared, meeting, first, last, neighbors, in_first, in_last, in_neighbors, labels, hub_counts, found
):
    """Return the most frequent label and the next meeting. All threads come here together; writes found[:, rank]."""
    first, last = _own_part(rank, size, first, last)
    in_first, in_last = _own_part(rank, size, in_first, in_last)
    _add_counts(first, last, neighbors, labels, hub_counts)
    _add_counts(in_first, in_last, in_neighbors, labels, hub_counts)
    meeting = meet(shared, meeting, size)
    best, most = _best_count(first, last, neighbors, labels, hub_counts, np.uint64(0), np.uint64(0))
    best, most = _best_count(in_first, in_last, in_neighbors, labels, hub_counts, best, most)
    found[0, rank, 0], found[1, rank, 0] = best, most
    meeting = meet(shared, meeting, size)
    _clear_counts(first, last, neighbors, labels, hub_counts)
    _clear_counts(in_first, in_last, in_neighbors, labels, hub_counts)
    for other in range(size):
        label, count = found[0, other, 0], found[1, other, 0]
        if count > most or (count == most and label < best):
            best, most = label, count
    meeting = meet(shared, meeting, size)
    return labels.dtype.type(best), meeting


@njit(inline="always", **JIT)
def _mark(first, last, neighbors, marks):
    """These neighbours look again; several threads may write the same 1."""
    for edge in range(first, last):
        marks[neighbors[edge]] = 1


@njit(**JIT)
def _sweep_short(begin, end, out_offsets, out_targets, in_offsets, labels, new_labels, marks, hub_edges):
    """Writes new_labels of those that have four edges at most or no mark; returns how many looked, and their edges."""
    vertices, edges = np.uint64(0), np.uint64(0)
    for vertex in range(begin, end):
        label = labels[vertex]
        first, last = _edges_of(vertex, out_offsets)
        in_first, in_last = _edges_of(vertex, in_offsets)
        degree = (last - first) + (in_last - in_first)
        if degree > np.uint64(hub_edges):
            continue
        if marks[vertex] and degree > np.uint64(0):
            if degree > np.uint64(4) or in_first != in_last:
                continue
            vertices += np.uint64(1)
            edges += degree
            label = _most_of_four(first, last, out_targets, labels)
        new_labels[vertex] = label
    return np.int64(vertices), np.int64(edges)


@njit(**JIT)
def _sweep_long(
    begin, end, out_offsets, out_targets, in_offsets, in_sources, labels, new_labels, marks, keys, counts, hub_edges
):
    """Writes new_labels of the others, except hubs; returns how many looked, and their edges."""
    vertices, edges = np.uint64(0), np.uint64(0)
    for vertex in range(begin, end):
        first, last = _edges_of(vertex, out_offsets)
        in_first, in_last = _edges_of(vertex, in_offsets)
        degree = (last - first) + (in_last - in_first)
        is_short = degree == np.uint64(0) or (last - first <= np.uint64(4) and in_first == in_last)
        if is_short or marks[vertex] == 0 or degree > np.uint64(hub_edges):
            continue
        vertices += np.uint64(1)
        edges += degree
        new_labels[vertex] = _most_frequent(
            first, last, out_targets, in_first, in_last, in_sources, labels, keys, counts
        )
    return np.int64(vertices), np.int64(edges)


@njit(**JIT)
def _look_at_changes(
    begin, end, out_offsets, out_targets, in_offsets, in_sources, labels, new_labels, new_marks, is_marking, hub_edges
):
    """Returns how many of these vertices changed, and their edges; writes the marks of their neighbours. No hubs."""
    changed, edges = np.uint64(0), np.uint64(0)
    for vertex in range(begin, end):
        first, last = _edges_of(vertex, out_offsets)
        in_first, in_last = _edges_of(vertex, in_offsets)
        degree = (last - first) + (in_last - in_first)
        if degree > np.uint64(hub_edges) or labels[vertex] == new_labels[vertex]:
            continue
        changed += np.uint64(1)
        edges += degree
        if is_marking:
            _mark(first, last, out_targets, new_marks)
            _mark(in_first, in_last, in_sources, new_marks)
    return np.int64(changed), np.int64(edges)


@njit(**JIT)
def _sweep(
    rank, size, shared, out_offsets, out_targets, in_offsets, in_sources, labels, new_labels, marks, new_marks,
    hubs, hub_counts, found, tables, is_marking, hub_edges, chunk,
):  # fmt: skip
    """Writes new_labels[v], one thread per v, and counts what was done in `shared`."""
    vertices, edges, changed, changed_edges = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    num_vertices = np.uint64(labels.size)
    total = np.int64(labels.size + out_targets.size + in_sources.size)
    count = (total + chunk - 1) // chunk
    place, owner = take(shared, 0, rank, size, count, rank)
    while place < count and not is_stopped(shared):
        start = place * chunk
        begin = _vertex_at(out_offsets, in_offsets, np.uint64(start))
        end = num_vertices
        if start + chunk < total:
            end = _vertex_at(out_offsets, in_offsets, np.uint64(start + chunk))
        short = _sweep_short(begin, end, out_offsets, out_targets, in_offsets, labels, new_labels, marks, hub_edges)
        long = _sweep_long(
            begin, end, out_offsets, out_targets, in_offsets, in_sources, labels, new_labels, marks, tables[0, rank],
            tables[1, rank], hub_edges,
        )  # fmt: skip
        new = _look_at_changes(
            begin, end, out_offsets, out_targets, in_offsets, in_sources, labels, new_labels, new_marks, is_marking,
            hub_edges,
        )  # fmt: skip
        vertices, edges = vertices + short[0] + long[0], edges + short[1] + long[1]
        changed, changed_edges = changed + new[0], changed_edges + new[1]
        fetch_add(shared, DONE, np.int64(end - begin))
        place, owner = take(shared, 0, rank, size, count, owner)
    meeting = 1
    for hub in range(hubs.size):
        vertex = hubs[hub]
        label = labels[vertex]
        first, last = _edges_of(vertex, out_offsets)
        in_first, in_last = _edges_of(vertex, in_offsets)
        if marks[vertex]:
            label, meeting = _hub_label(
                rank, size, shared, meeting, first, last, out_targets, in_first, in_last, in_sources, labels,
                hub_counts, found,
            )  # fmt: skip
        if rank == 0:
            new_labels[vertex] = label
            degree = np.int64((last - first) + (in_last - in_first)) if marks[vertex] else 0
            vertices += marks[vertex]
            edges += degree
            if label != labels[vertex]:
                changed += 1
                changed_edges += degree
                if is_marking:
                    _mark(first, last, out_targets, new_marks)
                    _mark(in_first, in_last, in_sources, new_marks)
    fetch_add(shared, _ACTIVE_VERTICES, vertices)
    fetch_add(shared, _ACTIVE_EDGES, edges)
    fetch_add(shared, _CHANGED, changed)
    fetch_add(shared, _CHANGED_EDGES, changed_edges)
