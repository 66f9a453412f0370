"""Parts of a graph that hold together, of about equally many edges (TGraph, 5.2, well-connected partition).

1. `grow_blocks`: rounds of breadth-first searches from many sources side by side. A vertex belongs to the block that
   reaches it first; a block that has its edges stops. What no round reached becomes blocks by weakly connected
   components, cut where they have more edges than a block may have.
2. `join_blocks`: parts of whole blocks. A part takes the block with the largest share of its edges leading into the
   part, until it has its edges; the next part begins beside it. Small blocks go where most of their edges lead, if
   there is room, and fill up parts otherwise.
3. `improve_parts`: a vertex moves to the part where most of its neighbours are, if there is room.

The edges of a vertex are its outgoing ones; neighbours are those in either direction. Every step looks at an edge once
or twice, by one thread: the same parts whatever the number of threads. Memory: about 40 bytes per vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array

ROUNDS = 8  # at most; a round needs half a block of edges that are left
SMALL_PART = 8  # a block with less than this part of its edges is a leftover
IMPROVEMENTS = 2  # times that every vertex may move

ONE, ZERO = np.uint64(1), np.uint64(0)
NOBODY = np.uint64(0xFFFFFFFFFFFFFFFF)  # cut to the type of ids: no block, no part


@dataclass(frozen=True)
class Sides:
    """The rows of a graph as unsigned arrays; those of a graph that stores both directions only once."""

    offsets: Array  # [V+1]
    neighbors: Array  # [E]
    in_offsets: Array | None
    in_neighbors: Array | None

    @classmethod
    def of(cls, rows: tuple[Array, Array], reverse: tuple[Array, Array] | None) -> Sides:
        """View rows and, for a directed graph, the reverse ones."""
        back = (None, None) if reverse is None else (as_unsigned(reverse[0]), as_unsigned(reverse[1]))
        return cls(as_unsigned(rows[0]), as_unsigned(rows[1]), *back)

    @property
    def arrays(self) -> tuple[Array, Array, Array | None, Array | None]:
        """What the workers take."""
        return self.offsets, self.neighbors, self.in_offsets, self.in_neighbors


@dataclass(frozen=True)
class Blocks:
    """Every vertex in one block; large blocks come first."""

    of_vertex: Array  # [V]
    num_edges: Array  # [B]
    num_large: int
    offsets: Array  # [B+1]: where the vertices of a block begin
    vertices: Array  # [V]: by block, as they were found


def grow_blocks(sides: Sides, limit: int) -> Blocks:
    """Return connected blocks of at most `limit` edges; a vertex with more is a block of its own. Deterministic.

    >>> path = Sides.of((np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2], np.int32)), None)
    >>> grow_blocks(path, 3).of_vertex.tolist()
    [0, 0, 1, 1]
    """
    num_vertices, ids = sides.offsets.size - 1, sides.neighbors.dtype
    blocks, found = np.full(num_vertices, NOBODY.astype(ids)), np.empty(num_vertices, ids)
    num_edges = np.zeros(num_vertices, np.uint64)
    count = int(_grow(*sides.arrays, np.uint64(limit), blocks, found, num_edges))
    is_small = num_edges[:count] < max(limit // SMALL_PART, 1)
    order = np.argsort(is_small, kind="stable")
    ranks = np.empty(count, ids)
    ranks[order] = np.arange(count)
    blocks = ranks[blocks]
    offsets, vertices, _ = rows_from_edges(blocks[found], found, None, count)
    return Blocks(blocks, num_edges[order], count - int(is_small.sum()), as_unsigned(offsets), vertices)


def join_blocks(sides: Sides, blocks: Blocks, num_parts: int, share: int) -> tuple[Array, Array]:
    """Return the part of every vertex, and the blocks in the order in which parts took them. Deterministic.

    A part takes no more once it has `share` edges, which must be as many as `num_parts` parts need for all.

    >>> path = Sides.of((np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2], np.int32)), None)
    >>> parts, order = join_blocks(path, grow_blocks(path, 3), 1, 6)
    >>> parts.tolist(), order.tolist()
    ([0, 0, 0, 0], [0, 1])
    """
    block_parts, ranks = np.full(blocks.num_large, NOBODY), np.arange(blocks.num_edges.size)
    part_edges, grouped = np.zeros(num_parts, np.uint64), (blocks.offsets, blocks.vertices, blocks.num_edges)
    _gather(*sides.arrays, *grouped, blocks.of_vertex, np.uint64(share), block_parts, ranks, part_edges)
    ids = blocks.of_vertex.dtype
    small = np.full(blocks.num_edges.size - blocks.num_large, NOBODY)
    parts = np.concatenate([block_parts, small]).astype(ids)[blocks.of_vertex]
    _spread_leftovers(*sides.arrays, *grouped, np.uint64(blocks.num_large), np.uint64(share), parts, part_edges)
    return parts, np.argsort(ranks, kind="stable")


def improve_parts(sides: Sides, parts: Array, num_parts: int, limit: int) -> None:
    """Move vertices to where their neighbours are, as long as a part then has at most `limit` edges. Deterministic.

    Changes `parts`, which must be unsigned.

    >>> star = Sides.of((np.array([0, 3, 4, 5, 6]), np.array([1, 2, 3, 0, 0, 0], np.int32)), None)
    >>> parts = np.array([0, 0, 0, 1], np.uint32)
    >>> improve_parts(star, parts, 2, 6)
    >>> parts.tolist()
    [0, 0, 0, 0]
    """
    degrees = np.diff(sides.offsets).astype(np.float64)
    part_edges = np.bincount(parts, degrees, num_parts).astype(np.uint64)
    _improve(*sides.arrays, np.uint64(limit), parts, part_edges)


# --- blocks ----------------------------------------------------------------------------------------------------------
@njit(**JIT)
def _grow(offsets, neighbors, in_offsets, in_neighbors, limit, blocks, found, num_edges):
    """Writes blocks [V], found [V] and num_edges [B]; returns B. Serial."""
    nobody = blocks.dtype.type(NOBODY)
    num_blocks, head, count = ZERO, ZERO, ZERO
    for _ in range(ROUNDS):
        sources = _choose_sources(offsets, limit, num_blocks, count, blocks, found, num_edges)
        if sources == ZERO:
            break
        num_blocks, count = num_blocks + sources, count + sources
        count = _search(offsets, neighbors, in_offsets, in_neighbors, limit, head, count, blocks, found, num_edges)
        head = count
    for vertex in range(np.uint64(blocks.size)):
        if blocks[vertex] == nobody:
            blocks[vertex], found[count] = num_blocks, vertex
            num_edges[num_blocks] = offsets[vertex + ONE] - offsets[vertex]
            num_blocks += ONE
            head, count = count, count + ONE
            count = _search(offsets, neighbors, in_offsets, in_neighbors, limit, head, count, blocks, found, num_edges)
    return num_blocks


@njit(**JIT)
def _choose_sources(offsets, limit, num_blocks, count, blocks, found, num_edges):
    """Begins a block in the middle of every `limit` edges of vertices without one; returns how many."""
    nobody, chosen = blocks.dtype.type(NOBODY), ZERO
    passed, following = ZERO, limit // np.uint64(2) + ONE
    for vertex in range(np.uint64(blocks.size)):
        if blocks[vertex] != nobody:
            continue
        degree = offsets[vertex + ONE] - offsets[vertex]
        passed += degree
        if passed >= following:
            blocks[vertex], found[count + chosen] = num_blocks + chosen, vertex
            num_edges[num_blocks + chosen] = degree
            chosen += ONE
            following += ((passed - following) // limit + ONE) * limit
    return chosen


@njit(**JIT)
def _search(offsets, neighbors, in_offsets, in_neighbors, limit, head, count, blocks, found, num_edges):
    """Goes through found[head:count] and what is put behind it; returns where it ends."""
    while head < count:
        vertex = np.uint64(found[head])
        block = np.uint64(blocks[vertex])
        if num_edges[block] < limit:
            count = _take(offsets, offsets, neighbors, vertex, block, limit, count, blocks, found, num_edges)
            if in_offsets is not None:
                count = _take(offsets, in_offsets, in_neighbors, vertex, block, limit, count, blocks, found, num_edges)
        head += ONE
    return count


@njit(**JIT)
def _take(offsets, row_offsets, neighbors, vertex, block, limit, count, blocks, found, num_edges):
    """Takes the neighbours without a block whose edges still fit; returns where `found` ends."""
    nobody, edges = blocks.dtype.type(NOBODY), num_edges[block]
    for edge in range(row_offsets[vertex], row_offsets[vertex + ONE]):
        neighbor = np.uint64(neighbors[edge])
        if blocks[neighbor] != nobody:
            continue
        degree = offsets[neighbor + ONE] - offsets[neighbor]
        if edges + degree <= limit:
            blocks[neighbor], found[count] = block, neighbor
            edges += degree
            count += ONE
    num_edges[block] = edges
    return count


# --- parts -----------------------------------------------------------------------------------------------------------
@njit(**JIT)
def _gather(
    offsets, neighbors, in_offsets, in_neighbors, block_offsets, members, num_edges, blocks, share, parts, ranks,
    part_edges,
):  # fmt: skip
    """Writes parts and ranks of large blocks, and part_edges. Serial."""
    num_large, num_parts = np.uint64(parts.size), np.uint64(part_edges.size)
    left, part, rank = ZERO, ZERO, 0
    for block in range(num_large):
        if num_edges[block] > share:  # a vertex alone
            parts[block], ranks[block], part_edges[part] = part, rank, num_edges[block]
            part += ONE
            rank += 1
        else:
            left += num_edges[block]
    links, seen = _counters(num_large)
    num_seen, begin = ZERO, ZERO
    while left > ZERO:
        target = (left + num_parts - part - ONE) // (num_parts - part)
        block = _most_linked(links, seen[:num_seen], num_edges, parts)
        for place in range(num_seen):
            links[seen[place]] = ZERO
        num_seen = ZERO
        while True:
            if block == NOBODY:  # nothing around: go on anywhere
                while parts[begin] != NOBODY:
                    begin += ONE
                block = begin
            parts[block], ranks[block] = part, rank
            rank += 1
            part_edges[part] += num_edges[block]
            left -= num_edges[block]
            some = members[block_offsets[block] : block_offsets[block + ONE]]
            num_seen = _count_links(offsets, neighbors, some, blocks, num_large, links, seen, num_seen)
            if in_offsets is not None:
                num_seen = _count_links(in_offsets, in_neighbors, some, blocks, num_large, links, seen, num_seen)
            if part_edges[part] >= target or left == ZERO:
                break
            block = _most_linked(links, seen[:num_seen], num_edges, parts)
        part += ONE


@njit(**JIT)
def _counters(num_groups):
    """Returns links by group and room for the groups that have any; one more group is for vertices without one."""
    return np.zeros(num_groups + ONE, np.uint64), np.empty(num_groups + np.uint64(2), np.uint64)


@njit(**JIT)
def _count_links(offsets, neighbors, members, groups, num_groups, links, seen, num_seen):
    """Adds edges of some vertices to links[group] of their neighbours; `seen` lists groups with any. Returns its end.

    Groups from num_groups on count as that one. No branches: nobody can predict them.
    """
    for member in members:
        vertex = np.uint64(member)
        for edge in range(offsets[vertex], offsets[vertex + ONE]):
            group = min(np.uint64(groups[neighbors[edge]]), num_groups)
            old = links[group]
            seen[num_seen] = group
            num_seen += np.uint64(old == ZERO)
            links[group] = old + ONE
    return num_seen


@njit(**JIT)
def _most_linked(links, seen, num_edges, parts):
    """Returns the block without a part that has most links for its edges, the first of several; NOBODY = none."""
    best, most = NOBODY, 0.0
    for place in seen:
        block = np.uint64(place)
        if block < np.uint64(parts.size) and parts[block] == NOBODY:
            gain = links[block] / num_edges[block]
            if gain > most or (gain == most and block < best):
                best, most = block, gain
    return best


@njit(**JIT)
def _spread_leftovers(
    offsets, neighbors, in_offsets, in_neighbors, block_offsets, members, num_edges, num_large, share, parts, part_edges
):
    """Writes parts of vertices in small blocks, and part_edges. Serial."""
    num_parts = np.uint64(part_edges.size)
    links, seen = _counters(num_parts)
    filling, dealt = ZERO, ZERO
    for block in range(num_large, np.uint64(num_edges.size)):
        some = members[block_offsets[block] : block_offsets[block + ONE]]
        num_seen = _count_links(offsets, neighbors, some, parts, num_parts, links, seen, ZERO)
        if in_offsets is not None:
            num_seen = _count_links(in_offsets, in_neighbors, some, parts, num_parts, links, seen, num_seen)
        best = _roomiest(links, seen[:num_seen], part_edges, num_edges[block], share)
        if best == NOBODY and num_edges[block] == ZERO:
            best = dealt % num_parts
            dealt += ONE
        elif best == NOBODY:
            while part_edges[filling] >= share:
                filling += ONE
            best = filling
        for member in some:
            parts[member] = best
        part_edges[best] += num_edges[block]


@njit(**JIT)
def _roomiest(links, seen, part_edges, edges, share):
    """Returns the part with most links for the room that it has, NOBODY = none; clears the links.

    Without edges no room is needed.
    """
    best, most = NOBODY, 0.0
    for place in seen:
        part = np.uint64(place)
        if part < np.uint64(part_edges.size):
            room = 1.0 if edges == ZERO else 1.0 - part_edges[part] / share
            gain = links[part] * room
            if gain > most or (gain == most and gain > 0.0 and part < best):
                best, most = part, gain
        links[part] = ZERO
    return best


@njit(**JIT)
def _improve(offsets, neighbors, in_offsets, in_neighbors, limit, parts, part_edges):
    """Writes parts and part_edges. Serial."""
    num_parts = np.uint64(part_edges.size)
    (links, seen), one = _counters(num_parts), np.empty(1, np.uint64)
    for _ in range(IMPROVEMENTS):
        for vertex in range(np.uint64(parts.size)):
            one[0] = vertex
            num_seen = _count_links(offsets, neighbors, one, parts, num_parts, links, seen, ZERO)
            if in_offsets is not None:
                num_seen = _count_links(in_offsets, in_neighbors, one, parts, num_parts, links, seen, num_seen)
            part, degree = np.uint64(parts[vertex]), offsets[vertex + ONE] - offsets[vertex]
            best, most = part, links[part]
            for place in range(num_seen):
                other = seen[place]
                if links[other] > most and part_edges[other] + degree <= limit:
                    best, most = other, links[other]
                links[other] = ZERO
            parts[vertex] = best
            part_edges[part] -= degree
            part_edges[best] += degree
