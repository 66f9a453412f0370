"""The edges of one direction of a far graph, cut into blocks that fit what a budget leaves for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tgraph.budget import Budget
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu.coded_edges import SCRATCH_BYTES, WORK_WHERE_DECODED, Neighbors, make_scratch
from tgraph.kernels.cpu.coded_ids import FRAME_IDS
from tgraph.kernels.cpu.team import team_size
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
SCRATCH_PART = 32  # one part in so many of a budget, at most, is for ids that threads have decoded
BYTES_PER_BLOCK = 150_000  # that could be moved in the time which a block costs beside being moved
SLACK = 10  # one part in so many stays free, for the interpreter, and for pages that the system frees late
FIXED_BYTES = 512 << 10  # of Python's objects and threads: with a sixteenth, stay free too; at most an eighth


class EdgeStream:
    """Offsets near, neighbours and weights in blocks. Whoever uses it takes what it needs first, then calls `cut`."""

    def __init__(
        self,
        offsets: Array,
        arrays: EdgeArrays,
        budget: Budget,
        direction: str,
        is_mapped: bool = True,
        opens_blocks: bool = False,
    ) -> None:
        """Stream these arrays; the offsets are near, and taken of the budget under the name of the direction.

        With `is_mapped` rows can be used where they are in the file. With `opens_blocks` whole blocks come decoded, as
        those need them who look at a block several times; without it coded ones come as they are stored.
        """
        self._opens = opens_blocks and isinstance(arrays[0], CodedArray)
        self.offsets, self._arrays, self._budget, self._direction = offsets, arrays, budget, direction
        self._is_mapped = is_mapped and not isinstance(arrays[0], CodedArray)
        self._kept_bytes = self._cached_bytes = self._row_bytes = 0
        self.blocks: list[Block] = []

    @staticmethod
    def of_graph(
        graph: FarGraph,
        direction: str,
        with_weights: bool,
        budget: Budget,
        in_place: bool = False,
        opens_blocks: bool = False,
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
            neighbors = find_neighbors(graph, direction, file, budget, in_place, opens_blocks)
        arrays = neighbors, weights if with_weights else None
        return EdgeStream(read, arrays, budget, direction, opens_blocks=opens_blocks)

    @property
    def is_coded(self) -> bool:
        """Whether neighbours come coded."""
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
        """Neighbours and weights of no edge."""
        neighbors, weights = self._arrays
        return np.empty(0, neighbors.dtype), None if weights is None else np.empty(0, weights.dtype)

    @property
    def no_block(self) -> tuple[Neighbors, Array | None]:
        """Neighbours and weights of a block without edges, coded if blocks come coded."""
        neighbors, (nobody, weights) = self._arrays[0], self.no_edges
        if isinstance(neighbors, CodedArray) and not self._opens:
            return neighbors.no_edges, weights
        return nobody, weights

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
        edges_per_block = max(int(self._choose_block_bytes(available) / self._block_edge_bytes), 1)
        buffer_bytes = self._cut_by(edges_per_block, available)
        while self.is_coded and buffer_bytes > available and edges_per_block > FRAME_IDS:
            edges_per_block //= 2  # some blocks have more bytes than others with as many edges
            buffer_bytes = self._cut_by(edges_per_block, available)
        if self.is_coded:
            _check_room(budget, f"{self._direction} buffers", buffer_bytes)
        budget.take(f"{self._direction} buffers", buffer_bytes)
        self._kept_bytes = max(available - buffer_bytes, 0)
        self._cached_bytes = self._room_for_cache(cached)
        budget.take(f"{self._direction} kept blocks", self._kept_bytes)
        if buffer_bytes and not all_in_rows and not self.is_coded:
            self.blocks = self._join_those_that_stay(edges_per_block)

    def _cut_by(self, edges_per_block: int, available: int) -> int:
        """Cut the edges into blocks of at most so many; return the bytes of buffers that these need."""
        self.blocks = cut_by_edges(self.offsets, edges_per_block)
        all_bytes = sum(BlockLoader.bytes_near(self._arrays, block) for block in self.blocks)
        opened, neighbors = 0, self._arrays[0]
        if self._opens and isinstance(neighbors, CodedArray):
            opened = neighbors.opened_bytes(max((block.num_edges for block in self.blocks), default=0))
        decodes_rows = self.is_coded and self.moves_rows
        if all_bytes + opened <= available and all(block.is_whole for block in self.blocks) and not decodes_rows:
            return opened  # all blocks stay, so that buffers are only used in their place
        return BUFFERS * sum(BlockLoader.buffer_sizes(self._arrays, self.blocks, self.moves_rows)) + opened

    @property
    def _bytes_that_stay(self) -> int:
        """The bytes of all edges, in the form in which blocks stay near."""
        return int(int(self.offsets[-1]) * self._near_edge_bytes)

    @property
    def _near_edge_bytes(self) -> float:
        """The bytes of an edge in the form in which blocks stay near, on average."""
        neighbors = self._arrays[0]
        if not isinstance(neighbors, CodedArray):
            return self.edge_bytes
        return self.edge_bytes - neighbors.dtype.itemsize + neighbors.bytes_per_id

    @property
    def _block_edge_bytes(self) -> float:
        """The bytes of an edge in the buffers, some of which must have room for decoded ones where these come."""
        return self.edge_bytes if self.moves_rows or self._opens else self._near_edge_bytes

    @property
    def _spare_bytes(self) -> int:
        """What large blocks that stay take beyond their edges: what is read begins and ends at pages."""
        return 2 * BLOCKS_THAT_STAY * BlockLoader.bytes_near(self._arrays, Block(0, 0, 0, 0))

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
        if self._opens or (self.is_coded and too_many > 0):  # blocks that stay are not joined: every one costs its time
            too_many = int(int(self.offsets[-1]) * self._block_edge_bytes)
        if too_many > 0:
            buffers = 1 if self._opens and not self.moves_rows else BUFFERS  # that are as large as the blocks
            wanted = max(math.isqrt(too_many * BYTES_PER_BLOCK // buffers), SMALL_BLOCK_BYTES)
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
        if isinstance(self._arrays[0], CodedArray):
            return CodedLoader(file, self._arrays, *cut, opens_blocks=self._opens)
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
    for purpose in ("offsets", "frames", "scratch", "rows", "buffers", "cache", "kept blocks"):
        budget.release(f"{direction} {purpose}")


def find_neighbors(
    graph: FarGraph, direction: str, file: FarFile, budget: Budget, in_place: bool, opens_blocks: bool
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
    most = max(budget.free // SCRATCH_PART // SCRATCH_BYTES, 1)
    num_threads = min(team_size(graph.num_arcs // WORK_WHERE_DECODED), most)
    if plain is not None:
        sizes = plain.size, plain.num_bytes, coded.num_bytes
        if not is_faster_coded(link_for(graph.path), *sizes, num_threads * decoded_ids_per_second()):
            return plain
    num_bytes = aligned_bytes(frames.num_bytes)
    budget.take(f"{direction} frames", num_bytes)
    begins = file.start_read(frames, 0, frames.size, make_buffer(num_bytes)).wait()
    scratch = make_scratch(0 if opens_blocks else num_threads)
    budget.take(f"{direction} scratch", scratch.nbytes)
    return CodedArray(coded, begins, graph.num_arcs, graph.num_vertices, graph.path, scratch)
