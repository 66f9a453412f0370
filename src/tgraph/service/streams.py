"""A graph that changes and the results that are kept current with it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from tgraph.engine.kept import KeptProgram
from tgraph.engine.streaming import keep
from tgraph.errors import InvalidArgumentError, check_graph, check_program
from tgraph.graph import Applied, Batch, DynamicGraph, Graph
from tgraph.graph.prepared import Prepared
from tgraph.kernels.cpu.team import interrupts_postponed
from tgraph.program import Program
from tgraph.results import Result, Trace
from tgraph.runtime import Array
from tgraph.service.kept_programs import check_lengths, make_program
from tgraph.service.recovery import Durable, open_folder


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
    failed: dict[str, Exception]  # results that this batch could not make current, and why
    is_repeated: bool = False  # the batch was there already, by its token: only `applied` says what it did

    def __repr__(self) -> str:
        changed = [f"{name}: {len(change):,} changed" for name, change in self.changes.items()]
        failed = [f"{name}: failed" for name in self.failed]
        return f"Update({', '.join([repr(self.applied), *changed, *failed])})"


class KeptResult:
    """A result that is kept current; `result()` gives it as of now."""

    def __init__(self, name: str, kept: KeptProgram, needs_lengths: bool = False) -> None:
        self.name, self._kept = name, kept
        self.needs_lengths = needs_lengths  # weights must be 0 or more
        self.failure: Exception | None = None  # why it is not current

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
        self._check_current()
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
        """Make it current after a batch, and say what changed. If that fails, it is of no use any more."""
        try:
            changes = self._kept.update(applied)
        except Exception as failure:
            self.failure = failure
            raise
        ids = self._kept.graph.vertices().labels_of(changes.vertices)
        count = changes.vertices.size
        shown = self._shown(np.concatenate([changes.old, changes.new]))  # for few values calls cost most
        return ResultChange(ids, shown[:count], shown[count:], changes.trace)

    def __getitem__(self, label: Any) -> Any:
        """Return the value of the vertex with this id."""
        self._check_current()
        number = self._kept.graph.vertex_of(label)
        return self._shown(self._kept.values[[number]]).tolist()[0]

    def _shown(self, values: Array) -> Array:
        """Return values as the result shows them, vertices by the user's ids."""
        name, shown = self._kept.shown(values)
        return self._kept.graph.vertices().labels_of(shown) if name in self._kept.vertex_fields else shown

    def _check_current(self) -> None:
        if self.failure is not None:
            raise InvalidArgumentError(
                f"{self.name!r} is not current since a batch failed ({self.failure}); drop it and keep it again"
            )

    def __repr__(self) -> str:
        how = "failed" if self.failure is not None else self.how
        return f"KeptResult({self.name}, {how}{': ' + self.reason if self.reason else ''})"


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
        if "source" in parameters:
            self.graph.vertex_of(parameters["source"])  # one that was removed later is an isolated vertex
        result = self._compute(what, name, parameters)
        if self._durable is not None:
            self._durable.keep(result.name, what, parameters)
        self.results[result.name] = result
        return result

    def _compute(self, what: str | Program, name: str | None, parameters: dict[str, Any]) -> KeptResult:
        """Compute a result that can be kept."""
        if not isinstance(what, str):
            check_program(what)
        if not isinstance(what, str) and parameters:
            raise InvalidArgumentError(
                f"{next(iter(parameters))}= was given for a program, which has its own parameters"
            )
        title = name or (what if isinstance(what, str) else type(what).__name__)
        if title in self.results:
            raise InvalidArgumentError(f"{title!r} is kept already; give another name=, or drop it")
        program = make_program(what, self.graph, parameters) if isinstance(what, str) else what
        return KeptResult(title, keep(program, self.graph), needs_lengths=what == "sssp")

    def drop(self, name: str) -> None:
        """Keep a result no longer."""
        dropped = self[name]
        if self._durable is not None:
            self._durable.drop(dropped.name)
        del self.results[dropped.name]

    def apply(self, batch: Batch | None = None, *, token: str | None = None, **changes: Any) -> Update:
        """Apply a batch, or what `tgraph.Batch` takes, to the graph and to all that is kept; say what changed.

        A result that cannot be made current (its values do not settle, or memory is too small) is named in `failed` and
        in a warning; the graph and the other results are current all the same.

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
            update = self._apply(*self._prepare(batch))
            _warn(update)
            return update
        content = self._durable.encode(batch)
        known = self._durable.find(content, token)
        if known is not None:
            return Update(known, {}, {}, {}, is_repeated=True)
        prepared, seconds = self._prepare(batch)
        with self._durable.recording(self.graph, content, token):
            update = self._apply(prepared, seconds)
        self._durable.applied(self.graph, update.applied, token)
        _warn(update)
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
            failed: dict[str, Exception] = {}
            for name, result in self.results.items():
                if result.failure is not None:
                    continue
                started = time.perf_counter()
                try:
                    changed[name] = result.update(applied)
                except Exception as failure:
                    failed[name] = failure
                seconds[name] = time.perf_counter() - started
        return Update(applied, changed, seconds, failed)

    def __getitem__(self, name: str) -> KeptResult:
        if name not in self.results:
            raise InvalidArgumentError(f"{name!r} is not kept; kept are: {', '.join(self.results) or 'none'}")
        return self.results[name]

    def __repr__(self) -> str:
        kept = ", ".join(repr(result) for result in self.results.values())
        return f"Stream({self.graph!r}{', ' + kept if kept else ''})"


def _warn(update: Update) -> None:
    """Warn of every result that could not be made current."""
    for name, failure in update.failed.items():
        warnings.warn(f"{name!r} is no longer current: {failure}", RuntimeWarning, stacklevel=3)


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
        if not isinstance(graph, DynamicGraph):
            check_graph(graph)
            graph = DynamicGraph(graph)
        return Stream(graph)

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
                made.results[note.name] = made._compute(note.what, note.name, note.parameters)
        except BaseException:
            durable.close()
            raise
        made._durable = durable
        return made


stream = StreamMaker()
