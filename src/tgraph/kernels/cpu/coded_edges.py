"""Blocks whose neighbours stay coded until a kernel looks at them: a thread decodes a few frames and computes on them.

What is decoded stays in the cache of the core that uses it: nothing passes through memory a second time, nobody hands
it over, and near memory holds coded bytes alone. Such kernels are written once, for `neighbors` of either kind, and
look at edges through windows:

    ids        one window: the whole block, as it lies in memory
    coded      windows of at most WINDOW_FRAMES frames, one after the other in the scratch of the thread; a row that is
               longer goes on in the next one

A damaged frame ends the kernel before its ids are used; `run_on_block` raises then. That is for kernels that look at a
block once. For those that do so several times while it is near, `open_block` decodes it as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit, types
from numba.extending import overload

from tgraph.errors import StoreReadError
from tgraph.kernels.cpu.coded_ids import DECODING_TABLES, FRAME_IDS, decode_some, num_frames
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import SHARED_SIZE, brief_team_size, run_briefly
from tgraph.runtime.protocol import Array

WINDOW_FRAMES = 20
WINDOW_EDGES = 16 * FRAME_IDS  # that a chunk of rows should have, so that few frames are decoded twice
SCRATCH_BYTES = WINDOW_FRAMES * FRAME_IDS * 4  # of a thread
WORK_WHERE_DECODED = 2  # times as many edges as in a whole run, until another thread is worth it
DAMAGED = SHARED_SIZE - 8  # of `shared`: 1 + the number of a damaged frame


class CodedEdges(NamedTuple):
    """Coded neighbours as kernels take them."""

    coded: Array  # uint8; bytes that can be read follow the last frame
    begins: Array  # [F+1] of all frames of the graph
    shift: np.int64  # frame f begins at coded[begins[f] + shift]
    num_ids: np.int64  # of all frames
    limit: np.uint32  # ids are below it
    places: Array
    sizes: Array
    scratch: Array  # [threads, WINDOW_FRAMES * FRAME_IDS] uint32


@dataclass(frozen=True)
class CodedBlock:
    """The coded neighbours of a block, and the file that they are from."""

    edges: CodedEdges
    path: str

    @staticmethod
    def build(
        coded: Array, begins: Array, shift: int, num_ids: int, limit: int, scratch: Array, path: str
    ) -> CodedBlock:
        """Return a block of `coded`, in which frame f begins at `begins[f] + shift`."""
        numbers = np.int64(shift), np.int64(num_ids), np.uint32(limit)
        return CodedBlock(CodedEdges(coded, begins, *numbers, *DECODING_TABLES, scratch), path)


Neighbors: TypeAlias = "Array | CodedBlock"


def make_scratch(num_threads: int) -> Array:
    """Return room for the decoded ids of so many threads."""
    return np.empty((num_threads, WINDOW_FRAMES * FRAME_IDS), np.uint32)


def as_edges(neighbors: Neighbors) -> Any:
    """Return neighbours as kernels take them."""
    return neighbors.edges if isinstance(neighbors, CodedBlock) else as_unsigned(neighbors)


def rows_at_a_time(neighbors: Neighbors, otherwise: int, num_rows: int, num_edges: int) -> int:
    """Return how many rows a thread takes: of coded ones about as many as fill a window."""
    if not isinstance(neighbors, CodedBlock):
        return otherwise
    return max(num_rows * WINDOW_EDGES // max(num_edges, WINDOW_EDGES), 1)


def block_team_size(work: int, neighbors: Neighbors) -> int:
    """Return how many threads a block with so much work, of edges and rows, deserves; each has its own scratch."""
    if not isinstance(neighbors, CodedBlock):
        return brief_team_size(work)
    return min(team_size(work // WORK_WHERE_DECODED), len(neighbors.edges.scratch))


def run_on_block(worker: Callable[..., None], size: int, neighbors: Neighbors, args: list[Any]) -> Any:
    """Run `worker(rank, size, shared, *args)` on a block, by as many threads as it deserves; return `shared`."""
    shared = run_briefly(worker, size, args)
    if shared[DAMAGED] and isinstance(neighbors, CodedBlock):
        raise damaged_frame(neighbors.path, int(shared[DAMAGED]) - 1)
    return shared


def damaged_frame(path: str, number: int) -> StoreReadError:
    """Return what is raised where a frame cannot be decoded."""
    return StoreReadError(f"{path}: frame {number} of the coded neighbours is damaged; write the file again")


def open_block(neighbors: CodedBlock, first: int, last: int, ids: Array) -> Array:
    """Decode the ids from `first` to `last` (not included) into `ids`, which has room for their frames; return them."""
    frame, edges = first // FRAME_IDS, neighbors.edges
    if last > first:
        size = team_size((last - first) // WORK_WHERE_DECODED)
        run_on_block(_decode_all, size, neighbors, [edges, frame, num_frames(last), ids.view(np.uint32)])
    return ids[first - frame * FRAME_IDS : last - frame * FRAME_IDS]


# --- inside kernels --------------------------------------------------------------------------------------------------
def window_end(edges, edge, last_edge):
    """Return where the window that begins at `edge` ends, at or before `last_edge`. For compiled code only."""
    raise NotImplementedError


@overload(window_end)
def _window_end(edges, edge, last_edge):
    if isinstance(edges, types.Array):
        return lambda edges, edge, last_edge: last_edge
    return lambda edges, edge, last_edge: min(last_edge, _furthest(edge))


def near_ids(edges, rank, first_edge, edge, until):
    """Return the ids of a window, the edge of the first of them, and a damaged frame or -1. For compiled code only.

    The ids are there until the same thread opens its next window.
    """
    raise NotImplementedError


@overload(near_ids)
def _near_ids(edges, rank, first_edge, edge, until):
    if isinstance(edges, types.Array):
        return lambda edges, rank, first_edge, edge, until: (edges, first_edge, np.int64(-1))

    def decode(edges, rank, first_edge, edge, until):
        ids, damaged = edges.scratch[rank], np.int64(-1)
        first = np.int64(edge) // FRAME_IDS
        if until > edge:
            damaged = decode_some(edges, first, (np.int64(until) + FRAME_IDS - 1) // FRAME_IDS, ids)
        skipped = np.int64(edge) - first * FRAME_IDS
        return ids[skipped : skipped + np.int64(until - edge)], edge, damaged

    return decode


@njit(**JIT)
def _furthest(edge):
    return (edge // np.uint64(FRAME_IDS) + np.uint64(WINDOW_FRAMES)) * np.uint64(FRAME_IDS)


@njit(**JIT)
def _decode_all(rank, size, shared, edges, first, last, ids):
    """Writes the ids of the frames from `first` to `last`, not included; a frame has one writer."""
    begin, end = part(rank, size, last - first)
    if begin < end:
        damaged = decode_some(edges, first + begin, first + end, ids[begin * FRAME_IDS :])
        if damaged >= 0:
            shared[DAMAGED] = damaged + 1
