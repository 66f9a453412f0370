"""A graph whose edges stay in a file: `tgraph.open`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NoReturn, overload

import numpy as np

from tgraph import runtime as runtimes
from tgraph.budget import format_bytes, parse_bytes
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.gaps import check_gap
from tgraph.graph import Adjacency, Graph, ShardedGraph
from tgraph.group import current
from tgraph.io import store
from tgraph.io.tensor_file import forget_pages, locate
from tgraph.memory.far_file import FarArray, FarFile, FileIdentity, check_far_offsets, identify, readers_for
from tgraph.memory.far_shard import open_part
from tgraph.memory.offloaded_graph import OffloadedGraph, leave_in_host_memory
from tgraph.runtime import Tensor

_NAMES = {"out": ("out_targets", "weights"), "in": ("in_sources", "in_weights")}
_OFFSETS = {"out": "out_offsets", "in": "in_offsets"}
_TURNED = {"out_offsets": "in_offsets", "in_offsets": "out_offsets"}
_TURNED |= {"out_coded": "in_coded", "out_frames": "in_frames", "in_coded": "out_coded", "in_frames": "out_frames"}
_TURNED |= {"out_targets": "in_sources", "weights": "in_weights", "in_sources": "out_targets", "in_weights": "weights"}


class FarGraph(Graph):
    """A graph in a native file, with a budget of near memory for each run on it.

    Everything that a graph has is here too: its tensors are mapped from the file and paged in where they are touched.
    A run reads the edges itself, block by block, and keeps vertex data, buffers and kept blocks within the budget.
    """

    __slots__ = ("_places", "identity", "memory", "path")

    path: str
    identity: FileIdentity  # of the file when it was opened
    memory: int  # bytes
    _places: dict[str, FarArray]

    def __init__(
        self,
        out: Adjacency,
        *,
        path: str,
        identity: FileIdentity,
        memory: int,
        places: dict[str, FarArray],
        **kept: Any,
    ) -> None:
        super().__init__(out, **kept)
        put = object.__setattr__
        put(self, "path", path)
        put(self, "identity", identity)
        put(self, "memory", memory)
        put(self, "_places", places)

    @property
    def is_far(self) -> bool:
        """Whether the edges stay in a file: they do."""
        return True

    @property
    def has_in_edges(self) -> bool:
        """Whether the rows of incoming edges are in the file too, or the same as those of outgoing ones."""
        return not self.directed or "in_offsets" in self._places

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every vertex, `[V] int64`, from offsets that are not mapped."""
        return self._degrees("out")

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`."""
        return self._degrees("in")

    def _degrees(self, direction: str) -> Tensor:
        self.adjacency(direction)  # raises if the file does not have it
        degrees, first = np.empty(self.num_vertices, np.int64), 0
        with self.open_file() as file:
            for offsets in file.parts(self.far_offsets(direction)):
                np.subtract(offsets[1:], offsets[:-1], out=degrees[first : first + offsets.size - 1])
                first += offsets.size - 1
        return self.runtime.asarray(degrees)

    def adjacency(self, direction: str) -> Adjacency:
        """Return the mapped rows of outgoing (`"out"`) or incoming (`"in"`) edges."""
        self._check_has(direction)
        return super().adjacency(direction)

    def far_rows(self, direction: str) -> tuple[FarArray | None, FarArray | None]:
        """Return where the neighbours, None if they are only there coded, and the weights of one direction lie."""
        self._check_has(direction)
        neighbors, weights = _NAMES["out" if not self.directed else direction]
        return self._places.get(neighbors), self._places.get(weights)

    def far_coded(self, direction: str) -> tuple[FarArray, FarArray] | None:
        """Return where the coded neighbours of one direction and the beginnings of their frames lie, if they are."""
        self._check_has(direction)
        side = direction if self.directed else "out"
        names = f"{side}_coded", f"{side}_frames"
        return (self._places[names[0]], self._places[names[1]]) if names[0] in self._places else None

    def far_offsets(self, direction: str) -> FarArray:
        """Return where the offsets of one direction lie in the file."""
        self._check_has(direction)
        return self._places[_OFFSETS["out" if not self.directed else direction]]

    def _check_has(self, direction: str) -> None:
        """Raise if the file does not have the rows of a direction."""
        if direction == "in" and not self.has_in_edges:
            raise InvalidArgumentError(
                f"{self.path} has no incoming edges, and they cannot be built within a memory budget; write the file "
                "with tgraph.write(graph, path, reverse=True), or: tgraph convert FILE OUT.safetensors --reverse"
            )

    def open_file(self) -> FarFile:
        """Open the file to be read, by as many threads as the budget has room for."""
        return FarFile(self.path, self.identity, readers_for(self.memory))

    def to(self, runtime: str | None = None, device: str | None = None) -> Graph:
        """Return the graph with mapped tensors of another runtime; the edges stay where they are."""
        target = runtimes.get(runtime, device)
        if target is self.runtime:
            return self
        check_gap("out_of_memory", target.name)
        if target.device != "cpu":
            raise InvalidArgumentError(
                f"device={target.device!r}: a graph opened with a memory budget stays on the CPU; tgraph.read loads it"
            )
        reverse = self._in.to(target) if self.directed and self._in is not None else None
        return self._with(self._out.to(target), reverse=reverse)

    def reverse(self) -> Graph:
        """Return the graph with every edge turned around; its edges stay in the same file."""
        if not self.directed:
            return self
        places = {name: self._places[other] for name, other in _TURNED.items() if other in self._places}
        return self._with(self.adjacency("in"), reverse=self._out, is_sorted=True, places=places)

    def symmetrize(self) -> Graph:
        """Return the graph if it is undirected; another one would not fit."""
        return self._refuse("symmetrize") if self.directed else self

    def simplify(self, duplicates: str = "first") -> Graph:
        """Raise: the simple graph would not fit into memory."""
        return self._refuse("simplify")

    def subgraph(self, vertices: Iterable[Any]) -> Graph:
        """Raise: finding the edges reads the whole graph."""
        return self._refuse("subgraph")

    def _refuse(self, operation: str) -> NoReturn:
        raise InvalidArgumentError(
            f"{operation} makes a graph in memory, and {self.path} was opened with a budget; load it with tgraph.read"
        )

    def describe(self) -> str:
        """Return size, kind and place in one line."""
        return f"{super().describe()}, in {os.path.basename(self.path)}, {format_bytes(self.memory)} near"

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, self.memory, self.runtime.name)

    def _with(self, out: Adjacency, **changes: Any) -> Graph:
        """Return a graph that differs from this one only in what is given; its rows are the file's."""
        kept = {"path": self.path, "identity": self.identity, "memory": self.memory, "places": self._places}
        kept |= {"directed": self.directed, "num_edges": self._num_edges, "labels": self._labels}
        kept |= {"weight_range": self._weight_range}
        return FarGraph(out, **{**kept, "is_sorted": self.is_sorted, **changes})


@overload
def open(path: str | os.PathLike[str], memory: int | str, runtime: str | None = None) -> FarGraph: ...


@overload
def open(
    path: str | os.PathLike[str], memory: int | str, runtime: str | None = None, *, device: str
) -> OffloadedGraph: ...


def open(
    path: str | os.PathLike[str], memory: int | str, runtime: str | None = None, *, device: str | None = None
) -> FarGraph | OffloadedGraph | ShardedGraph:
    """Open a graph that need not fit into memory; runs on it stay within `memory` bytes.

    Inside `with tgraph.distributed():` every rank gets its part of the graph, and `memory` is the budget of each rank.

    Args:
        path: A native file (`.safetensors`), as `tgraph.write` makes it. For algorithms that follow edges backwards, a
            directed graph needs `reverse=True` there.
        memory: The budget of a run for vertex data and edges: bytes, or a text such as `"512MiB"`. The interpreter and
            its libraries come on top.
        runtime: The tensor runtime of vertex data, `torch` or `numpy`, the configured one if None.
        device: A device of torch with memory of its own (`cuda`): `memory` is then the budget there, and the file is
            mapped into host memory; see `tgraph.offload`. None = the budget is RAM.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.write(tg.generate.grid(30, 30), folder + "/grid.safetensors")
    ...     graph = tg.open(folder + "/grid.safetensors", memory="1MiB")
    ...     int(tg.bfs(graph, 0).levels.max())
    58
    """
    if device is not None:
        mapped = store.read(path, check="offsets", runtime="torch", device="cpu")
        return leave_in_host_memory(mapped, memory, device, pins=False)
    group = current()
    if group is not None:
        return open_part(path, memory, group, runtime)
    identity = identify(path) if os.path.exists(path) else (0, 0, 0)  # reading says what is wrong
    graph = store.map_graph(path, check_rows=check_far_offsets, decode=False)
    if graph.is_compressed:
        raise InvalidArgumentError(f"{os.fspath(path)} holds a compressed graph, which runs in memory; use tgraph.read")
    forget_pages(graph.adjacency("out").offsets)
    name = runtimes.get(runtime).name
    check_gap("out_of_memory", name)
    graph = graph.to(name)
    places = {name: FarArray(*place) for name, place in locate(path).items()}
    for name, place in places.items():
        if place.position % place.dtype.itemsize:
            raise FileFormatError(path, name, "does not begin at a multiple of its element size; write the file again")
    reverse = graph.adjacency("in") if graph.directed and "in_offsets" in places else None
    return FarGraph(
        graph.adjacency("out"),
        path=os.fspath(path),
        identity=identity,
        memory=parse_bytes("memory", memory),
        places=places,
        directed=graph.directed,
        num_edges=graph.num_edges,
        labels=graph.vertex_labels,
        is_sorted=graph.is_sorted,
        reverse=reverse,
        weight_range=graph._weight_range,
    )
