"""A graph that changes: rows with gaps, in both directions, and the user's ids."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.config import config
from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError, VertexNotFoundError, check_choice, check_graph
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.batch import Batch
from tgraph.graph.build import from_edges
from tgraph.graph.far_edges import FarEdges
from tgraph.graph.graph import Graph
from tgraph.graph.growing_labels import GrowingLabels
from tgraph.graph.prepared import Arcs, NamedBatch, Prepared, refuse_unknown, stored_weights
from tgraph.kernels.cpu.arc_batches import collect_arcs
from tgraph.kernels.cpu.arc_changes import EXISTS, MISSING, count_outcomes
from tgraph.kernels.cpu.csr import count_distinct, transpose
from tgraph.kernels.cpu.gapped_rows import ArcChanges, GappedRows, Mutations, grown
from tgraph.kernels.cpu.hot_subgraph import HotSubgraph
from tgraph.kernels.cpu.team import run_team
from tgraph.runtime import Array

EXISTING = ("ignore", "replace", "error")
MISSING_EDGES = ("ignore", "error")
BYTES_PER_ROW = 20  # places and capacities
WORTH_A_THREAD = 4000  # changes: with fewer, incoming rows come after outgoing ones
MOST_VERTICES = 2**31  # beyond these, numbers would need cells of 8 bytes


@dataclass(frozen=True)
class Applied:
    """What a batch did to a graph: how many edges and vertices changed, and how many changes came to nothing."""

    inserted: int
    deleted: int
    changed: int  # weights
    existing: int  # to insert, but there already
    missing: int  # to delete or change, but not there
    vertices_added: int
    vertices_removed: int
    arcs: ArcChanges
    """Every stored direction that went or came, by vertex number."""

    def __repr__(self) -> str:
        names = ("inserted", "deleted", "changed", "existing", "missing", "vertices_added", "vertices_removed")
        return f"Applied({', '.join(f'{name}={getattr(self, name):,}' for name in names if getattr(self, name))})"


class DynamicGraph:
    """A graph whose edges come and go in batches.

    Both directions are kept (an undirected graph has them in one), at 20 bytes per vertex and, for every stored edge,
    its neighbour, its weight and about a quarter more for gaps. `snapshot` gives a `Graph` that does not change.

    Args:
        graph: What to begin with; None = an empty graph.
        directed: For an empty graph.
        weighted: For an empty graph: weights are float64.
        multi_edges: Whether several edges may lead from one vertex to another. Deleting takes the lightest then.
        existing: What becomes of an edge to insert that is there already: `ignore` it, `replace` its weight, or raise
            an `error` and change nothing. Either way they are counted.
        missing: What becomes of an edge to delete or change that is not there: `ignore` or `error`.
        memory: Bytes of near memory, or a text such as `"256MiB"`, for vertex data, kept results and the rows that are
            read most often; edges are in mapped files then. None = edges are in memory too.
        folder: With `memory`, where these files are; they are removed with the graph. None = a temporary folder.
        hot: With `memory`, whether rows that are read often stay near, or at most how many bytes of them.

    >>> import tgraph as tg
    >>> graph = tg.DynamicGraph(tg.from_edges(["ann", "bob"], ["bob", "cy"]))
    >>> graph.apply(insert=(["cy", "dan"], ["ann", "ann"]), delete=(["ann", "bob"], ["bob", "ann"]))
    Applied(inserted=2, deleted=1, missing=1, vertices_added=1)
    >>> graph
    DynamicGraph(4 vertices, 3 edges, directed, unweighted, labelled)
    >>> graph.snapshot().edges()[:2]
    (array(['bob', 'cy', 'dan'], dtype=StringDType()), array(['cy', 'ann', 'ann'], dtype=StringDType()))
    """

    def __init__(
        self,
        graph: Graph | None = None,
        *,
        directed: bool = True,
        weighted: bool = False,
        multi_edges: bool = False,
        existing: str = "ignore",
        missing: str = "ignore",
        memory: int | str | None = None,
        folder: str | os.PathLike[str] | None = None,
        hot: bool | int | str = True,
    ) -> None:
        check_choice("existing", existing, EXISTING)
        check_choice("missing", missing, MISSING_EDGES)
        if graph is None:
            weights = np.empty(0, np.float64) if weighted else None
            graph = from_edges([], [], weights, directed, num_vertices=0, runtime="numpy")
        check_graph(graph)
        self.directed, self.weighted, self.multi_edges = graph.directed, graph.weighted, multi_edges
        self.existing, self.missing = existing, missing
        self.version = 0  # batches so far
        self._runtime = graph.runtime
        self._labels = GrowingLabels(graph.vertex_labels, graph.num_vertices)
        self._far = None if memory is None else FarEdges(memory, folder, hot)
        new_cells: Callable[[int, np.dtype[Any]], Array] = np.empty
        if self._far is not None:
            self._far.take("vertex data", BYTES_PER_ROW * (2 if graph.directed else 1) + 1)
            self._far.resize(graph.num_vertices, self._label_bytes)
            new_cells = self._far.arrays.new
        rows = _ascending(graph, multi_edges)
        self._out = GappedRows(*rows, multi_edges, new_cells)
        self._in = self._out
        if graph.directed:
            self._in = GappedRows(*graph.adjacency("in").to_numpy(), multi_edges, new_cells)
        self._removed, self._num_removed = np.zeros(graph.num_vertices, np.bool_), 0
        self._num_edges = graph.num_edges
        self._snapshot: tuple[int, Graph] | None = None  # with its version
        self._vertices: Graph | None = None  # without edges

    # --- size --------------------------------------------------------------------------------------------------------
    @property
    def num_vertices(self) -> int:
        """The number of vertices, isolated ones included."""
        return self._labels.count - self._num_removed

    @property
    def num_edges(self) -> int:
        """The number of edges as the user counts them: an undirected edge once."""
        return self._num_edges

    @property
    def memory_bytes(self) -> int:
        """The bytes of rows in use, in both directions, and of labels; without edges that are far."""
        rows = sum(rows.vertex_bytes if self._far else rows.memory_bytes for rows in self._sides)
        return rows + self._removed.nbytes + self._label_bytes

    @property
    def far_bytes(self) -> int:
        """The bytes of edges in use that are far."""
        return sum(rows.cell_bytes for rows in self._sides) if self._far else 0

    def __repr__(self) -> str:
        words = [
            f"{self.num_vertices:,} vertices",
            f"{self.num_edges:,} edges",
            "directed" if self.directed else "undirected",
            "weighted" if self.weighted else "unweighted",
            *(["labelled"] if self._labels.array is not None else []),
        ]
        return f"DynamicGraph({', '.join(words)})"

    # --- for engines -------------------------------------------------------------------------------------------------
    @property
    def num_places(self) -> int:
        """The number of rows: vertices, and those that were removed, whose numbers are not used for others."""
        return self._labels.count

    @property
    def labels(self) -> Array | None:
        """The user's ids in the order of vertex numbers, those of removed vertices too; None = the numbers."""
        return self._labels.array

    @property
    def removed(self) -> Array:
        """Which vertices were removed, `[num_places] bool`."""
        return self._removed

    @property
    def far(self) -> FarEdges | None:
        """What there is beside far edges; None = edges are near."""
        return self._far

    @property
    def _sides(self) -> list[GappedRows]:
        return [self._out, self._in] if self.directed else [self._out]

    @property
    def _label_bytes(self) -> int:
        labels = self._labels.array
        return 0 if labels is None else int(labels.nbytes)

    def watch_rows(self, weighted: bool) -> HotSubgraph | None:
        """Return the hot subgraph, which counts what is read of far rows; None = edges are near."""
        return None if self._far is None else self._far.watch(self._sides, weighted)

    def gapped(self, direction: str) -> GappedRows:
        """Return the rows of outgoing (`"out"`) or incoming (`"in"`) edges."""
        check_choice("direction", direction, ("out", "in"))
        return self._out if direction == "out" else self._in

    def all_weights(self) -> Array | None:
        """Return the weights of all stored edges, in any order, or None."""
        return self._out.rows()[2]

    def vertex_of(self, label: Any) -> int:
        """Return the number of the vertex with this id."""
        number = self.vertices().vertex_of(label)
        if self._removed[number]:
            raise VertexNotFoundError(f"vertex {label!r} was removed from the graph; add it again or use another")
        return number

    def vertices(self) -> Graph:
        """Return a graph of all places without any edge."""
        count = self.num_places
        if self._vertices is None or self._vertices.num_vertices != count:
            no_edges = np.empty(0, index_dtype(count))
            weights = np.empty(0, self._out.weights.dtype) if self.weighted else None
            rows = Adjacency(runtimes.get("numpy"), np.zeros(count + 1, np.int64), no_edges, weights)
            self._vertices = Graph(rows, directed=self.directed, num_edges=0, labels=self.labels, is_sorted=True)
        return self._vertices

    # --- graphs that do not change -----------------------------------------------------------------------------------
    def snapshot(self) -> Graph:
        """Return the graph as it is now; later batches do not disturb it. Kept until the next batch."""
        if self._snapshot is None or self._snapshot[0] != self.version:
            self._snapshot = self.version, self.to_graph()
        return self._snapshot[1]

    def snapshot_of_vertices(self) -> Graph:
        """Return `snapshot()`; where edges are far, the graph as it is now without edges."""
        if self._far is None:
            return self.snapshot()
        return self._without_removed(self.vertices(), None, None)

    def to_graph(self, runtime: str | None = None, device: str | None = None) -> Graph:
        """Return a new `Graph` as it is now, on the runtime of the graph that this one began with unless told."""
        return self._without_removed(self.all_places(), runtime, device)

    def _without_removed(self, graph: Graph, runtime: str | None, device: str | None) -> Graph:
        if self._num_removed:
            graph = graph.subgraph(graph.labels_of(np.flatnonzero(~self._removed)))
        return graph.to(runtime or self._runtime.name, device or self._runtime.device)

    def all_places(self) -> Graph:
        """Return the graph as it is now with all its rows, where a removed vertex is an isolated one."""
        host = runtimes.get("numpy")
        reverse = Adjacency(host, *self._in.rows()) if self.directed else None
        out = Adjacency(host, *self._out.rows())
        return Graph(
            out,
            directed=self.directed,
            num_edges=self._num_edges,
            labels=self.labels,
            is_sorted=True,
            reverse=reverse,
        )

    # --- changes -----------------------------------------------------------------------------------------------------
    def apply(self, batch: Batch | None = None, **changes: Any) -> Applied:
        """Apply a batch, or what `Batch` takes: `insert`, `delete`, `change`, `add_vertices`, `remove_vertices`.

        Where an error is raised, nothing has changed.
        """
        return self.commit(self.prepare(batch, **changes))

    def prepare(self, batch: Batch | None = None, **changes: Any) -> Prepared:
        """Return a batch by vertex number for `commit`, or raise what `apply` would; nothing changes yet."""
        if batch is not None and changes:
            raise InvalidArgumentError("batch and further keywords were given; give the one or the others")
        batch = Batch(**changes) if batch is None else batch
        if self.multi_edges and batch.change[0].size:
            raise InvalidArgumentError("change needs a graph without parallel edges; delete and insert them instead")
        named = self._number(batch)
        num_places = self.num_places + named.num_new
        if num_places > MOST_VERTICES and self._out.neighbors.itemsize == 4:
            raise InvalidArgumentError(
                f"the graph would have {num_places:,} vertices, and its neighbours are stored in 4 bytes, enough for "
                f"{MOST_VERTICES:,}; begin with a graph that has more than these"
            )
        arcs = self._arcs(batch, named)
        outgoing = None
        if self.missing == "error":
            refuse_unknown(batch, named)
        if "error" in (self.existing, self.missing):
            outgoing = arcs.in_order("out", num_places)
            self._refuse(named, arcs, self._out.find(outgoing, self.existing == "replace"))
        if self._far is not None and named.num_new:
            bytes_per_label = self._label_bytes / max(self.num_places, 1)
            label_bytes = self._label_bytes + max(int(bytes_per_label * named.num_new), named.new_labels.nbytes)
            self._far.check(num_places, label_bytes if self.labels is not None else 0)
        return Prepared(named, arcs, outgoing, self.version)

    def commit(self, prepared: Prepared) -> Applied:
        """Apply a batch that was prepared since the last change."""
        if prepared.version != self.version:
            num_since = self.version - prepared.version
            raise InvalidArgumentError(
                f"{num_since} batches were applied since this one was prepared; prepare it again"
            )
        named, arcs = prepared.named, prepared.arcs
        num_added = self._commit_vertices(named)
        changed = self._apply_to_sides(arcs, prepared.outgoing)
        if self._far is not None:
            self._far.follow(changed)
        self.version += 1
        return self._report(changed[0], arcs, named, num_added)

    def _number(self, batch: Batch) -> NamedBatch:
        """Turn ids into numbers: new ones get the next numbers if edges to insert or vertices to add have them."""
        inserted, new_labels = self._labels.number([batch.add_vertices, *batch.insert[:2]])
        deleted = [self._labels.find(column) for column in batch.delete[:2]]
        changed = [self._labels.find(column) for column in batch.change[:2]]
        gone = self._labels.find(batch.remove_vertices)
        is_there = gone >= 0
        if gone.size:
            is_there[is_there] = ~self._removed[gone[is_there]]
            gone = np.unique(gone[is_there])
        return NamedBatch(inserted[0], inserted[1:], deleted, changed, gone, ~is_there, new_labels)

    def _arcs(self, batch: Batch, named: NamedBatch) -> Arcs:
        """Return all mutations by number: edges of removed vertices go first, then what the batch says."""
        dtype = self._out.weights.dtype if self.weighted else None
        weights = [stored_weights(edges, dtype) for edges in (batch.change, batch.insert)]
        no_cells = np.empty(0, np.uint32 if self.num_places + named.num_new < MOST_VERTICES else np.uint64)
        ends = *self._arcs_of(named.gone), *named.deleted, *named.changed, weights[0], *named.inserted, weights[1]
        return Arcs(*collect_arcs(*ends, no_cells, self.directed, self.weighted))

    def _arcs_of(self, vertices: Array) -> list[Array]:
        """Return all edges that begin or end at some vertices, by number."""
        out = self._out.arcs_of(vertices) if vertices.size else (vertices, vertices)
        if not self.directed or not vertices.size:
            return list(out)
        targets, sources = self._in.arcs_of(vertices)
        return [np.concatenate([out[0], sources]), np.concatenate([out[1], targets])]

    def _refuse(self, named: NamedBatch, arcs: Arcs, outcomes: Array) -> None:
        """Raise if an edge exists or is missing and that is an error."""
        given = outcomes[arcs.num_gone : arcs.num_edges]
        for word, policy, code, verb in (
            ("existing", self.existing, EXISTS, "insert is there already"),
            ("missing", self.missing, MISSING, "delete or change is not there"),
        ):
            wrong = np.flatnonzero(given == code) + arcs.num_gone
            if policy == "error" and wrong.size:
                edge = [self._label_of(int(ends[wrong[0]]), named) for ends in (arcs.sources, arcs.targets)]
                raise InvalidArgumentError(
                    f"the edge {edge[0]!r} to {edge[1]!r} to {verb} and {word}='error'; use 'ignore' to skip such edges"
                )

    def _label_of(self, number: int, named: NamedBatch) -> Any:
        """Return the user's id of a vertex, which may be one that a batch brings."""
        if number < self.num_places:
            return self.vertices().labels_of(np.array([number])).tolist()[0]
        return named.new_labels[number - self.num_places : number - self.num_places + 1].tolist()[0]

    def _commit_vertices(self, named: NamedBatch) -> int:
        """Add and remove vertices; return how many are there that were not."""
        if named.num_new:
            self._labels.add(named.new_labels)
            self._removed = grown(self._removed, named.num_new)
            for rows in self._sides:
                rows.add_vertices(named.num_new)
            if self._far is not None:
                self._far.resize(self.num_places, self._label_bytes)
        self._removed[named.gone] = True
        self._num_removed += named.gone.size
        if not self._num_removed:
            return named.num_new
        used = np.unique(np.concatenate([named.added, *named.inserted]))
        back = used[self._removed[used]]
        self._removed[back] = False
        self._num_removed -= back.size
        return named.num_new + int(back.size)

    def _apply_to_sides(self, arcs: Arcs, outgoing: Mutations | None) -> list[ArcChanges]:
        """Change outgoing rows and, beside them, incoming ones, which come to the same outcomes by themselves."""
        changed: list[Any] = [None] * len(self._sides)

        def apply(rank: int, size: int) -> None:
            share = max(config.num_threads // size, 1)
            for side in range(rank, len(changed), size):
                ordered = outgoing
                if side or ordered is None:
                    ordered = arcs.in_order("in" if side else "out", self.num_places)
                changed[side] = self._sides[side].apply(ordered, self.existing == "replace", share)

        is_worth_it = arcs.kinds.size >= WORTH_A_THREAD and config.num_threads > 1
        run_team(apply, len(changed) if is_worth_it else 1)
        return changed

    def _report(self, changed: ArcChanges, arcs: Arcs, named: NamedBatch, num_added: int) -> Applied:
        """Count what was done, and count the edges anew."""
        for sign, (sources, targets, _) in ((-1, changed.removed), (1, changed.added)):
            num_edges = sources.size if self.directed else int(np.count_nonzero(sources <= targets))
            self._num_edges += sign * num_edges
        gone, deleted, weights_changed, inserted, existing, missing = count_outcomes(
            changed.outcomes, arcs.kinds, arcs.num_gone, arcs.num_edges
        ).tolist()
        num_missing = missing + arcs.num_unknown + int(np.count_nonzero(named.is_missing))
        return Applied(
            inserted=inserted,
            deleted=deleted + gone,
            changed=weights_changed,
            existing=existing,
            missing=num_missing,
            vertices_added=num_added,
            vertices_removed=named.gone.size,
            arcs=changed,
        )


def _ascending(graph: Graph, multi_edges: bool) -> tuple[Array, Array, Array | None]:
    """Return the rows of a graph in ascending order."""
    rows = graph.adjacency("out").to_numpy()
    if not graph.is_sorted:
        rows = transpose(*transpose(*rows, graph.num_vertices), graph.num_vertices)
    num_repeats = 0 if multi_edges else rows[1].size - count_distinct(*rows[:2])
    if num_repeats:
        raise InvalidArgumentError(
            f"graph has {num_repeats} stored edges that repeat another one; use graph.simplify() or multi_edges=True"
        )
    return rows
