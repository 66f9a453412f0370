"""A graph that is divided among the ranks of a group: each holds the edges of its own vertices, none holds all.

A rank owns consecutive vertices, so many that every rank has about as many edges, apart from those of hubs, which
sweeps and searches divide among all ranks (`tgraph.graph.hubs`). It holds their outgoing rows or their
incoming ones, or both, as they are needed. `num_vertices`, `num_edges` and the like are those of the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from tgraph import runtime as runtimes
from tgraph.dtypes import index_dtype
from tgraph.errors import DeclaredGapError, InvalidArgumentError, VertexNotFoundError
from tgraph.gaps import check_gap
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.division import bounds_by_degrees, exchange_labels
from tgraph.graph.graph import Graph
from tgraph.graph.hubs import SplitRows, split
from tgraph.graph.labels import VertexLabels, as_column
from tgraph.graph.local_rows import LocalRows, RowEnds, StoredRows, make_local, side_by_side, turn
from tgraph.group import Group, current, exchange_uneven
from tgraph.kernels.cpu.csr import count_self_loops
from tgraph.kernels.cpu.extremes import extremes
from tgraph.runtime import Array, Runtime, Tensor

PULLED = {"out": "in", "in": "out", "both": "both"}  # the rows that a sweep along these edges goes through


class ShardedGraph(Graph):
    """One rank's part of a graph. Inside `with tgraph.distributed():`, `tgraph.read` and `tgraph.shard` give one.

    All ranks call its methods, in the same order: some ask the others.
    """

    __slots__ = ("_rows", "_split_rows", "bounds", "group", "num_arcs_in_all")

    group: Group
    bounds: Array  # [P+1] the first vertex of every rank, and their number
    num_arcs_in_all: int
    _rows: dict[str, LocalRows | StoredRows]
    _split_rows: dict[str, SplitRows]

    def __init__(
        self,
        group: Group,
        bounds: Array,
        rows: Mapping[str, LocalRows | StoredRows],
        runtime: Runtime,
        **kept: Any,
    ) -> None:
        check_gap("distributed", runtime.name)
        if runtime.device != "cpu":
            raise InvalidArgumentError(f"device={runtime.device!r}: the ranks of a group compute on CPUs; use 'cpu'")
        out = rows["out"]
        super().__init__(Adjacency(runtimes.get("numpy"), np.zeros(1, np.int64), *out.no_edges), **kept)
        put = object.__setattr__
        for name, value in {"group": group, "bounds": bounds, "_rows": dict(rows), "runtime": runtime}.items():
            put(self, name, value)
        put(self, "_split_rows", {})
        put(self, "num_arcs_in_all", int(group.share(np.array([out.num_arcs]))[:, 0].sum()))

    # --- size --------------------------------------------------------------------------------------------------------
    @property
    def is_sharded(self) -> bool:
        """Whether the graph is divided among ranks: it is."""
        return True

    @property
    def num_vertices(self) -> int:
        """The number of vertices of all ranks."""
        return int(self.bounds[-1])

    @property
    def num_arcs(self) -> int:
        """The number of stored directions of all ranks."""
        return self.num_arcs_in_all

    @property
    def first(self) -> int:
        """The first of the own vertices."""
        return int(self.bounds[self.group.rank])

    @property
    def num_own(self) -> int:
        """The number of own vertices."""
        return int(self.bounds[self.group.rank + 1]) - self.first

    @property
    def memory_bytes(self) -> int:
        """The bytes of this rank's rows and ids."""
        labels = self._labels.array.nbytes if self._labels else 0
        pieces = [found.pieces for found in self._split_rows.values() if found.pieces is not None]
        split_bytes = sum(found.rows.num_bytes for found in self._split_rows.values() if found.pieces is not None)
        split_bytes += sum(piece.num_bytes for piece in pieces)
        return sum(rows.num_bytes for rows in self._rows.values()) + split_bytes + labels

    @property
    def weight_range(self) -> tuple[Any, Any, int]:
        """The smallest weight of all ranks, the largest, and how many are NaN; (1, 1, 0) without weights or edges."""
        found = self._weight_range
        if found is None:
            found = self._find_weight_range()
            object.__setattr__(self, "_weight_range", found)
        return found

    def _find_weight_range(self) -> tuple[Any, Any, int]:
        if not self.weighted or not self.num_arcs:
            return 1, 1, 0
        weights = self.rows("out").weights
        assert weights is not None
        low, high, num_nan = extremes(weights) if weights.size else (0, 0, 0)
        parts = self.group.share(np.array([low, high], weights.dtype))
        counts = self.group.share(np.array([weights.size, num_nan]))
        parts = parts[counts[:, 0] > 0]
        return parts[:, 0].min().item(), parts[:, 1].max().item(), int(counts[:, 1].sum())

    @property
    def num_self_loops(self) -> int:
        """The number of edges from a vertex to itself, of all ranks."""
        rows = self.rows("out")  # own vertices have the numbers of their rows
        return int(self.group.share(np.array([count_self_loops(rows.offsets, rows.neighbors)]))[:, 0].sum())

    # --- edges -------------------------------------------------------------------------------------------------------
    def rows(self, direction: str) -> LocalRows:
        """Return this rank's rows of outgoing (`out`) or incoming edges (`in`), or of both, the incoming ones first.

        They are read or made once, by all ranks together.
        """
        direction = direction if self.directed else "out"
        found = self._rows.get(direction)
        if not isinstance(found, LocalRows):
            self._rows[direction] = found = self._make_rows(direction) if found is None else found.load()
        return found

    @property
    def stays_far(self) -> bool:
        """Whether this rank's edges stay in files, and are streamed."""
        return self._far_maker("out") is not None

    def far_rows(self, direction: str, near_bytes: int) -> RowEnds:
        """Return this rank's rows, whose edges stay in a file of its own; they are made once, by all ranks together.

        `near_bytes` are those of vertex data that the caller holds.
        """
        direction = direction if self.directed else "out"
        self._check_in_file(direction)
        make = self._far_maker(direction)
        assert make is not None
        return make(near_bytes)

    def _far_maker(self, direction: str) -> Callable[[int], RowEnds] | None:
        found = self._rows[direction]
        return found.find_far if isinstance(found, StoredRows) else None

    def split_rows(self, direction: str) -> SplitRows:
        """Return this rank's rows with those of hubs divided among all ranks by edge; otherwise like `rows`.

        Whole rows of hubs are not kept beside the pieces: `rows` would put them together again.
        """
        direction = direction if self.directed else "out"
        found = self._split_rows.get(direction)
        if found is None:
            num_arcs = self.num_arcs * (2 if direction == "both" else 1)
            found = self._split_rows[direction] = split(self.group, self.bounds, self.rows(direction), num_arcs)
            if found.pieces is not None:
                self._rows[direction] = found.as_stored(self.group, self.bounds)
        return found

    def _check_in_file(self, direction: str) -> None:
        """Raise if edges stay in files, and these rows are not in one."""
        if direction in self._rows or not self.stays_far:
            return
        raise InvalidArgumentError(
            "the file has no incoming edges, and they are not made within a memory budget; write it with "
            "tgraph.write(graph, path, reverse=True)"
            if direction == "in"
            else "messages along both directions of a directed graph are not streamed; read it with tgraph.read"
        )

    def _make_rows(self, direction: str) -> LocalRows:
        self._check_in_file(direction)
        if direction == "in":
            return turn(self.group, self.bounds, self.rows("out"))
        return side_by_side(self.group, self.bounds, self.rows("in"), self.rows("out"))

    @property
    def no_edges(self) -> tuple[Array, Array | None]:
        """Neighbours and weights of no edge, for their types."""
        return self._rows["out"].no_edges

    @property
    def has_in_edges(self) -> bool:
        """Whether the rows of incoming edges are at hand."""
        return self.has_rows("in")

    def has_rows(self, direction: str) -> bool:
        """Whether the rows of a direction are in memory or in a file, and need not be made of those of the other."""
        return not self.directed or direction in self._rows

    def adjacency(self, direction: str) -> Adjacency:
        """Raise: no rank has all rows."""
        return self._refuse("the rows of all vertices")

    @property
    def out_offsets(self) -> Tensor:
        """Raise: no rank has them."""
        return self._refuse("out_offsets")

    @property
    def out_targets(self) -> Tensor:
        """Raise: no rank has them."""
        return self._refuse("out_targets")

    @property
    def weights(self) -> Tensor | None:
        """The weights of this rank's outgoing edges."""
        weights = self.rows("out").weights if self.weighted else None
        return None if weights is None else self.runtime.share(weights)

    def _refuse(self, what: str) -> NoReturn:
        raise DeclaredGapError(
            f"{what} would put the whole graph on one rank, and this graph is divided among {self.group.size}; read it "
            "outside of `with tgraph.distributed():`"
        )

    def reverse(self) -> Graph:
        """Return the graph with every edge turned around."""
        if not self.directed:
            return self
        if "in" not in self._rows:
            self.rows("in")
        rows = {"out": self._rows["in"], "in": self._rows["out"]}
        return self._like(rows=rows, is_sorted=True)

    def symmetrize(self) -> Graph:
        """Return the graph if it is undirected."""
        return self._refuse("symmetrize") if self.directed else self

    def simplify(self, duplicates: str = "first") -> Graph:
        """Raise: do it before the graph is divided."""
        return self._refuse("simplify")

    def subgraph(self, vertices: Iterable[Any]) -> Graph:
        """Raise: do it before the graph is divided."""
        return self._refuse("subgraph")

    def edges(self) -> tuple[Any, Any, Any]:
        """Raise: no rank has all edges."""
        return self._refuse("edges")

    def relabel(self, labels: Any) -> Graph:
        """Raise: do it before the graph is divided."""
        return self._refuse("relabel")

    def to(self, runtime: str | None = None, device: str | None = None) -> Graph:
        """Return the graph with vertex data on another runtime."""
        target = runtimes.get(runtime, device)
        return self if target is self.runtime else self._like(runtime=target)

    # --- vertex data -------------------------------------------------------------------------------------------------
    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every vertex, `[V] int64`."""
        return self.join(self.own_degrees("out"))

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`."""
        return self.join(self.own_degrees("in"))

    def own_degrees(self, direction: str) -> Tensor:
        """Return the number of outgoing (`out`) or incoming edges (`in`) of every own vertex, `[N] int64`."""
        direction = direction if self.directed else "out"
        rows = self._rows.get(direction) or self.rows(direction)  # those in a file stay there
        return self.runtime.asarray(np.diff(rows.offsets))

    def join(self, part: Tensor) -> Tensor:
        """Return the values of all vertices `[V]`, of which every rank gives those of its own."""
        return self.runtime.asarray(self.group.join(self.runtime.to_numpy(part), np.diff(self.bounds)))

    def part_of(self, values: Tensor) -> Tensor:
        """Return the values of the own vertices, of those of all `[V]`."""
        return values[self.first : self.first + self.num_own]

    def by_parts(self) -> PartView:
        """Return the graph as programs see it that treat every vertex by itself: vertex data are of own vertices."""
        return self._view(PartView)

    def _view(self, kind: type[Any]) -> Any:
        """Return the same graph seen in another way, without asking the other ranks."""
        view = object.__new__(kind)
        for name in (*Graph.__slots__, *ShardedGraph.__slots__):
            object.__setattr__(view, name, getattr(self, name))
        return view

    def whole(self) -> ShardedGraph:
        """Return the graph with vertex data of all vertices: itself, unless it is seen by parts."""
        return self

    # --- the user's ids ----------------------------------------------------------------------------------------------
    @property
    def vertex_labels(self) -> Array | None:
        """`[N]`: the user's ids of the own vertices, None = the number."""
        return super().vertex_labels

    def vertex_of(self, label: Any) -> int:
        """Return the number of the vertex with this id; all ranks ask for the same."""
        return int(self.vertices_of([label])[0])

    def vertices_of(self, labels: Iterable[Any]) -> Array:
        """Return the numbers of the vertices with these ids; all ranks ask for the same."""
        if self._labels is None:
            return super().vertices_of(labels)
        wanted = as_column("vertices", labels)
        numbers = np.full(wanted.size, -1, np.int64)
        for place, label in enumerate(wanted.tolist()):
            try:
                numbers[place] = self._labels.number_of(label) + self.first
            except VertexNotFoundError:
                continue
        numbers = self.group.share(numbers).max(axis=0)
        if (numbers < 0).any():
            raise VertexNotFoundError(f"vertex {wanted[numbers < 0].tolist()[0]!r} is not in the graph")
        return numbers.astype(index_dtype(self.num_vertices))

    def labels_of(self, vertices: Any) -> Array:
        """Return the user's ids of vertex numbers, of any ranks; every rank may ask for others."""
        numbers = runtimes.get("numpy").asarray(vertices)
        if self._labels is None:
            return numbers
        distinct, places = np.unique(numbers[numbers >= 0], return_inverse=True)
        counts = np.diff(np.searchsorted(distinct, self.bounds))
        asked, new_counts = exchange_uneven(self.group, distinct.astype(np.int64), counts)
        found = exchange_labels(self.group, self._labels.array[asked - self.first], new_counts)[places]
        has_negative = self._labels.array.dtype.kind != "i" or self._has_negative_ids()  # asked by all ranks, always
        if found.size == numbers.size:
            return found
        labels = np.full(numbers.size, None if has_negative else -1, object if has_negative else np.int64)
        labels[numbers >= 0] = found
        return labels

    def _has_negative_ids(self) -> bool:
        labels = self.vertex_labels
        lowest = -1 if labels is None else int(labels.min(initial=0))
        return bool(self.group.share(np.array([lowest]))[:, 0].min() < 0)

    # --- private -----------------------------------------------------------------------------------------------------
    def _like(self, **changes: Any) -> ShardedGraph:
        kept = {"group": self.group, "bounds": self.bounds, "rows": self._rows, "runtime": self.runtime}
        kept |= {"directed": self.directed, "num_edges": self._num_edges, "labels": self._labels}
        kept |= {"weight_range": self._weight_range}
        return ShardedGraph(**{**kept, "is_sorted": self.is_sorted, **changes})

    def describe(self) -> str:
        """Return size, kind and place in one line."""
        return f"{super().describe()}, rank {self.group.rank} of {self.group.size}"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._refuse("pickling")


class PartView(ShardedGraph):
    """The graph for programs that treat every vertex by itself: tensors of vertex data have one entry per own vertex.

    Sizes are still those of the whole graph, and `total` adds up over all ranks.
    """

    __slots__ = ()

    def whole(self) -> ShardedGraph:
        """Return the graph with vertex data of all vertices."""
        return self._view(ShardedGraph)

    @property
    def num_values(self) -> int:
        """The number of own vertices."""
        return self.num_own

    def numbers(self) -> Tensor:
        """Return the numbers of the own vertices, `[N]`."""
        return self.runtime.arange(self.first, self.first + self.num_own, index_dtype(self.num_vertices))

    def full(self, value: Any, dtype: Any, at: Mapping[int, Any] | None = None) -> Tensor:
        """Return a tensor `[N]` filled with `value`, with other values at some of the own vertices."""
        tensor = self.runtime.full(self.num_own, value, dtype)
        for vertex, other in (at or {}).items():
            if 0 <= vertex - self.first < self.num_own:
                tensor = self.runtime.index_put(tensor, self.runtime.asarray(np.asarray([vertex - self.first])), other)
        return tensor

    def sum_of(self, values: Tensor) -> Tensor:
        """Return the sum over the vertices of all ranks, as a tensor `[1]`."""
        own = self.runtime.to_numpy(super().sum_of(values))
        return self.runtime.asarray(self.group.share(own).sum(axis=0))

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every own vertex, `[N] int64`."""
        return self.own_degrees("out")

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every own vertex, `[N] int64`."""
        return self.own_degrees("in")

    @property
    def out_offsets(self) -> Tensor:
        """`[N+1] int64`: where the edges of each own vertex begin in `weights`."""
        return self.runtime.share(self._rows["out"].offsets)


def shard(graph: Graph) -> ShardedGraph:
    """Return this rank's part of a graph that every rank has, inside `with tgraph.distributed():`.

    For graphs that fit on every machine; `tgraph.read` never loads a graph as a whole there.

    >>> import tgraph as tg
    >>> with tg.distributed():
    ...     part = tg.shard(tg.generate.star(5))
    >>> part.num_vertices, part.num_own
    (5, 5)
    """
    if isinstance(graph, ShardedGraph):
        return graph
    group = current()
    if group is None:
        raise InvalidArgumentError("shard divides a graph among the ranks of a group; use it in tgraph.distributed()")
    if graph.is_far or graph.is_compressed:
        raise InvalidArgumentError("only a graph in memory can be divided among ranks; use tgraph.read")
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    incoming = [np.bincount(targets, minlength=graph.num_vertices)] if graph.directed else []
    bounds = bounds_by_degrees([np.diff(offsets), *incoming], group.size)
    first, last = bounds[group.rank], bounds[group.rank + 1]
    edges = slice(offsets[first], offsets[last])
    own = (
        offsets[first : last + 1] - offsets[first],
        targets[edges].copy(),
        None if weights is None else weights[edges],
    )
    rows = {"out": make_local(group, bounds, *own)}
    labels = None if graph.vertex_labels is None else VertexLabels(graph.vertex_labels[first:last])
    kinds = {"directed": graph.directed, "num_edges": graph.num_edges, "is_sorted": graph.is_sorted}
    return ShardedGraph(group, bounds, rows, graph.runtime, labels=labels, **kinds)
