"""A graph in which repeated sequences of neighbours are virtual vertices: `tgraph.compress`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tgraph import runtime as runtimes
from tgraph.dtypes import OFFSET_DTYPE
from tgraph.errors import InvalidArgumentError
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.graph import Graph
from tgraph.kernels.cpu.csr import transpose
from tgraph.kernels.cpu.virtual_rows import count_leaves, count_roots, expand_rows
from tgraph.runtime import Array, Tensor

if TYPE_CHECKING:
    from tgraph.kernels.cpu.fused.layers import LayeredSide

ROW_COST = 5  # what a row takes beside its neighbours, in neighbours: about what PageRank takes on cnr-2000


class CompressedGraph(Graph):
    """A graph with virtual vertices, which stand for neighbours that many vertices share.

    `rows` has one row per vertex and behind them one per virtual vertex, whose numbers go on after those of vertices.
    Virtual vertices are ordered by depth: those of layer 1 have vertices only in their rows, those of layer k also
    virtual ones of layers below. The rows of vertices come after the last layer. What follows edges against their
    direction goes down the layers, in rows that are turned around when they are first needed.

    The graph stays one with `num_vertices` vertices and `num_edges` edges: programs see no virtual vertex.

    >>> import tgraph as tg
    >>> small = tg.compress(tg.from_edges([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], [3, 4, 5, 6] * 3))
    >>> small
    CompressedGraph(7 vertices, 12 edges, directed, unweighted, 1 virtual vertex in 1 layer, 7 of 12 neighbours \
stored, torch on cpu)
    >>> tg.pagerank(small).ranks.tolist() == tg.pagerank(small.decompress()).ranks.tolist()
    True
    """

    __slots__ = ("_degrees", "_num_arcs", "_sides", "_turned", "layers")

    layers: Array  # [D+1] int64: layer k of virtual vertices is layers[k - 1] to layers[k] - 1
    _num_arcs: int
    _turned: Adjacency | None  # None = not built yet
    _degrees: dict[str, Tensor]  # what was counted, by direction
    _sides: dict[str, LayeredSide]  # what kernels need to know of the rows, by direction

    def __init__(
        self, rows: Adjacency, *, layers: Array, num_arcs: int, turned: Adjacency | None = None, **kept: Any
    ) -> None:
        super().__init__(rows, **kept)
        put = object.__setattr__
        put(self, "layers", layers)
        put(self, "_num_arcs", num_arcs)
        put(self, "_turned", turned)
        put(self, "_degrees", {})
        put(self, "_sides", {})

    # --- size --------------------------------------------------------------------------------------------------------
    @property
    def is_compressed(self) -> bool:
        """Whether rows hold virtual vertices: they do."""
        return True

    @property
    def num_vertices(self) -> int:
        """The number of vertices, without virtual ones."""
        return int(self.layers[0])

    @property
    def num_virtual(self) -> int:
        """The number of virtual vertices."""
        return int(self.layers[-1] - self.layers[0])

    @property
    def depth(self) -> int:
        """The number of layers of virtual vertices."""
        return len(self.layers) - 1

    @property
    def num_arcs(self) -> int:
        """The number of neighbours in all rows when virtual vertices are written out."""
        return self._num_arcs

    @property
    def num_stored(self) -> int:
        """The number of neighbours that are stored, in the rows of vertices and of virtual ones."""
        return self.rows.num_arcs

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tensors that exist now; rows that are turned around count once they were built."""
        both = self.rows.memory_bytes + (self._turned.memory_bytes if self._turned else 0) + self.layers.nbytes
        return both + (self._labels.array.nbytes if self._labels else 0)

    @property
    def ratio(self) -> float:
        """How many times smaller the stored rows are than those of the graph: bytes of offsets and neighbours."""
        id_bytes = self.runtime.dtype(self.rows.neighbors).itemsize
        plain = OFFSET_DTYPE.itemsize * (self.num_vertices + 1) + id_bytes * self.num_arcs
        return float(plain / (self.rows.memory_bytes + self.layers.nbytes))

    @property
    def predicted_speed_up(self) -> float:
        """How many times faster an iteration over all edges should be than on the graph itself, on one thread."""
        plain = self.num_arcs + ROW_COST * self.num_vertices
        return plain / (self.num_stored + ROW_COST * (self.num_vertices + self.num_virtual))

    # --- rows --------------------------------------------------------------------------------------------------------
    @property
    def rows(self) -> Adjacency:
        """The neighbours of vertices and of virtual vertices, `[V+R+1]` and `[S]`."""
        return self._out

    @property
    def turned_rows(self) -> Adjacency:
        """For every vertex and virtual vertex those in whose rows it is; built once and kept."""
        if not self.directed:
            raise InvalidArgumentError("an undirected graph has the same rows in both directions; use rows")
        turned = self._turned
        if turned is None:
            offsets, neighbors, _ = self.rows.to_numpy()
            made = transpose(offsets.astype(np.int64), neighbors, None, offsets.size - 1)
            turned = Adjacency(runtimes.get("numpy"), made[0].astype(offsets.dtype), *made[1:]).to(self.runtime)
            object.__setattr__(self, "_turned", turned)
        return turned

    def side(self, direction: str) -> LayeredSide:
        """Return the rows in one direction as kernels take them; made once and kept."""
        from tgraph.kernels.cpu.fused.layers import LayeredSide

        direction = direction if self.directed else "out"
        if direction not in self._sides:
            offsets, neighbors, _ = (self.rows if direction == "out" else self.turned_rows).to_numpy()
            self._sides[direction] = LayeredSide(offsets, neighbors, self.layers, direction == "out")
        return self._sides[direction]

    @property
    def virtual_mask(self) -> Tensor:
        """Which rows are those of virtual vertices, `[V+R] bool`."""
        return self.runtime.arange(0, self.num_vertices + self.num_virtual, "int64") >= self.num_vertices

    def layer(self, number: int) -> Adjacency:
        """Return the rows of one layer, from 1 to `depth`; `depth + 1` are those of vertices."""
        if not 1 <= number <= self.depth + 1:
            raise InvalidArgumentError(f"number={number!r}: the layers are 1 to {self.depth + 1}")
        ends = [*self.layers.tolist(), 0, self.num_vertices]
        first, last = (ends[-2], ends[-1]) if number > self.depth else (ends[number - 1], ends[number])
        offsets = self.rows.offsets[first : last + 1]
        begin, end = (int(self.runtime.item(offsets[place])) for place in (0, -1))
        return Adjacency(self.runtime, offsets - begin, self.rows.neighbors[begin:end], None)

    def decompress(self) -> Graph:
        """Return the graph without virtual vertices: the same rows in the same order as before it was compressed."""
        offsets, neighbors, _ = self.rows.to_numpy()
        count = self.num_vertices
        out_offsets = np.zeros(count + 1, np.int64)
        np.cumsum(count_leaves(offsets, neighbors, count), out=out_offsets[1:])
        targets = expand_rows(offsets, neighbors, count, out_offsets, ascending=self.is_sorted)
        out = Adjacency(runtimes.get("numpy"), out_offsets, targets, None).to(self.runtime)
        labels, is_sorted = self._labels, self.is_sorted
        return Graph(out, directed=self.directed, num_edges=self._num_edges, labels=labels, is_sorted=is_sorted)

    # --- what programs ask for ---------------------------------------------------------------------------------------
    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every vertex, `[V] int64`."""
        return self.runtime.copy(self.count_edges("out"))

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`."""
        return self.runtime.copy(self.count_edges("in"))

    def count_edges(self, direction: str) -> Tensor:
        """Return the number of edges of every vertex in one direction, `[V] int64`, counted once; not to be changed."""
        direction = direction if self.directed else "out"
        if direction not in self._degrees:
            count = count_leaves if direction == "out" else count_roots
            offsets, neighbors, _ = self.rows.to_numpy()
            self._degrees[direction] = self.runtime.asarray(count(offsets, neighbors, self.num_vertices))
        return self._degrees[direction]

    @property
    def has_in_edges(self) -> bool:
        """Whether nothing has to be built to follow edges against their direction."""
        return not self.directed or self._turned is not None

    @property
    def weight_range(self) -> tuple[Any, Any, int]:
        """The range of weights where there are none: (1, 1, 0)."""
        return 1, 1, 0

    def to(self, runtime: str | None = None, device: str | None = None) -> Graph:
        """Return the compressed graph on another runtime or device; tensors are shared where that is possible."""
        target = runtimes.get(runtime, device)
        if target is self.runtime:
            return self
        turned = None if self._turned is None else self._turned.to(target)
        return self._with(self.rows.to(target), turned=turned)

    def relabel(self, labels: Any) -> Graph:
        """Return the compressed graph with other vertex ids, see `Graph.relabel`."""
        return self._with(self.rows, labels=super().relabel(labels)._labels, turned=self._turned)

    # --- what needs the rows of the graph itself ---------------------------------------------------------------------
    @property
    def out_offsets(self) -> Tensor:
        """Raise: rows hold virtual vertices."""
        return self._refuse("out_offsets")

    @property
    def out_targets(self) -> Tensor:
        """Raise: rows hold virtual vertices."""
        return self._refuse("out_targets")

    @property
    def num_self_loops(self) -> int:
        """Raise: rows hold virtual vertices."""
        return self._refuse("num_self_loops")

    def adjacency(self, direction: str) -> Adjacency:
        """Raise: rows hold virtual vertices."""
        return self._refuse(f"adjacency({direction!r})")

    def reverse(self) -> Graph:
        """Return the graph if it is undirected; a directed one is to be turned around before it is compressed."""
        return self._refuse("reverse") if self.directed else self

    def symmetrize(self) -> Graph:
        """Return the graph if it is undirected."""
        return self._refuse("symmetrize") if self.directed else self

    def simplify(self, duplicates: str = "first") -> Graph:
        """Raise: rows hold virtual vertices."""
        return self._refuse("simplify")

    def subgraph(self, vertices: Iterable[Any]) -> Graph:
        """Raise: rows hold virtual vertices."""
        return self._refuse("subgraph")

    def check(self) -> None:
        """Raise: the invariants are those of a graph without virtual vertices."""
        self._refuse("check")

    def edges(self) -> tuple[Array, Array, Array | None]:
        """Return sources and targets of all edges, see `Graph.edges`."""
        return self.decompress().edges()

    def _refuse(self, operation: str) -> NoReturn:
        raise InvalidArgumentError(
            f"{operation} needs the rows of the graph itself, and this one is compressed; use graph.decompress()"
        )

    # --- looking -----------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"CompressedGraph({self.describe()})"

    def describe(self) -> str:
        """Return size, kind and place in one line."""
        *words, place = super().describe().split(", ")
        virtual = f"{self.num_virtual:,} virtual {'vertex' if self.num_virtual == 1 else 'vertices'}"
        layers = f"in {self.depth} {'layer' if self.depth == 1 else 'layers'}"
        stored = f"{self.num_stored:,} of {self.num_arcs:,} neighbours stored"
        return ", ".join([*words, f"{virtual} {layers}", stored, place])

    def __reduce__(self) -> tuple[Any, ...]:
        kept: dict[str, Any] = {"directed": self.directed, "num_edges": self._num_edges, "labels": self.vertex_labels}
        kept |= {"layers": self.layers, "num_arcs": self._num_arcs, "is_sorted": self.is_sorted}
        return _unpickle, (self.rows.to_numpy(), kept, self.runtime.name, self.runtime.device)

    def _with(self, out: Adjacency, **changes: Any) -> Graph:
        """Return a graph that differs from this one only in what is given."""
        kept: dict[str, Any] = {"directed": self.directed, "num_edges": self._num_edges, "labels": self._labels}
        kept |= {"layers": self.layers, "num_arcs": self._num_arcs, "is_sorted": self.is_sorted}
        changes.pop("reverse", None)
        return CompressedGraph(out, **{**kept, **changes})


def _unpickle(rows: tuple[Array, Array, Array | None], kept: dict[str, Any], runtime: str, device: str) -> Graph:
    return CompressedGraph(Adjacency(runtimes.get("numpy"), *rows), **kept).to(runtime, device)
