"""A NetworkX graph as arrays: what the functions of the back end work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tgraph.errors import InvalidGraphError
from tgraph.graph import Graph, from_csr
from tgraph.graph.labels import object_array
from tgraph.interop.networkx.numbering import Numbering
from tgraph.kernels.cpu.csr import merge_duplicates, mirror_rows, transpose
from tgraph.kernels.cpu.ordered.bucket_dijkstra import pack_edges
from tgraph.kernels.cpu.python_objects.results import fill_copy, fill_dict, fill_sets
from tgraph.kernels.cpu.python_objects.rows import DictRows, hashes_of
from tgraph.runtime import Array

BACKEND = "tgraph"
Rows = tuple[Array, Array]
WeightedRows = tuple[Array, Array, "Array | None"]
MOST = 0.75  # of the nodes in one set: it is then made of a copy of all
MAX_SUM = 2**62  # of whole weights: a path's length stays below


class LeaveToNetworkX(Exception):  # noqa: N818 - no error: a request
    """Asks the dispatcher to have NetworkX do the call: an argument is odd, or the call ends in an error."""


class ConvertedGraph:
    """The adjacency of a NetworkX graph as rows of vertex numbers, in NetworkX's order; attributes come on demand.

    Nodes are numbered in their order. It stands for the graph as it was: what is read later (incoming edges in their
    order, attributes) is refused if the graph has changed since.

    >>> import networkx as nx
    >>> graph = ConvertedGraph(nx.Graph([("a", "c"), ("c", "b")]))
    >>> graph.nodes.tolist(), graph.out_rows[1].tolist(), graph.weights("weight", 1).tolist()
    (['a', 'c', 'b'], [1, 0, 2, 1], [1, 1, 1, 1])
    """

    __networkx_backend__ = BACKEND

    def __init__(self, original: Any) -> None:
        self.original = original
        self.directed: bool = original.is_directed()
        self.multigraph: bool = original.is_multigraph()
        rows = dict_rows(original._adj)
        self._nodes = list(rows.by_owner)
        self._addresses = rows.owners()
        self._node_hashes = _hashes(rows.owners(), self._nodes)
        self._numbering = Numbering(self._node_hashes)
        self.out_rows: Rows = self._read_rows(rows)
        self._attributes: dict[tuple[Any, Any, str], Array] = {}
        self._kept: dict[Any, Any] = {}
        self._ascending: dict[Any, WeightedRows] = {}
        cache = original.__networkx_cache__  # forgets what it holds when the graph changes
        self._marker = object() if cache is None else cache.setdefault(BACKEND, object())

    # --- what NetworkX asks of a graph -------------------------------------------------------------------------------
    def is_directed(self) -> bool:
        """Say whether edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Say whether two nodes may be joined by several edges."""
        return self.multigraph

    def number_of_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self._nodes)

    order = number_of_nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return self._find(node) >= 0
        except TypeError:
            return False

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make()` returned when the key was asked for first."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    # --- nodes and numbers -------------------------------------------------------------------------------------------
    @cached_property
    def nodes(self) -> Array:
        """`[V] object`: the nodes."""
        return object_array(self._nodes)

    @cached_property
    def numbers(self) -> dict[Any, int]:
        """The number of every node."""
        return {node: number for number, node in enumerate(self._nodes)}

    @cached_property
    def _blank(self) -> dict[Any, None]:
        """All nodes, to be copied: that is faster than to fill a dictionary or a set."""
        return dict.fromkeys(self._nodes)

    @cached_property
    def _all_nodes(self) -> set[Any]:
        """As `_blank`."""
        return set(self._nodes)

    def _find(self, node: Any) -> int:
        """Return the number of a node, -1 if there is none."""
        if not self._numbering.distinct:
            return self.numbers.get(node, -1)
        number = self._numbering.number_of(node)
        is_found = number >= 0 and (self._nodes[number] is node or self._nodes[number] == node)
        return number if is_found else -1

    def number_of(self, node: Any) -> int:
        """Return the number of a node; NetworkX says what is wrong with one that is not there."""
        try:
            number = self._find(node)
        except TypeError:
            raise LeaveToNetworkX from None
        if number < 0:
            raise LeaveToNetworkX
        return number

    def numbers_of(self, nodes: Iterable[Any]) -> Array:
        """Return the numbers of nodes, `[N] int64`."""
        return np.fromiter(map(self.number_of, nodes), np.int64)

    def nodes_of(self, numbers: Array) -> list[Any]:
        """Return the nodes with these numbers."""
        return self.nodes[numbers].tolist()

    def by_node(self, values: Array, numbers: Array | None = None) -> dict[Any, Any]:
        """Return a dictionary of values, whole or floating, by the nodes with these numbers, None = all, in order."""
        copied = fill_copy(self._blank, self._addresses, values) if numbers is None else None
        if copied is not None:
            return copied
        chosen = np.arange(len(self)) if numbers is None else numbers
        filled = fill_dict(self._addresses, self._node_hashes, chosen, values)
        return dict(zip(self.nodes_of(chosen), values.tolist(), strict=True)) if filled is None else filled

    def sets_by_label(self, labels: Array) -> list[set[Any]]:
        """Return the nodes of every label as sets, labels `[V]` ascending; they are from 0 up and may leave gaps."""
        counts = np.bincount(labels)
        used = np.flatnonzero(counts)
        sizes = counts[used]
        largest = int(sizes.argmax()) if used.size else 0
        if not used.size or sizes[largest] < MOST * len(self):
            return self.sets_of(np.argsort(labels, kind="stable"), _ends(sizes))
        others = np.flatnonzero(labels != used[largest])
        others = others[np.argsort(labels[others], kind="stable")]
        sizes[largest] = 0
        sets = self.sets_of(others, _ends(sizes))
        sets[largest] = self._all_nodes.copy()
        sets[largest].difference_update(map(self._nodes.__getitem__, others.tolist()))
        return sets

    def sets_of(self, numbers: Array, ends: Array) -> list[set[Any]]:
        """Return sets of the nodes with these numbers, divided at `ends`, the first of which is 0."""
        filled = fill_sets(self._addresses, numbers, ends)
        return list(map(set, pieces(self.nodes_of(numbers), ends))) if filled is None else filled

    # --- edges -------------------------------------------------------------------------------------------------------
    @property
    def num_arcs(self) -> int:
        """The number of entries in the adjacency: an undirected edge has two, a self-loop and parallel edges one."""
        return self.out_rows[1].size

    @cached_property
    def sources(self) -> Array:
        """`[E] int32`: the vertex that each entry of the adjacency belongs to."""
        offsets, targets = self.out_rows
        return np.repeat(np.arange(offsets.size - 1, dtype=targets.dtype), np.diff(offsets))

    @cached_property
    def loops(self) -> Array:
        """`[V] bool`: who has a self-loop."""
        loops = np.zeros(len(self), bool)
        loops[self.sources[self.sources == self.out_rows[1]]] = True
        return loops

    @cached_property
    def once(self) -> Array:
        """Positions in the adjacency of NetworkX's `edges()`, in its order: an undirected edge at the end met first."""
        if self.directed:
            return np.arange(self.num_arcs)
        return np.flatnonzero(self.sources <= self.out_rows[1])

    @cached_property
    def in_rows(self) -> Rows:
        """Rows of incoming edges, in the order of NetworkX's predecessors."""
        if not self.directed:
            return self.out_rows
        self._check_unchanged()
        return self._read_rows(dict_rows(self.original._pred))

    @cached_property
    def any_order_in_rows(self) -> Rows:
        """Rows of incoming edges with ascending neighbours, made of the outgoing ones."""
        if not self.directed:
            return self.out_rows
        return transpose(*self.out_rows, None, len(self))[:2]

    @cached_property
    def engine_graph(self) -> Graph:
        """The graph for algorithms of this library: NumPy arrays without weights, parallel edges as one."""
        return from_csr(*self.out_rows, directed=self.directed, runtime="numpy")

    @cached_property
    def simple_rows(self) -> Rows:
        """Rows without self-loops, neighbours ascending."""
        offsets, targets = transpose(*self.any_order_in_rows, None, len(self))[:2]
        if not self.loops.any():
            return offsets, targets
        kept = targets != np.repeat(np.arange(len(self)), np.diff(offsets))
        return np.concatenate([[0], np.cumsum(np.diff(offsets) - self.loops)]), targets[kept]

    @cached_property
    def simple_in_rows(self) -> Rows:
        """Rows of incoming edges without self-loops, neighbours ascending; `simple_rows` itself if undirected."""
        return transpose(*self.simple_rows, None, len(self))[:2] if self.directed else self.simple_rows

    @cached_property
    def both_rows(self) -> Rows:
        """Rows of the undirected graph without self-loops: neighbours ascending, each once."""
        if not self.directed:
            return self.simple_rows
        return merge_duplicates(*mirror_rows(*self.simple_rows, None), "first")[:2]

    @property
    def num_edges(self) -> int:
        """The number of edges of a graph without parallel edges."""
        return self.num_arcs if self.directed else (self.num_arcs + int(self.loops.sum())) // 2

    def out_degrees(self) -> Array:
        """Return the number of neighbours of every vertex, `[V] int64`; a self-loop counts once."""
        return np.diff(self.out_rows[0])

    def in_degrees(self) -> Array:
        """Return the number of predecessors of every vertex, `[V] int64`."""
        return np.bincount(self.out_rows[1], minlength=len(self)) if self.directed else self.out_degrees()

    def degrees(self) -> Array:
        """Return NetworkX's degrees `[V] int64`: incoming and outgoing, a self-loop counts twice."""
        return self.out_degrees() + (self.in_degrees() if self.directed else self.loops)

    # --- attributes --------------------------------------------------------------------------------------------------
    def weights(self, name: Any, default: Any = 1, along: str = "out") -> Array:
        """Return an edge attribute in the order of the adjacency: int64 if all are `int`, float64 if all are `float`.

        Others (mixed ones, NaN, ...) are left to NetworkX, and so are multigraphs. `along="in"`: as `in_rows`.
        """
        if name is None:
            return self._unit_weights
        key = (name, default, along if self.directed else "out")
        if key not in self._attributes:
            self._attributes[key] = self._read_weights(*key)
        return self._attributes[key]

    def rows(self, along: str) -> Rows:
        """Return `out_rows` or `in_rows`."""
        return self.out_rows if along == "out" else self.in_rows

    def packed_edges(self, name: Any, along: str) -> Array | None:
        """Return neighbours and weights in one array, see `pack_edges`, None if weights are not small whole numbers."""
        return self.kept(
            ("packed", name, along if self.directed else "out"),
            lambda: pack_edges(self.rows(along)[1], self.weights(name, along=along)),
        )

    def float_weights(self, name: Any) -> Array:
        """Return an edge attribute as float64 `[E]`; whole and other numbers may be mixed."""
        if name is None:
            return self._unit_weights.astype(np.float64)
        key = (name, 1, "float")
        if key not in self._attributes:
            self._attributes[key] = self._read_weights(name, 1, "out", mixed=True).astype(np.float64)
        return self._attributes[key]

    def incoming(self, weight: Any) -> WeightedRows:
        """Return rows of incoming edges with ascending neighbours, and their weights, None = all 1."""
        if weight not in self._ascending:
            weights = None if weight is None else self.float_weights(weight)
            if weights is not None and (weights == 1).all():
                weights = None
            self._ascending[weight] = transpose(*self.out_rows, weights, len(self))
        return self._ascending[weight]

    @cached_property
    def _unit_weights(self) -> Array:
        return np.ones(self.num_arcs, np.int64)

    def _read_weights(self, name: Any, default: Any, along: str, *, mixed: bool = False) -> Array:
        if self.multigraph:
            raise LeaveToNetworkX
        self._check_unchanged()
        rows = dict_rows(self.original._adj if along == "out" else self.original._pred)
        weights = rows.numbers(name, default, as_floats=mixed) if type(name) is str else None
        if weights is None or not _is_computable(weights):
            raise LeaveToNetworkX
        return weights

    def _check_unchanged(self) -> None:
        cache = self.original.__networkx_cache__
        if cache is not None and cache.get(BACKEND) is not self._marker:
            raise InvalidGraphError(["the NetworkX graph has changed since it was converted; convert it again"])

    def _read_rows(self, rows: DictRows) -> Rows:
        """Return rows of the numbers of neighbours."""
        neighbors = chain.from_iterable(rows.by_owner.values())
        if not self._numbering.distinct:
            return rows.offsets, np.fromiter(map(self.numbers.__getitem__, neighbors), np.int32)
        return rows.offsets, self._numbering.numbers_of(_hashes(rows.keys(), neighbors))


def _ends(sizes: Array) -> Array:
    """Return where parts of these sizes begin, one behind the other, with the end."""
    return np.concatenate([[0], np.cumsum(sizes)])


def dict_rows(adjacency: Mapping[Any, Any]) -> DictRows:
    """Return the rows of an adjacency; of a copy if it is not made of plain dictionaries, such as that of a view."""
    if type(adjacency) is dict:
        try:
            return DictRows(adjacency)
        except TypeError:
            pass
    return DictRows({node: dict(row.items()) for node, row in adjacency.items()})


def _is_computable(weights: Array) -> bool:
    """Say whether sums of weights are numbers, and whole ones fit into 64 bits."""
    if weights.dtype.kind == "f":
        return not np.isnan(weights).any()
    return bool(np.abs(weights.astype(float)).sum() <= MAX_SUM)


def _hashes(addresses: Array, objects: Iterable[Any]) -> Array:
    """Return the hashes of objects, in the place of their addresses; code of their own is called by Python."""
    hashes = hashes_of(addresses)
    return np.fromiter(map(hash, objects), np.int64, addresses.size) if hashes is None else hashes


def pieces(items: list[Any], ends: Array) -> Iterator[list[Any]]:
    """Yield the parts of a list that lie between consecutive `ends`, the first of which is 0.

    >>> list(pieces(["a", "b", "c"], np.array([0, 2, 3])))
    [['a', 'b'], ['c']]
    """
    return (items[begin:end] for begin, end in pairwise(ends.tolist()))
