"""A graph that is divided among the ranks of a group: each holds the edges of its own vertices, none holds all.

A rank owns consecutive vertices, so many that every rank has about as many edges. It holds their outgoing rows, and
their incoming ones once something needs them. `num_vertices`, `num_edges` and the like are those of the whole graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from tgraph import runtime as runtimes
from tgraph.dtypes import index_dtype
from tgraph.errors import DeclaredGapError, InvalidArgumentError, VertexNotFoundError
from tgraph.gaps import check_gap
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.graph import Graph
from tgraph.graph.labels import STRING_DTYPE, VertexLabels, as_column
from tgraph.graph.local_rows import LocalRows, make_local, side_by_side, turn
from tgraph.group import Group, current, exchange_uneven
from tgraph.kernels.cpu.extremes import extremes
from tgraph.runtime import Array, Runtime, Tensor


class ShardedGraph(Graph):
    """One rank's part of a graph. Inside `with tgraph.distributed():`, `tgraph.read` and `tgraph.shard` give one.

    All ranks call its methods, in the same order: some ask the others.
    """

    __slots__ = ("_rows", "bounds", "group", "num_arcs_in_all")

    group: Group
    bounds: Array  # [P+1] the first vertex of every rank, and their number
    num_arcs_in_all: int
    _rows: dict[str, LocalRows]

    def __init__(self, group: Group, bounds: Array, rows: dict[str, LocalRows], runtime: Runtime, **kept: Any) -> None:
        check_gap("distributed", runtime.name)
        if runtime.device != "cpu":
            raise InvalidArgumentError(f"device={runtime.device!r}: the ranks of a group compute on CPUs; use 'cpu'")
        out = rows["out"]
        super().__init__(Adjacency(runtimes.get("numpy"), out.offsets, out.neighbors, out.weights), **kept)
        put = object.__setattr__
        for name, value in {"group": group, "bounds": bounds, "_rows": rows, "runtime": runtime}.items():
            put(self, name, value)
        put(self, "num_arcs_in_all", int(group.share(np.array([out.neighbors.size]))[:, 0].sum()))

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
        return sum(rows.num_bytes for rows in self._rows.values()) + labels

    @property
    def weight_range(self) -> tuple[Any, Any, int]:
        """The smallest weight of all ranks, the largest, and how many are NaN; (1, 1, 0) without weights or edges."""
        found = self._weight_range
        if found is None:
            found = self._find_weight_range()
            object.__setattr__(self, "_weight_range", found)
        return found

    def _find_weight_range(self) -> tuple[Any, Any, int]:
        weights = self._rows["out"].weights
        if weights is None or not self.num_arcs:
            return 1, 1, 0
        low, high, num_nan = extremes(weights) if weights.size else (0, 0, 0)
        parts = self.group.share(np.array([low, high], weights.dtype))
        counts = self.group.share(np.array([weights.size, num_nan]))
        parts = parts[counts[:, 0] > 0]
        return parts[:, 0].min().item(), parts[:, 1].max().item(), int(counts[:, 1].sum())

    @property
    def num_self_loops(self) -> int:
        """The number of edges from a vertex to itself, of all ranks."""
        return int(self.group.share(np.array([super().num_self_loops]))[:, 0].sum())

    # --- edges -------------------------------------------------------------------------------------------------------
    def rows(self, direction: str) -> LocalRows:
        """Return this rank's rows of outgoing (`out`) or incoming edges (`in`), or of both, the incoming ones first.

        All but the first are made once, by all ranks together.
        """
        if not self.directed:
            direction = "out"
        if direction == "in" and direction not in self._rows:
            self._rows[direction] = turn(self.group, self.bounds, self._rows["out"])
        if direction == "both" and direction not in self._rows:
            sides = self.rows("in"), self.rows("out")
            self._rows[direction] = side_by_side(self.group, self.bounds, *sides)
        return self._rows[direction]

    @property
    def has_in_edges(self) -> bool:
        """Whether the rows of incoming edges are at hand."""
        return not self.directed or "in" in self._rows

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
        return None if self._out.weights is None else self.runtime.share(self._out.weights)

    def _refuse(self, what: str) -> NoReturn:
        raise DeclaredGapError(
            f"{what} would put the whole graph on one rank, and this graph is divided among {self.group.size}; read it "
            "outside of `with tgraph.distributed():`"
        )

    def reverse(self) -> Graph:
        """Return the graph with every edge turned around."""
        if not self.directed:
            return self
        rows = {"out": self.rows("in"), "in": self.rows("out")}
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
        return self.join(self._degrees("out"))

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`."""
        return self.join(self._degrees("in"))

    def _degrees(self, direction: str) -> Tensor:
        return self.runtime.asarray(np.diff(self.rows(direction).offsets))

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

    def full(self, value: Any, dtype: Any, at: Mapping[int, Any] | None = None) -> Tensor:
        """Return a tensor `[N]` filled with `value`, with other values at some of the own vertices."""
        tensor = self.runtime.full(self.num_own, value, dtype)
        for vertex, other in (at or {}).items():
            if 0 <= vertex - self.first < self.num_own:
                tensor = self.runtime.index_put(tensor, self.runtime.asarray(np.asarray([vertex - self.first])), other)
        return tensor

    def total(self, values: Tensor) -> float:
        """Return the sum over the vertices of all ranks."""
        return float(self.group.share(np.array([super().total(values)]))[:, 0].sum())

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every own vertex, `[N] int64`."""
        return self._degrees("out")

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every own vertex, `[N] int64`."""
        return self._degrees("in")

    @property
    def out_offsets(self) -> Tensor:
        """`[N+1] int64`: where the edges of each own vertex begin in `weights`."""
        return self.runtime.share(self._out.offsets)


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


def bounds_by_degrees(degrees: list[Array], size: int) -> Array:
    """Return the first vertex of every rank and their number, `[size + 1]`: about equally many edges for each.

    >>> bounds_by_degrees([np.array([8, 1, 1, 1, 1])], 2).tolist()
    [0, 1, 5]
    """
    return bounds_by_work(sum(degrees, np.ones(degrees[0].size, np.int64)), size)


def bounds_by_work(work: Array, size: int) -> Array:
    """Return where to cut so that all parts have about the same work, `[size + 1]`.

    >>> bounds_by_work(np.array([4, 1, 1, 1, 1]), 2).tolist()
    [0, 1, 5]
    """
    ends = np.concatenate([[0], np.cumsum(work)])
    middles = (ends[:-1] + ends[1:]) / 2  # what lies in the middle of a part belongs to it
    inner = np.searchsorted(middles, ends[-1] * np.arange(1, size) / size)
    return np.concatenate([[0], inner, [work.size]]).astype(np.int64)


def exchange_labels(group: Group, labels: Array, counts: Array) -> Array:
    """Send ids, integers or strings, to ranks; return those that came."""
    ones = np.ones(group.size, np.int64)
    new_counts = group.exchange(counts.astype(np.int64), ones, ones)
    if labels.dtype.kind == "i":
        return group.exchange(labels, counts, new_counts)
    if labels.dtype.kind != "T":
        raise DeclaredGapError("ids in a group are integers or strings; convert others to strings")
    encoded = [label.encode() for label in labels.tolist()]
    lengths = np.array([len(label) for label in encoded], np.int64)
    new_lengths = group.exchange(lengths, counts, new_counts)
    sizes, new_sizes = _sum_parts(lengths, counts), _sum_parts(new_lengths, new_counts)
    content = group.exchange(np.frombuffer(b"".join(encoded), np.uint8), sizes, new_sizes).tobytes()
    ends = np.cumsum(new_lengths).tolist()
    starts = [0, *ends[:-1]]
    return np.array([content[a:b].decode() for a, b in zip(starts, ends, strict=False)], STRING_DTYPE)


def _sum_parts(values: Array, counts: Array) -> Array:
    """Return the sums of the next `counts[r]` values, for every r."""
    sums = np.concatenate([[0], np.cumsum(values)])
    return np.diff(sums[np.concatenate([[0], np.cumsum(counts)])])
