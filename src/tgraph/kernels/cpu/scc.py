"""Strongly connected components: the largest by parallel sweeps, what is left by one thread's depth-first search.

1. A pivot with many edges both ways is taken from a sample, and what it reaches is found by breadth-first search.
2. Sweeps over the vertices settle those whose neighbours say enough: a reached vertex with an edge into the pivot's
   component belongs to it; a vertex all of whose edges lead to settled ones is a component by itself. Both stay true
   once they are found, so threads need no order among them (trimming and forward-backward search: McLendon,
   Hendrickson, Plimpton, Rauchwerger 2005). Only outgoing edges are needed.
3. When a sweep settles little, Tarjan's search (1972), without recursion, goes over what is left. The pivot's component
   is one vertex for it, already on the stack.

In small graphs that search goes over everything, on the thread that asks.

Needs 9 bytes and four ids per vertex. The label is the smallest vertex of the component, so the answer depends on
neither threads nor chance.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add, fetch_min, load
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch, is_stopped, new_shared
from tgraph.runtime.protocol import Array

UNSEEN, REACHED, GIANT, SETTLED = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)
SMALL = 4_000_000  # vertices and edges that one search goes over in about 15 ms
SAMPLES = 4096
CHUNK = 1 << 11  # vertices that a thread takes in a sweep
FRONTIER_CHUNK = 1 << 6  # vertices that a thread takes of a frontier
FEW = 1 << 9  # vertices of a frontier that one thread follows alone
ROOM = 1 << 8  # vertices that a thread collects before it appends them to the queue
LEAST_GAIN = 8  # sweeps go on while they settle one in so many of the edges that were left
MAX_SWEEPS = 12
MAX_LEVELS = 8  # a search that still grows after so many levels is given up: sweeps would settle little
STILL_GROWS = 64  # the frontier has one in so many of the vertices reached
ONE = np.uint64(1)
CLOSED = np.uint64(0xFFFFFFFFFFFFFFFF)  # cut to the type of ids: above every number
_TAIL, _HEAD, _SMALLEST = COUNTERS, COUNTERS + 8, COUNTERS + 16
_LEVEL, _GIVEN_UP, _HALT = COUNTERS + 24, COUNTERS + 32, COUNTERS + 33
_LEVELS = COUNTERS + 40  # three counters that take turns
_SWEEPS = COUNTERS + 64  # per sweep: the next vertex and whether to stop, edges left before it, edges that it settled


def smallest_strongly_connected(offsets: Array, targets: Array, watch: Watch | None = None) -> Array:
    """Return the smallest vertex of each vertex's strongly connected component, in the type of the targets.

    >>> smallest_strongly_connected(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 2], np.int32)).tolist()
    [0, 0, 2]
    """
    num_vertices = offsets.size - 1
    labels, queue, path, lows = (np.empty(num_vertices, targets.dtype) for _ in range(4))
    arrays = [as_unsigned(array) for array in (offsets, targets, labels, queue, path, lows)]
    states, places = np.zeros(num_vertices, np.uint8), np.empty(num_vertices, np.uint64)
    if targets.size + num_vertices < SMALL:
        run_team(_finish, 1, new_shared(1), *arrays, states, places, 0, True)
        return labels
    size = team_size(targets.size + num_vertices)
    watch = watch or Watch()
    shared = watch.run(_settle, size, *arrays[:4], states, MAX_LEVELS, LEAST_GAIN)
    watch.run(_finish, 1, *arrays, states, places, shared[_SMALLEST], shared[_GIVEN_UP] == 1)
    return labels


@njit(**JIT)
def _settle(rank, size, shared, offsets, targets, labels, queue, states, max_levels, least_gain):
    """Writes states, and labels of the settled vertices: one thread per vertex in a sweep. queue is scratch."""
    meeting = 1
    if targets.size > 0:
        meeting = _reach(rank, size, shared, meeting, offsets, targets, states, queue, max_levels)
    meeting = meet(shared, meeting, size)
    for turn in range(0 if shared[_GIVEN_UP] else MAX_SWEEPS):
        words = _SWEEPS + 24 * turn
        _sweep(shared, words, offsets, targets, labels, states)
        if rank == 0:
            shared[words + 1] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        if shared[words + 16] * least_gain <= shared[words + 8] or shared[words + 1]:
            break


@njit(**JIT)
def _finish(rank, size, shared, offsets, targets, labels, queue, path, lows, states, places, smallest, is_given_up):
    """Writes the labels that are missing. For one thread: others would only wait."""
    shared[_SMALLEST] = smallest
    if not is_given_up:
        _search(REACHED, shared, offsets, targets, labels, queue, path, lows, states, places)
    _search(UNSEEN, shared, offsets, targets, labels, queue, path, lows, states, places)
    for vertex in range(labels.size):
        if states[vertex] == GIANT:
            labels[vertex] = shared[_SMALLEST]


@njit(**JIT)
def _pivot(offsets, targets):
    """Return a vertex with many edges out, and in as far as a sample of edges shows."""
    sample = np.empty(SAMPLES, targets.dtype)
    for i in range(SAMPLES):
        spread = (np.uint64(i) * np.uint64(11400714819323198485)) & np.uint64(0xFFFFFFFF)
        sample[i] = targets[(spread * np.uint64(targets.size)) >> np.uint64(32)]
    sample.sort()
    best, most, run = sample[0], np.uint64(0), np.uint64(0)
    for i in range(SAMPLES):
        run = run + ONE if i > 0 and sample[i] == sample[i - 1] else ONE
        edges = run * (offsets[sample[i] + ONE] - offsets[sample[i]])
        if edges > most:
            best, most = sample[i], edges
    return best


@njit(**JIT)
def _reach(rank, size, shared, meeting, offsets, targets, states, queue, max_levels):
    """Writes states and queue: all that a pivot reaches. Thread 0 follows few vertices alone; returns the meeting."""
    if rank == 0:
        queue[0] = _pivot(offsets, targets)
        states[queue[0]] = GIANT
        shared[_TAIL], shared[_SMALLEST] = 1, queue[0]
    turn = 0
    while True:
        if rank == 0:
            shared[_HALT] = load(shared, STOP)
            _reach_few(shared, FEW if size > 1 else states.size, max_levels, offsets, targets, states, queue)
        meeting = meet(shared, meeting, size)
        head, tail, halt = shared[_HEAD], shared[_TAIL], shared[_HALT]
        meeting = meet(shared, meeting, size)
        if head == tail or halt:
            break
        if shared[_GIVEN_UP]:
            first, last = part(rank, size, tail)
            for place in range(first, last):
                states[queue[place]] = UNSEEN
            break
        _reach_many(shared, _LEVELS + 8 * turn, head, tail, offsets, targets, states, queue)
        turn = (turn + 1) % 3
        meeting = meet(shared, meeting, size)
        if rank == 0:
            shared[_HEAD], shared[_LEVELS + 8 * turn] = tail, 0
            _end_level(shared, shared[_TAIL] - tail, shared[_TAIL], max_levels)
    return meeting


@njit(**JIT)
def _end_level(shared, frontier, reached, max_levels):
    """Count a level, and give the search up where it still grows after many. By thread 0."""
    shared[_LEVEL] += 1
    if shared[_LEVEL] >= max_levels and frontier * STILL_GROWS > reached:
        shared[_GIVEN_UP] = 1


@njit(**JIT)
def _reach_few(shared, few, max_levels, offsets, targets, states, queue):
    """Follow the queue while there are at most `few` vertices to follow. Writes _HEAD and _TAIL."""
    head, tail = np.uint64(shared[_HEAD]), np.uint64(shared[_TAIL])
    level_end = tail
    while head < tail and tail - head <= np.uint64(few):
        if head == level_end:
            level_end = tail
            _end_level(shared, np.int64(tail - head), np.int64(tail), max_levels)
            if shared[_GIVEN_UP]:
                break
        vertex = queue[head]
        head += ONE
        for edge in range(offsets[vertex], offsets[vertex + ONE]):
            target = targets[edge]
            if states[target] == UNSEEN:
                states[target] = REACHED
                queue[tail] = target
                tail += ONE
    shared[_HEAD], shared[_TAIL] = head, tail


@njit(**JIT)
def _reach_many(shared, counter, head, tail, offsets, targets, states, queue):
    """Appends to the queue what its places from head to tail lead to, each vertex by the thread that claims it."""
    found, count = np.empty(ROOM, queue.dtype), 0
    while True:
        first = head + fetch_add(shared, counter, FRONTIER_CHUNK)
        if first >= tail:
            break
        for place in range(first, min(first + FRONTIER_CHUNK, tail)):
            vertex = queue[place]
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                target = targets[edge]
                if states[target] == UNSEEN and compare_swap(states, target, UNSEEN, REACHED):
                    found[count] = target
                    count += 1
                    if count == ROOM:
                        count = _append(shared, found, count, queue)
    _append(shared, found, count, queue)


@njit(**JIT)
def _append(shared, found, count, queue):
    """Writes the next `count` places of the queue; returns how many are left to append: none."""
    place = fetch_add(shared, _TAIL, count)
    for i in range(count):
        queue[place + i] = found[i]
    return 0


@njit(**JIT)
def _sweep(shared, words, offsets, targets, labels, states):
    """Writes states and labels of the vertices that can be settled now. Words: see _SWEEPS."""
    num_vertices = np.int64(labels.size)
    left, gained, settled, smallest = np.uint64(0), np.uint64(0), 0, num_vertices
    while True:
        chunk = fetch_add(shared, words, CHUNK)
        if chunk >= num_vertices or is_stopped(shared):
            break
        for vertex in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            if states[vertex] >= GIANT:
                continue
            work = ONE + offsets[vertex + ONE] - offsets[vertex]
            left += work
            new = _state_now(vertex, offsets, targets, states)
            if new >= GIANT:
                gained += work
                settled += 1
                states[vertex] = new
                labels[vertex] = vertex
                if new == GIANT:
                    smallest = min(smallest, np.int64(vertex))
    fetch_add(shared, words + 8, np.int64(left))
    fetch_add(shared, words + 16, np.int64(gained))
    fetch_min(shared, _SMALLEST, smallest)
    fetch_add(shared, DONE, settled)


@njit(inline="always", **JIT)
def _state_now(vertex, offsets, targets, states):
    """Return the state that a vertex can take because of its neighbours' states."""
    old, is_last = states[vertex], True
    for edge in range(offsets[vertex], offsets[vertex + ONE]):
        target = targets[edge]
        state = states[target]
        if old == REACHED and state == GIANT:
            return GIANT
        if state == old and np.uint64(target) != vertex:
            is_last = False
            if old == UNSEEN:
                break
    return SETTLED if is_last else old


@njit(**JIT)
def _search(own, shared, offsets, targets, labels, queue, path, lows, states, places):
    """Writes labels and states of all vertices whose state is `own`: Tarjan's search.

    queue is the stack of vertices whose component is not complete, and a vertex's number is its place there + 2; 1 is
    the number of the pivot's component. path holds the places of the vertices from the start to where the search is,
    places the next edge of each, lows the lowest number known to be reached (0 = not visited, CLOSED = complete).
    """
    two, closed = np.uint64(2), lows.dtype.type(CLOSED)
    if not _open(own, shared, offsets, labels, lows, states):
        return
    for start in range(np.uint64(labels.size)):
        if lows[start] != np.uint64(0) or is_stopped(shared):
            continue
        vertex, edge, end, depth, top, low = start, offsets[start], offsets[start + ONE], np.uint64(0), ONE, two
        path[0], queue[0], lows[start] = np.uint64(0), start, two
        while True:
            if edge < end:
                target = np.uint64(targets[edge])
                edge += ONE
                number = np.uint64(lows[target])
                if number != np.uint64(0):
                    low = min(low, number)
                    continue
                lows[vertex], places[depth] = low, edge
                depth += ONE
                vertex, edge, end, low = target, offsets[target], offsets[target + ONE], top + two
                path[depth], queue[top], lows[target] = top, target, low
                top += ONE
                continue
            place = np.uint64(path[depth])
            if low == place + two:
                if top == place + ONE:
                    labels[vertex], lows[vertex], states[vertex] = vertex, closed, SETTLED
                else:
                    _complete(SETTLED, shared, place, top, labels, queue, lows, states)
                top = place
            elif depth == np.uint64(0):
                _complete(GIANT, shared, place, top, labels, queue, lows, states)
            if depth == np.uint64(0):
                break
            depth -= ONE
            vertex, edge = np.uint64(queue[path[depth]]), places[depth]
            end = offsets[vertex + ONE]
            low = np.uint64(lows[vertex]) if top == place else min(low, np.uint64(lows[vertex]))


@njit(**JIT)
def _open(own, shared, offsets, labels, lows, states):
    """Writes lows as the search begins, and settles vertices without edges; says whether others have to be searched."""
    kind, left = lows.dtype.type, 0
    unseen, pivots, closed = kind(0), kind(1), kind(CLOSED)  # all of one type: mixed ones would become float64
    for vertex in range(labels.size):
        state = states[vertex]
        if state == own and offsets[vertex] == offsets[vertex + 1]:
            state = SETTLED
            states[vertex], labels[vertex] = state, vertex
        lows[vertex] = unseen if state == own else pivots if own == REACHED and state == GIANT else closed
        left += state == own
    shared[DONE] = labels.size - left
    return left > 0


@njit(inline="always", **JIT)
def _complete(state, shared, place, top, labels, queue, lows, states):
    """Writes labels, lows and states of a component: the vertices from `place` to `top` of the queue."""
    closed, smallest = lows.dtype.type(CLOSED if state == SETTLED else ONE), queue[place]
    for i in range(place, top):
        smallest = min(smallest, queue[i])
        lows[queue[i]] = closed
        states[queue[i]] = state
    for i in range(place, top):
        labels[queue[i]] = smallest
    if state == GIANT:
        shared[_SMALLEST] = min(shared[_SMALLEST], np.int64(smallest))
    shared[DONE] += np.int64(top - place)
