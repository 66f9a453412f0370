"""The edges of one direction of a far graph, cut into blocks that fit what a budget leaves for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tgraph.budget import Budget
from tgraph.errors import InvalidArgumentError
from tgraph.layout.partition import Block, cut_by_edges
from tgraph.memory.coded_array import CodedArray, decoded_ids_per_second, is_faster_coded
from tgraph.memory.coded_loader import CodedLoader
from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, aligned_bytes, give_back_freed, make_buffer
from tgraph.memory.link import link_for
from tgraph.memory.loader import BUFFERS, BlockLoader, EdgeArrays
from tgraph.memory.vertex_cache import BYTES_PER_VERTEX, VertexCache
from tgraph.runtime import Array

if TYPE_CHECKING:
    from tgraph.memory.far_graph import FarGraph

BLOCK_BYTES = 32 << 20  # at most
SMALLEST_BLOCK_BYTES = 16 << 10
SMALL_BLOCK_BYTES = 64 << 10  # not less unless near memory for edges does not hold four
BLOCKS_THAT_STAY = 8  # at least, where all do
ROW_PART = 16  # one part in so many of near memory for edges is for lists of rows, where they move alone
BYTES_PER_BLOCK = 150_000  # that could be moved in the time which a block costs beside being moved
SLACK = 10  # one part in so many stays free, for the interpreter, and for pages that the system frees late
FIXED_BYTES = 512 << 10  # of Python's objects and threads: with a sixteenth, stay free too; at most an eighth


class EdgeStream:
    """Offsets near, neighbours and weights in blocks. Whoever uses it takes what it needs first, then calls `cut`."""

    def __init__(
        self, offsets: Array, arrays: EdgeArrays, budget: Budget, direction: str, is_mapped: bool = True
    ) -> None:
        """Stream these arrays; the offsets are near, and taken of the budget under the name of the direction.

        With `is_mapped` rows can be used where they are in the file.
        """
        self.offsets, self._arrays, self._budget, self._direction = offsets, arrays, budget, direction
        self._is_mapped = is_mapped and not isinstance(arrays[0], CodedArray)
        self._kept_bytes = self._cached_bytes = self._row_bytes = 0
        self.blocks: list[Block] = []

    @staticmethod
    def of_graph(
        graph: FarGraph, direction: str, with_weights: bool, budget: Budget, in_place: bool = False
    ) -> EdgeStream:
        """Read the offsets of a graph; with `in_place`, neighbours will be used in the mapped file, not coded ones."""
        weights = graph.far_rows(direction)[1]
        graph.adjacency(direction)  # raises if the file does not have it
        offsets = graph.far_offsets(direction)
        num_bytes = aligned_bytes(offsets.num_bytes)
        if graph.far_rows(direction)[0] is None:  # coded blocks need their buffers too: refused before memory is used
            _check_room(budget, f"{direction} offsets", num_bytes)
        budget.take(f"{direction} offsets", num_bytes)
        with graph.open_file() as file:
            read = file.start_read(offsets, 0, offsets.size, make_buffer(num_bytes)).wait()
            neighbors = find_neighbors(graph, direction, file, budget, in_place)
        return EdgeStream(read, (neighbors, weights if with_weights else None), budget, direction)

    @property
    def is_coded(self) -> bool:
        """Whether neighbours are decoded when they come near."""
        return isinstance(self._arrays[0], CodedArray)

    @property
    def place_of_rows(self) -> tuple[int, int]:
        """Where neighbours begin in the file and the bytes of one; a frame of coded ones counts as a page."""
        neighbors = self._arrays[0]
        return 0 if isinstance(neighbors, CodedArray) else neighbors.position, neighbors.dtype.itemsize

    def bytes_to_move(
        self, numbers: list[int], requests: Array, page_bytes: Array
    ) -> tuple[Array, Array, Array | None]:
        """Return what moving whole blocks takes, their active rows alone, and using these in place.

        `requests` and `page_bytes` are those of the neighbours of active rows, counted by `place_of_rows`. The last is
        None where reading in place brings the same pages.
        """
        blocks, arrays = [self.blocks[number] for number in numbers], [array for array in self._arrays if array]
        moved = [sum(array.moved_bytes(block.first_edge, block.last_edge) for array in arrays) for block in blocks]
        neighbors = self._arrays[0]
        row_bytes = page_bytes * (self.edge_bytes / neighbors.dtype.itemsize)
        if not isinstance(neighbors, CodedArray):
            return np.array(moved), row_bytes, None if self._is_mapped else np.full(len(numbers), np.inf)
        coded_bytes = page_bytes * (neighbors.bytes_per_id / neighbors.dtype.itemsize) + requests * ALIGNMENT
        return np.array(moved), row_bytes - page_bytes + coded_bytes, np.full(len(numbers), np.inf)

    @property
    def edge_bytes(self) -> int:
        """The bytes of one edge where it is computed on."""
        return sum(array.dtype.itemsize for array in self._arrays if array is not None)

    @property
    def num_arrays(self) -> int:
        """Neighbours, and weights if somebody asked for them."""
        return 1 if self._arrays[1] is None else 2

    @property
    def has_weights(self) -> bool:
        """Whether blocks come with their weights."""
        return self._arrays[1] is not None

    @property
    def moves_rows(self) -> bool:
        """Whether `cut` left room for lists of rows that are moved alone."""
        return self._row_bytes > 0

    @property
    def no_edges(self) -> tuple[Array, Array | None]:
        """Neighbours and weights of a block without edges."""
        neighbors, weights = self._arrays
        return np.empty(0, neighbors.dtype), None if weights is None else np.empty(0, weights.dtype)

    def cut(
        self, part: float = 1.0, cached: float = 0.0, in_rows_from: float = math.inf, all_in_rows: bool = False
    ) -> None:
        """Divide what is left of the budget, or a part of that, among buffers and blocks that stay near.

        If blocks have `in_rows_from` bytes or more, their rows can be moved alone, and lists of them take their part;
        with `all_in_rows` also those of blocks that would stay, which then are not larger than others. A part `cached`
        of what blocks that stay would get goes to a cache of hot rows.
        """
        budget = self._budget
        available = max(int((budget.free - _slack_bytes(budget)) * part), 0)
        all_stay = self._bytes_that_stay + self._spare_bytes <= available and not all_in_rows
        if self._choose_block_bytes(available) >= in_rows_from and not all_stay:
            self._row_bytes = available // ROW_PART
            budget.take(f"{self._direction} rows", self._row_bytes)
            available -= self._row_bytes
        edges_per_block = self._choose_block_bytes(available) // self.edge_bytes
        self.blocks = cut_by_edges(self.offsets, edges_per_block)
        largest = max((block.num_edges for block in self.blocks), default=0)
        buffer_bytes = BUFFERS * BlockLoader.bytes_for(self._arrays, largest)
        all_bytes = sum(BlockLoader.bytes_for(self._arrays, block.num_edges) for block in self.blocks)
        if all_bytes <= available and all(block.is_whole for block in self.blocks) and not self.is_coded:
            buffer_bytes = 0  # all blocks stay, so that buffers are only used in their place
        if self.is_coded:
            _check_room(budget, f"{self._direction} buffers", buffer_bytes)
        budget.take(f"{self._direction} buffers", buffer_bytes)
        self._kept_bytes = max(available - buffer_bytes, 0)
        self._cached_bytes = self._room_for_cache(cached)
        budget.take(f"{self._direction} kept blocks", self._kept_bytes)
        if buffer_bytes and not all_in_rows and not self.is_coded:
            self.blocks = self._join_those_that_stay(edges_per_block)

    @property
    def _bytes_that_stay(self) -> int:
        """The bytes of all edges, in the form in which blocks stay near."""
        neighbors, num_edges = self._arrays[0], int(self.offsets[-1])
        if not isinstance(neighbors, CodedArray):
            return num_edges * self.edge_bytes
        return neighbors.moved_bytes(0, num_edges) + num_edges * (self.edge_bytes - neighbors.dtype.itemsize)

    @property
    def _spare_bytes(self) -> int:
        """What large blocks that stay take beyond their edges: what is read begins and ends at pages."""
        return 2 * BLOCKS_THAT_STAY * BlockLoader.bytes_for(self._arrays, 0)

    def _join_those_that_stay(self, edges_per_block: int) -> list[Block]:
        """Return fewer and larger blocks for the first rows, which stay near and need no buffers."""
        num_edges = (self._kept_bytes - self._spare_bytes) // self.edge_bytes
        if num_edges < BLOCKS_THAT_STAY * edges_per_block:
            return self.blocks
        row = int(np.searchsorted(self.offsets, num_edges, "right")) - 1
        first = cut_by_edges(self.offsets, num_edges // (BLOCKS_THAT_STAY - 1), 0, row)
        if len(first) > BLOCKS_THAT_STAY or not all(block.is_whole for block in first):
            return self.blocks
        return [*first, *cut_by_edges(self.offsets, edges_per_block, row)]

    def _choose_block_bytes(self, available: int) -> int:
        """Return how large blocks should be, where so many bytes of near memory are for edges.

        Small ones cost time for each; of large ones the buffers take room from blocks that stay near. An iteration that
        moves F bytes which do not stay, with buffers for B blocks of b bytes, takes the least where
        (F + B * b) * (1 + BYTES_PER_BLOCK / b) is smallest.
        """
        too_many = self._bytes_that_stay - available
        if self.is_coded:  # every block costs its time, also one that stays
            too_many = int(self.offsets[-1]) * self.edge_bytes
        if too_many > 0:
            wanted = max(math.isqrt(too_many * BYTES_PER_BLOCK // BUFFERS), SMALL_BLOCK_BYTES)
        else:
            wanted = available // BLOCKS_THAT_STAY
        spare = self._arrays[0].buffer_bytes(0) if self.is_coded else 0
        return min(BLOCK_BYTES, max(min(wanted, available // 4 - spare), SMALLEST_BLOCK_BYTES))

    def _room_for_cache(self, part: float) -> int:
        """Take room for a cache from that of blocks that stay near; return its bytes, 0 for none."""
        beside = BYTES_PER_VERTEX * (self.offsets.size - 1)
        room = int(part * self._kept_bytes) - beside
        if room <= 0 or self._kept_bytes >= self.offsets[-1] * self.edge_bytes:
            return 0
        self._budget.take(f"{self._direction} cache", room + beside)
        self._kept_bytes -= room + beside
        return room

    def cache(self, loader: BlockLoader) -> VertexCache | None:
        """Return a cache of hot rows of blocks that do not stay near, if `cut` left room for one."""
        if not self._cached_bytes:
            return None
        dtypes = [array.dtype for array in self._arrays if array is not None]
        cache = VertexCache(self.offsets, dtypes, self._cached_bytes)
        for number, block in enumerate(self.blocks):
            if loader.stays(number):
                cache.leave_out(block.first_row, block.last_row)
        return cache

    def release(self) -> None:
        """Give back what was taken of the budget; the stream is of no use then."""
        release_stream(self._budget, self._direction)

    def loader(self, file: FarFile) -> BlockLoader:
        """Return what moves the blocks near, into memory that what came before has left."""
        give_back_freed()
        cut = self.offsets, self.blocks, self._kept_bytes, self._row_bytes
        neighbors, weights = self._arrays
        if isinstance(neighbors, CodedArray):
            return CodedLoader(file, (neighbors, weights), *cut)
        return BlockLoader(file, self._arrays, *cut)


def _slack_bytes(budget: Budget) -> int:
    """Return what stays free of a budget."""
    return max(budget.limit // SLACK, budget.limit // 16 + min(FIXED_BYTES, budget.limit // 8))


def _check_room(budget: Budget, purpose: str, num_bytes: int) -> None:
    """Raise unless so many bytes can be taken with the slack still free, with a limit of which that is true."""
    if budget.free - _slack_bytes(budget) < num_bytes:
        with_slack = (budget.used + num_bytes) * 16 // 13 + 1
        budget.take(purpose, with_slack - budget.used)


def release_stream(budget: Budget, direction: str) -> None:
    """Give back all that a stream of one direction has taken, also one that could not be made."""
    for purpose in ("offsets", "frames", "rows", "buffers", "cache", "kept blocks"):
        budget.release(f"{direction} {purpose}")


def find_neighbors(
    graph: FarGraph, direction: str, file: FarFile, budget: Budget, in_place: bool
) -> FarArray | CodedArray:
    """Return the neighbours that are to be read: coded ones, if there are no others or moving them is faster."""
    plain, places = graph.far_rows(direction)[0], graph.far_coded(direction)
    if places is None or (in_place and plain is not None):
        assert plain is not None  # a file has one of them
        return plain
    if in_place:
        raise InvalidArgumentError(
            f"transfer='zero_copy' uses neighbours in place, and those of {graph.path} are coded; use another "
            "transfer, or write the file with neighbors='both'"
        )
    coded, frames = places
    if plain is not None:
        sizes = plain.size, plain.num_bytes, coded.num_bytes
        if not is_faster_coded(link_for(graph.path), *sizes, decoded_ids_per_second()):
            return plain
    num_bytes = aligned_bytes(frames.num_bytes)
    budget.take(f"{direction} frames", num_bytes)
    begins = file.start_read(frames, 0, frames.size, make_buffer(num_bytes)).wait()
    return CodedArray(coded, begins, graph.num_arcs, graph.num_vertices, graph.path)
