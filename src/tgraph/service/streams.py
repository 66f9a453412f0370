"""A graph that changes and the results that are kept current with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
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
from tgraph.graph.dynamic import Prepared
from tgraph.kernels.cpu.team import interrupts_postponed
from tgraph.program import Program
from tgraph.results import Result, Trace
from tgraph.runtime import Array
from tgraph.service.recovery import Durable, open_folder


def check_lengths(weights: Array | None) -> None:
    """Raise unless all weights are 0 or more, as shortest paths need them."""
    if weights is None or not weights.size:
        return
    wrong = np.flatnonzero(~(weights >= 0))
    if wrong.size:
        raise InvalidArgumentError(
            f"weights holds {weights[wrong[0]]}; sssp is kept, which needs weights of 0 or more, use inf to bar an edge"
        )


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
    is_repeated: bool = False  # the batch was there already, by its token: only `applied` says what it did

    def __repr__(self) -> str:
        changed = [f"{name}: {len(change):,} changed" for name, change in self.changes.items()]
        return f"Update({', '.join([repr(self.applied), *changed])})"


class KeptResult:
    """A result that is kept current; `result()` gives it as of now."""

    def __init__(self, name: str, kept: KeptProgram, needs_lengths: bool = False) -> None:
        self.name, self._kept = name, kept
        self.needs_lengths = needs_lengths  # weights must be 0 or more

    @property
    def how(self) -> str:
        """How it is kept: `monotonic`, `accumulative`, or `recomputed` after every batch."""
        return self._kept.how

    @property
    def reason(self) -> str:
        """Why it is recomputed; empty if it is not."""
        return self._kept.reason

    def result(self) -> Result:
        """Return the values as of now, on a snapshot of the graph; later batches do not disturb them.

        Where edges are far, the graph of the result has its vertices only.
        """
        kept, snapshot = self._kept, self._kept.graph.snapshot_of_vertices()
        places = np.flatnonzero(~kept.graph.removed)
        vertex_fields = kept.vertex_fields
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
        self._durable: Durable | None = None

    @property
    def version(self) -> int:
        """The number of batches that were applied; with a journal, since it was made."""
        return self.graph.version

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
        if what == "sssp":
            check_lengths(self.graph.all_weights())
        result = KeptResult(title, keep(program, self.graph), needs_lengths=what == "sssp")
        if self._durable is not None:
            self._durable.keep(title, what, parameters)
        self.results[title] = result
        return result

    def apply(self, batch: Batch | None = None, *, token: str | None = None, **changes: Any) -> Update:
        """Apply a batch, or what `tgraph.Batch` takes, to the graph and to all that is kept; say what changed.

        With a journal (`tgraph.stream.open`) the batch is on the disk when this returns. Where the batch is refused, or
        the journal cannot be written, an error is raised and nothing has changed.

        Args:
            batch: The batch.
            token: With a journal: a name of the batch. One that was applied before, among the last million, is
                not applied again; the `applied` of the update says what it did then.
            changes: What `tgraph.Batch` takes.
        """
        if batch is not None and changes:
            raise InvalidArgumentError("batch and further keywords were given; give the one or the others")
        batch = Batch(**changes) if batch is None else batch
        if self._durable is None:
            if token is not None:
                raise InvalidArgumentError(f"token={token!r} needs a journal; use tgraph.stream.open")
            return self._apply(*self._prepare(batch))
        content = self._durable.encode(batch)
        known = self._durable.find(content, token)
        if known is not None:
            return Update(known, {}, {}, is_repeated=True)
        prepared, seconds = self._prepare(batch)
        with self._durable.recording(self.graph, content, token):
            update = self._apply(prepared, seconds)
        self._durable.applied(self.graph, update.applied, token)
        return update

    def close(self) -> None:
        """With a journal: let others open it. A stream that is not closed, or was killed, loses nothing."""
        if self._durable is not None:
            self._durable.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _prepare(self, batch: Batch) -> tuple[Prepared, float]:
        """Return a batch that nothing speaks against, and the seconds to find that out."""
        started = time.perf_counter()
        if any(result.needs_lengths for result in self.results.values()):
            for edges in (batch.insert, batch.change):
                check_lengths(edges[2])
        return self.graph.prepare(batch), time.perf_counter() - started

    def _apply(self, prepared: Prepared, seconds_before: float) -> Update:
        """Apply a batch to the graph and to all that is kept."""
        with interrupts_postponed():  # Ctrl-C acts when the graph and all results are of one batch
            started = time.perf_counter()
            applied = self.graph.commit(prepared)
            seconds, changed = {"graph": seconds_before + time.perf_counter() - started}, {}
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


class StreamMaker:
    """Makes streams: `tgraph.stream(graph)` in memory, `tgraph.stream.open(folder)` with a journal on the disk."""

    def __call__(self, graph: DynamicGraph | Graph) -> Stream:
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

    def open(
        self,
        folder: str | PathLike[str],
        graph: Graph | None = None,
        *,
        snapshot_every: int | str | None = "auto",
        repair: bool = False,
        **options: Any,
    ) -> Stream:
        """Open the stream whose journal is in a folder, or begin one there.

        A batch is written to the journal, and has reached the disk, before it is applied in memory and `apply` returns.
        After a crash at any point the stream opens as it was after the last batch that `apply` returned for; a batch in
        whose middle it crashed is there whole or not at all, and `version`, the number of batches, says which. Give
        batches a `token` to send them again without harm. A batch that is refused, or that the disk has no room for,
        leaves journal and memory as they were. (If the disk itself reports an error and the process is killed right
        after, a batch that was refused may be there; `version` says so.)

        One process at a time has the folder open. Whatever is damaged or missing there is an error that names the file.

        Args:
            folder: Where the journal is; it is made if it does not exist.
            graph: What a new stream begins with, None = an empty graph. Not used where there is a journal already.
            snapshot_every: After how many batches the graph is written as a whole, so that opening takes less long and
                older batches can be removed. `"auto"`: when the batches since are larger than the graph. None: never.
            repair: Where the last snapshot is damaged or missing: go back to the one before. Nothing is lost by that.
            **options: Of a new stream, as `DynamicGraph` has them: `directed`, `weighted`, `multi_edges`, `existing`,
                `missing`. The journal knows them afterwards.

        What is kept by the name of an algorithm is computed again at opening; programs must be kept again. Ids are
        integers or strings.

        >>> import tempfile, tgraph as tg
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with tg.stream.open(folder, weighted=True) as roads:
        ...         _ = roads.apply(insert=(["a", "b"], ["b", "c"], [1.0, 2.0]), token="monday")
        ...         _ = roads.keep("sssp", source="a")
        ...     with tg.stream.open(folder) as roads:
        ...         nearest = roads["sssp"]
        ...         roads.version, nearest["c"]
        ...         roads.apply(insert=(["a", "b"], ["b", "c"], [1.0, 2.0]), token="monday").is_repeated
        (1, 3.0)
        True
        """
        dynamic, kept, durable = open_folder(folder, graph, snapshot_every, repair, options)
        try:
            made = Stream(dynamic)
            for note in kept:
                made.keep(note.what, name=note.name, **note.parameters)
        except BaseException:
            durable.close()
            raise
        made._durable = durable
        return made


stream = StreamMaker()
