"""A graph that changes and the results that are kept current with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.algorithms.bfs import BFS
from tgraph.algorithms.katz import Katz
from tgraph.algorithms.pagerank import StandingPageRank
from tgraph.algorithms.php import PHP
from tgraph.algorithms.sssp import SSSP
from tgraph.algorithms.wcc import WCC
from tgraph.engine.kept import KeptProgram
from tgraph.engine.streaming import keep
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Applied, Batch, DynamicGraph, Graph
from tgraph.program import Program
from tgraph.results import Result, Trace
from tgraph.runtime import Array


def _pagerank(
    graph: DynamicGraph, damping: float = 0.85, tol_l1: float = 1e-6, personalization: Mapping[Any, float] | None = None
) -> Program:
    def find_jumps(_: Graph) -> Array:
        if personalization is None:
            shares = (~graph.removed).astype(np.float64)
        else:
            shares = np.zeros(graph.num_places)
            shares[[graph.vertex_of(label) for label in personalization]] = list(personalization.values())
            shares[graph.removed] = 0.0
        return shares / max(shares.sum(), np.finfo(np.float64).tiny)

    return StandingPageRank(damping, tol_l1, find_jumps)


def _php(graph: DynamicGraph, source: Any, damping: float = 0.8, tol_l1: float = 1e-6) -> Program:
    return PHP(graph.vertex_of(source), damping, tol_l1)


def _katz(graph: DynamicGraph, alpha: float, beta: float = 1.0, tol_l1: float = 1e-6) -> Program:
    return Katz(alpha, beta, tol_l1)


PROGRAMS: dict[str, Callable[..., Program]] = {
    "bfs": lambda graph, source: BFS(graph.vertex_of(source)),
    "sssp": lambda graph, source: SSSP(graph.vertex_of(source)),
    "wcc": lambda graph: WCC(),
    "pagerank": _pagerank,
    "php": _php,
    "katz": _katz,
}


@dataclass(frozen=True)
class ResultChange:
    """What a batch did to one kept result: the vertices whose value changed, by the user's ids."""

    ids: Array
    old: Array  # before; for a new vertex that with which it begins
    new: Array
    trace: Trace

    def __len__(self) -> int:
        return int(self.ids.size)


@dataclass(frozen=True)
class Update:
    """What a batch did to the graph and to every kept result."""

    applied: Applied
    changes: dict[str, ResultChange]
    seconds: dict[str, float]  # of the graph, and of every result by name

    def __repr__(self) -> str:
        changed = [f"{name}: {len(change):,} changed" for name, change in self.changes.items()]
        return f"Update({', '.join([repr(self.applied), *changed])})"


class KeptResult:
    """A result that is kept current; `result()` gives it as of now."""

    def __init__(self, name: str, kept: KeptProgram) -> None:
        self.name, self._kept = name, kept

    @property
    def how(self) -> str:
        """How it is kept: `monotonic`, `accumulative`, or `recomputed` after every batch."""
        return self._kept.how

    @property
    def reason(self) -> str:
        """Why it is recomputed; empty if it is not."""
        return self._kept.reason

    def result(self) -> Result:
        """Return the values as of now, on a snapshot of the graph; later batches do not disturb them."""
        kept, snapshot = self._kept, self._kept.graph.snapshot()
        places = np.flatnonzero(~kept.graph.removed)
        vertex_fields = tuple(name for name in kept.program.vertex_fields)
        numbers = np.cumsum(~kept.graph.removed) - 1  # of places in the snapshot
        fields = {}
        for name, array in kept.finished().items():
            values = array[places]
            if name in vertex_fields and places.size < array.size:
                values = np.where(values < 0, values, numbers[values]).astype(array.dtype)
            fields[name] = snapshot.runtime.asarray(values.copy())
        return Result(self.name, snapshot, fields, Trace("streaming"), True, None, vertex_fields)

    def update(self, applied: Applied) -> ResultChange:
        """Make it current after a batch, and say what changed."""
        changes, graph = self._kept.update(applied), self._kept.graph
        labels = graph.labels
        ids = changes.vertices if labels is None else labels[changes.vertices]
        return ResultChange(ids, self._kept.shown(changes.old), self._kept.shown(changes.new), changes.trace)

    def __getitem__(self, label: Any) -> Any:
        """Return the value of the vertex with this id."""
        return self.result()[label]

    def __repr__(self) -> str:
        return f"KeptResult({self.name}, {self.how}{': ' + self.reason if self.reason else ''})"


class Stream:
    """A graph that changes, and results that stay current. Made by `tgraph.stream`."""

    def __init__(self, graph: DynamicGraph) -> None:
        self.graph = graph
        self.results: dict[str, KeptResult] = {}

    def keep(self, what: str | Program, *, name: str | None = None, **parameters: Any) -> KeptResult:
        """Compute a result, and keep it current with every batch.

        Args:
            what: The name of an algorithm (`bfs`, `sssp`, `wcc`, `pagerank`, `php`, `katz`), or a program.
            name: How it is called in `results` and `Update.changes`; the algorithm's name unless given.
            parameters: Those of the algorithm, such as `source`.
        """
        if isinstance(what, str) and what not in PROGRAMS:
            known = ", ".join(repr(one) for one in PROGRAMS)
            raise InvalidArgumentError(f"{what!r} is not known; use one of {known}, or a program of your own")
        title = name or (what if isinstance(what, str) else type(what).__name__)
        if title in self.results:
            raise InvalidArgumentError(f"{title!r} is kept already; give another name=")
        program = PROGRAMS[what](self.graph, **parameters) if isinstance(what, str) else what
        self.results[title] = KeptResult(title, keep(program, self.graph))
        return self.results[title]

    def apply(self, batch: Batch | None = None, **changes: Any) -> Update:
        """Apply a batch, or what `tgraph.Batch` takes, to the graph and to all that is kept; say what changed."""
        started = time.perf_counter()
        applied = self.graph.apply(batch, **changes)
        seconds, changed = {"graph": time.perf_counter() - started}, {}
        for name, result in self.results.items():
            started = time.perf_counter()
            changed[name] = result.update(applied)
            seconds[name] = time.perf_counter() - started
        return Update(applied, changed, seconds)

    def __getitem__(self, name: str) -> KeptResult:
        return self.results[name]

    def __repr__(self) -> str:
        kept = ", ".join(repr(result) for result in self.results.values())
        return f"Stream({self.graph!r}{', ' + kept if kept else ''})"


def stream(graph: DynamicGraph | Graph) -> Stream:
    """Return a stream on a graph: apply batches to it, and keep results current.

    >>> import tgraph as tg
    >>> roads = tg.stream(tg.from_edges(["a", "b", "a"], ["b", "c", "c"], [1.0, 1.0, 5.0]))
    >>> nearest = roads.keep("sssp", source="a")
    >>> nearest["c"]
    2.0
    >>> update = roads.apply(delete=(["b"], ["c"]))
    >>> change = update.changes["sssp"]
    >>> change.ids.tolist(), change.old.tolist(), change.new.tolist()
    (['c'], [2.0], [5.0])
    """
    return Stream(graph if isinstance(graph, DynamicGraph) else DynamicGraph(graph))
