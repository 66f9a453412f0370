"""The graph: immutable tensors in compressed rows, with the user's own vertex ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError, InvalidGraphError, OutOfRangeError, VertexNotFoundError, check_choice
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.check import find_problems
from tgraph.graph.labels import VertexLabels, as_column, as_integer, check_distinct, is_column
from tgraph.kernels.cpu.csr import count_self_loops, merge_duplicates, mirror_rows, select_rows, transpose
from tgraph.kernels.cpu.extremes import extremes
from tgraph.runtime import Array, Runtime, Tensor


class Graph:
    """A graph that does not change. Build one with `tgraph.from_edges`, `tgraph.read` or `tgraph.generate`.

    Vertices are numbered 0 to V - 1; `vertex_labels` are the user's own ids, where they are not these numbers. An
    undirected graph stores each edge in both directions, a self-loop once.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([10, 10, 30], [20, 30, 20])
    >>> graph
    Graph(3 vertices, 3 edges, directed, unweighted, labelled, torch on cpu)
    >>> graph.out_targets.tolist(), graph.vertex_labels.tolist()
    ([1, 2, 1], [10, 20, 30])
    """

    __slots__ = (
        "_in",
        "_labels",
        "_num_edges",
        "_out",
        "_self_loops",
        "_weight_range",
        "directed",
        "is_sorted",
        "runtime",
    )

    directed: bool
    is_sorted: bool
    runtime: Runtime
    _out: Adjacency
    _in: Adjacency | None  # None = not built yet
    _labels: VertexLabels | None
    _num_edges: int
    _self_loops: int | None  # None = not counted yet
    _weight_range: tuple[Any, Any, int] | None  # None = not looked for yet

    def __init__(
        self,
        out: Adjacency,
        *,
        directed: bool,
        num_edges: int,
        labels: VertexLabels | Array | None = None,
        is_sorted: bool = False,
        reverse: Adjacency | None = None,
        weight_range: tuple[Any, Any, int] | None = None,
    ) -> None:
        put = super().__setattr__
        put("runtime", out.runtime)
        put("directed", directed)
        put("is_sorted", is_sorted)
        put("_out", out)
        put("_in", reverse if directed else out)
        put("_num_edges", num_edges)
        put("_labels", VertexLabels(labels) if isinstance(labels, np.ndarray) else labels)
        put("_self_loops", None)
        put("_weight_range", weight_range)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Graph does not change; build a new one instead of setting {name!r}")

    # --- size --------------------------------------------------------------------------------------------------------
    @property
    def num_vertices(self) -> int:
        """The number of vertices, isolated ones included."""
        return self._out.num_vertices

    @property
    def num_edges(self) -> int:
        """The number of edges as the user counts them: an undirected edge once."""
        return self._num_edges

    @property
    def num_arcs(self) -> int:
        """The number of stored directions, the length of `out_targets`: about twice `num_edges` if undirected."""
        return self._out.num_arcs

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tensors that exist now; the reverse direction counts once it was built."""
        both = self._out.memory_bytes + (self._in.memory_bytes if self.directed and self._in else 0)
        return both + (self._labels.array.nbytes if self._labels else 0)

    # --- tensors -----------------------------------------------------------------------------------------------------
    @property
    def out_offsets(self) -> Tensor:
        """`[V+1] int64`: where the edges of each vertex begin in `out_targets`."""
        return self._out.offsets

    @property
    def out_targets(self) -> Tensor:
        """`[E] int32 or int64`: the vertices that edges lead to."""
        return self._out.neighbors

    @property
    def weights(self) -> Tensor | None:
        """`[E]`: the weights in the order of `out_targets`, or None."""
        return self._out.weights

    @property
    def in_offsets(self) -> Tensor:
        """`[V+1] int64`: where the incoming edges of each vertex begin in `in_sources`."""
        return self.adjacency("in").offsets

    @property
    def in_sources(self) -> Tensor:
        """`[E]`: the vertices that edges come from, grouped by target."""
        return self.adjacency("in").neighbors

    @property
    def in_weights(self) -> Tensor | None:
        """`[E]`: the weights in the order of `in_sources`, or None."""
        return self.adjacency("in").weights

    def adjacency(self, direction: str) -> Adjacency:
        """Return the rows of outgoing (`"out"`) or incoming (`"in"`) edges; the latter are built once and kept."""
        check_choice("direction", direction, ("out", "in"))
        if direction == "out":
            return self._out
        reverse = self._in
        if reverse is None:
            rows = transpose(*self._out.to_numpy(), self.num_vertices)
            reverse = Adjacency(runtimes.get("numpy"), *rows).to(self.runtime)
            super().__setattr__("_in", reverse)
        return reverse

    @property
    def has_in_edges(self) -> bool:
        """Whether the rows of incoming edges are at hand: built before, or the same as those of outgoing ones."""
        return self._in is not None or not self.directed

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every vertex, `[V] int64`."""
        return self._out.degrees()

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`."""
        return self.adjacency("in").degrees()

    # --- flags -------------------------------------------------------------------------------------------------------
    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._out.weights is not None

    @property
    def num_self_loops(self) -> int:
        """The number of edges from a vertex to itself; counted once."""
        count = self._self_loops
        if count is None:
            offsets, targets, _ = self._out.to_numpy()
            count = count_self_loops(offsets, targets)
            super().__setattr__("_self_loops", count)
        return count

    @property
    def weight_range(self) -> tuple[Any, Any, int]:
        """The smallest weight, the largest, and how many are NaN; found once. (1, 1, 0) without weights or edges."""
        found = self._weight_range
        if found is None:
            weights = self._out.weights
            found = (1, 1, 0) if weights is None or not self.num_arcs else extremes(self.runtime.to_numpy(weights))
            super().__setattr__("_weight_range", found)
        return found

    @property
    def is_far(self) -> bool:
        """Whether the edges stay away from vertex data and come in parts; see `tgraph.open` and `tgraph.offload`."""
        return False

    @property
    def is_compressed(self) -> bool:
        """Whether rows hold virtual vertices that stand for several neighbours; see `tgraph.compress`."""
        return False

    @property
    def is_sharded(self) -> bool:
        """Whether the graph is divided among the ranks of a group; see `tgraph.distributed`."""
        return False

    @property
    def has_self_loops(self) -> bool:
        """Whether any edge leads from a vertex to itself."""
        return self.num_self_loops > 0

    # --- the user's ids ----------------------------------------------------------------------------------------------
    @property
    def vertex_labels(self) -> Array | None:
        """`[V]`: the user's id of every vertex (a NumPy array of integers, strings or objects), None = the number."""
        return self._labels.array if self._labels else None

    def vertex_of(self, label: Any) -> int:
        """Return the number of the vertex with this id."""
        if self._labels:
            return self._labels.number_of(label)
        number = as_integer(label)
        if number is None or not 0 <= number < self.num_vertices:
            raise self._unknown(label)
        return number

    def vertices_of(self, labels: Iterable[Any]) -> Array:
        """Return the numbers of the vertices with these ids, as a NumPy array."""
        if not is_column(labels):
            raise InvalidArgumentError(
                f"{labels!r} is one vertex where a list of vertices is needed; write [{labels!r}]"
            )
        if self._labels:
            return self._labels.numbers_of(labels)
        numbers = as_column("vertices", labels)
        wrong = (
            (numbers < 0) | (numbers >= self.num_vertices) if numbers.dtype.kind == "i" else np.ones(numbers.size, bool)
        )
        if wrong.any():
            raise self._unknown(numbers[wrong].tolist()[0])
        return numbers.astype(index_dtype(self.num_vertices))

    def _unknown(self, label: Any) -> VertexNotFoundError:
        reach = f"0 to {self.num_vertices - 1}" if self.num_vertices else "none: the graph is empty"
        return VertexNotFoundError(f"vertex {label!r} is not in the graph; its ids are {reach}")

    def labels_of(self, vertices: Any) -> Array:
        """Return the user's ids of vertex numbers (a tensor or an array).

        A number -1 (nobody) stays -1 among integer ids of 0 or more, and becomes None among others.
        """
        numbers = runtimes.get("numpy").asarray(vertices)
        if not numbers.size:
            return numbers if self._labels is None else self._labels.array[:0]
        if numbers.dtype.kind not in "iu":
            raise InvalidArgumentError(f"vertices holds {numbers.dtype.name}; vertex numbers must be integers")
        low, high = numbers.min(), numbers.max()
        if low < -1 or high >= self.num_vertices:
            wrong = high if high >= self.num_vertices else low
            raise OutOfRangeError(
                f"vertices holds {wrong}; vertex numbers are 0 to {self.num_vertices - 1}, -1 = nobody"
            )
        if self._labels is None:
            return numbers
        labels = self._labels.array
        if low >= 0:
            return labels[numbers]
        if labels.dtype.kind == "i" and labels.min() >= 0:
            return np.where(numbers < 0, -1, labels[numbers])
        found = labels[numbers].astype(object)
        found[numbers < 0] = None
        return found

    # --- new graphs --------------------------------------------------------------------------------------------------
    def to(self, runtime: str | None = None, device: str | None = None) -> Graph:
        """Return the graph on another runtime or device; tensors are shared where that is possible."""
        target = runtimes.get(runtime, device)
        if target is self.runtime:
            return self
        reverse = self._in.to(target) if self.directed and self._in is not None else None
        return self._with(self._out.to(target), reverse=reverse, weight_range=self._weight_range)

    def reverse(self) -> Graph:
        """Return the graph with every edge turned around."""
        if not self.directed:
            return self
        kept = self._out if self.is_sorted else None  # incoming rows always ascend, so others are built anew
        return self._with(self.adjacency("in"), reverse=kept, is_sorted=True)

    def symmetrize(self) -> Graph:
        """Return the undirected graph: every edge in both directions, an edge that had both of them once.

        Where both directions had weights, the smaller one stays.
        """
        if not self.directed:
            return self
        return self._from_rows(merge_duplicates(*mirror_rows(*self._out.to_numpy()), "min"), directed=False)

    def simplify(self, duplicates: str = "first") -> Graph:
        """Return the graph without self-loops and with every edge once; `duplicates` says which weight stays.

        Args:
            duplicates: `first`, `last`, `min`, `max` or `sum`.
        """
        check_choice("duplicates", duplicates, ("first", "last", "min", "max", "sum"))
        rows = self._out.to_numpy()
        if not self.directed and self.weighted:  # decide once per edge, so that both directions keep the same weight
            rows = mirror_rows(*rows, upper=True)
        elif not self.is_sorted:
            rows = transpose(*transpose(*rows, self.num_vertices), self.num_vertices)
        return self._from_rows(merge_duplicates(*rows, duplicates, drop_loops=True))

    def subgraph(self, vertices: Iterable[Any]) -> Graph:
        """Return the graph of these vertices (the user's ids, in this order) and the edges among them.

        Results on it still carry the user's ids.
        """
        rows = self.vertices_of(vertices)
        new_ids = np.full(self.num_vertices, -1, index_dtype(self.num_vertices))
        new_ids[rows] = np.arange(rows.size)
        if (new_ids[rows] != np.arange(rows.size)).any():
            raise InvalidArgumentError("vertices names a vertex more than once; give each once")
        selected = select_rows(*self._out.to_numpy(), rows, new_ids)
        labels = VertexLabels(self._labels.array[rows] if self._labels else rows.astype(np.int64))
        keep_order = self.is_sorted and bool((rows[1:] > rows[:-1]).all())
        return self._from_rows(selected, labels=labels, is_sorted=keep_order)

    def relabel(self, labels: Mapping[Any, Any] | Callable[[Any], Any] | Iterable[Any] | None) -> Graph:
        """Return the graph with other vertex ids: a sequence in vertex order, a mapping or a function of the old ids.

        None removes the labels, so that vertices are known by their numbers.
        """
        if labels is None:
            return self._with(self._out, reverse=self._in, labels=None)
        if isinstance(labels, Mapping) or callable(labels):
            old = self.labels_of(np.arange(self.num_vertices)).tolist()
            labels = [labels.get(label, label) if isinstance(labels, Mapping) else labels(label) for label in old]
        array = as_column("labels", labels)
        if array.size != self.num_vertices:
            raise InvalidArgumentError(
                f"labels has {array.size} entries for {self.num_vertices} vertices; give one each"
            )
        check_distinct(array)
        return self._with(self._out, reverse=self._in, labels=VertexLabels(array))

    # --- vertex data -------------------------------------------------------------------------------------------------
    @property
    def num_values(self) -> int:
        """The number of entries of vertex data: one per vertex, or per own vertex of a rank."""
        return self.num_vertices

    def numbers(self) -> Tensor:
        """Return the number of every vertex, `[V]`.

        >>> import tgraph as tg
        >>> tg.from_edges([0, 1], [1, 2]).numbers().tolist()
        [0, 1, 2]
        """
        return self.runtime.arange(0, self.num_vertices, index_dtype(self.num_vertices))

    def full(self, value: Any, dtype: Any, at: Mapping[int, Any] | None = None) -> Tensor:
        """Return a tensor `[V]` filled with `value`, with other values at some vertex numbers.

        >>> import tgraph as tg
        >>> tg.from_edges([0, 1], [1, 2]).full(-1, "int32", at={0: 5}).tolist()
        [5, -1, -1]
        """
        tensor = self.runtime.full(self.num_vertices, value, dtype)
        for vertex, other in (at or {}).items():
            tensor = self.runtime.index_put(tensor, self.runtime.asarray(np.asarray([vertex])), other)
        return tensor

    def total(self, values: Tensor) -> float:
        """Return the sum of a tensor of vertex data over all vertices, those of other ranks included.

        >>> import tgraph as tg
        >>> graph = tg.from_edges([0, 1], [1, 2])
        >>> graph.total(graph.full(0.5, "float64"))
        1.5
        """
        return float(self.runtime.item(self.sum_of(values)))

    def sum_of(self, values: Tensor) -> Tensor:
        """Return the same sum as a tensor `[1]`, which stays where the values are: nobody waits for a device.

        >>> import tgraph as tg
        >>> graph = tg.from_edges([0, 1], [1, 2])
        >>> graph.sum_of(graph.full(2, "int64")).tolist()
        [6]
        """
        return self.runtime.reduce(values, "sum")

    # --- looking -----------------------------------------------------------------------------------------------------
    def check(self) -> None:
        """Raise `InvalidGraphError` with every broken invariant of the tensors; return if there is none."""
        problems = find_problems(self)
        if problems:
            raise InvalidGraphError(problems)

    def edges(self) -> tuple[Array, Array, Array | None]:
        """Return sources, targets (the user's ids) and weights as NumPy arrays; an undirected edge once."""
        offsets, targets, weights = self._out.to_numpy()
        sources = _row_numbers((offsets, targets, weights))
        if not self.directed:
            once = sources <= targets
            sources, targets, weights = sources[once], targets[once], None if weights is None else weights[once]
        return self.labels_of(sources), self.labels_of(targets), weights

    def __repr__(self) -> str:
        return f"Graph({self.describe()})"

    def _repr_html_(self) -> str:
        return f"<b>Graph</b> {self.describe()}<br>{self.memory_bytes:,} bytes"

    def describe(self) -> str:
        """Return size, kind and place in one line."""
        words = [
            f"{self.num_vertices:,} vertices",
            f"{self.num_edges:,} edges",
            "directed" if self.directed else "undirected",
            "weighted" if self.weighted else "unweighted",
            *(["labelled"] if self._labels else []),
            f"{self.runtime.name} on {self.runtime.device}",
        ]
        return ", ".join(words)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (
            self._out.to_numpy(),
            self.directed,
            self._num_edges,
            self.vertex_labels,
            self.is_sorted,
            self.runtime.name,
            self.runtime.device,
        )

    # --- private -----------------------------------------------------------------------------------------------------
    def _with(self, out: Adjacency, **changes: Any) -> Graph:
        """Return a graph that differs from this one only in what is given."""
        kept = {
            "directed": self.directed,
            "num_edges": self._num_edges,
            "labels": self._labels,
            "is_sorted": self.is_sorted,
        }
        return Graph(out, **{**kept, **changes})

    def _from_rows(self, rows: tuple[Array, Array, Array | None], **changes: Any) -> Graph:
        """Return a graph of new rows with this one's labels, on the same runtime."""
        directed = changes.get("directed", self.directed)
        num_edges = rows[1].size
        if not directed:
            num_edges = (num_edges + count_self_loops(rows[0], rows[1])) // 2
        out = Adjacency(runtimes.get("numpy"), *rows).to(self.runtime)
        return self._with(out, **{"num_edges": num_edges, "is_sorted": True, **changes})


def _row_numbers(rows: tuple[Array, Array, Array | None]) -> Array:
    offsets, neighbors, _ = rows
    return np.repeat(np.arange(offsets.size - 1, dtype=neighbors.dtype), np.diff(offsets))


def _unpickle(
    rows: tuple[Array, Array, Array | None],
    directed: bool,
    num_edges: int,
    labels: Array | None,
    is_sorted: bool,
    runtime: str,
    device: str,
) -> Graph:
    out = Adjacency(runtimes.get("numpy"), *rows)
    return Graph(out, directed=directed, num_edges=num_edges, labels=labels, is_sorted=is_sorted).to(runtime, device)
