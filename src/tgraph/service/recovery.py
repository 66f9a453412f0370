"""Streams that outlive their process: a graph, its journal, and the results that were kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Applied, Batch, DynamicGraph, Graph
from tgraph.kernels.cpu.gapped_rows import ArcChanges
from tgraph.service import journal as journals
from tgraph.service import snapshots
from tgraph.service.folder_lock import FolderLock
from tgraph.service.journal import Journal, KeptNote
from tgraph.service.journal_batches import encode

OPTIONS = ("directed", "weighted", "multi_edges", "existing", "missing")
COUNTS = ("inserted", "deleted", "changed", "existing", "missing", "vertices_added", "vertices_removed")


class Durable:
    """What a stream has on the disk: batches are noted here before they are applied."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._is_broken = self._is_closed = False

    @property
    def folder(self) -> Path:
        """The folder of the journal."""
        return self._journal.folder

    def encode(self, batch: Batch) -> bytes:
        """Return a batch as it is noted."""
        self._check_usable()
        return encode(batch)

    def find(self, content: bytes, token: str | None) -> Applied | None:
        """Return what a batch with this token did before, None if it is new."""
        if token is not None and not isinstance(token, str):
            raise InvalidArgumentError(f"token={token!r} must be a text")
        counts = None if token is None else self._journal.find(token, content)
        return None if counts is None else _counted(counts)

    @contextmanager
    def recording(self, graph: DynamicGraph, content: bytes, token: str | None) -> Iterator[None]:
        """Note a batch; then let it be applied. Whatever goes wrong after it was noted makes the stream unusable."""
        if graph.version != self._journal.number:
            raise InvalidArgumentError(
                f"the graph has had {graph.version} batches and its journal {self._journal.number}; apply batches to "
                "the stream, not to its graph"
            )
        self._is_broken = True
        try:
            self._journal.record(content, token)
        except OSError:
            self._is_broken = False  # nothing was noted and nothing is applied
            raise
        yield
        self._is_broken = False

    def applied(self, graph: DynamicGraph, applied: Applied, token: str | None) -> None:
        """Note what a batch did, and make a snapshot if it is time."""
        if token is not None:
            self._journal.note_outcome(graph.version, {name: getattr(applied, name) for name in COUNTS})
        if self._journal.is_snapshot_due:
            try:
                self._journal.add_snapshot(graph)
            except OSError as error:  # the batch is safe all the same
                warnings.warn(f"no snapshot was made: {error}", RuntimeWarning, stacklevel=3)

    def keep(self, name: str, what: Any, parameters: dict[str, Any]) -> None:
        """Note that a result is kept, or warn that it cannot be."""
        self._check_usable()
        plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in parameters.items()}
        if isinstance(what, str) and all(isinstance(value, (str, int, float)) for value in plain.values()):
            self._journal.keep(KeptNote(name, what, plain))
            return
        warnings.warn(
            f"{name!r} is kept, but not noted in the journal, which holds names of algorithms, numbers and texts only; "
            "keep it again whenever the stream is opened",
            RuntimeWarning,
            stacklevel=3,
        )

    def drop(self, name: str) -> None:
        """Note that a result is kept no longer."""
        self._check_usable()
        self._journal.drop(name)

    def close(self) -> None:
        """Let others open the journal."""
        if not self._is_closed:
            self._is_closed = True
            self._journal.close()

    def _check_usable(self) -> None:
        if self._is_closed:
            raise InvalidArgumentError(f"the stream was closed; open {self.folder} again")
        if self._is_broken:
            raise InvalidArgumentError(
                f"a batch was interrupted while it was applied; close the stream and open {self.folder} again, its "
                "version says whether the batch is there"
            )


def open_folder(
    folder: str | PathLike[str], graph: Graph | None, snapshot_every: Any, repair: bool, options: dict[str, Any]
) -> tuple[DynamicGraph, list[KeptNote], Durable]:
    """Open the journal in a folder, or make one: return the graph, what was kept, and where to note batches."""
    path = Path(folder)
    _check_arguments(path, graph, options)
    journals.check_interval(snapshot_every)
    path.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(path)
    try:
        if not journals.exists(path, lock):
            settings = _settings(graph)
            dynamic = DynamicGraph(graph, **options)
            settings["options"] = {name: getattr(dynamic, name) for name in OPTIONS}
            journals.create(path, dynamic, settings)
        journal = Journal(path, lock, snapshot_every)
    except BaseException:
        lock.release()
        raise
    try:
        _check_options(journal, options)
        num_snapshots = len(journal.snapshots)
        dynamic, kept = _recover(journal, repair), journal.kept()
        journal.begin_writing()
        if num_snapshots != len(journal.snapshots):  # the last one was damaged
            journal.add_snapshot(dynamic)
        return dynamic, kept, Durable(journal)
    except BaseException:
        journal.abandon()
        raise


def _recover(journal: Journal, repair: bool) -> DynamicGraph:
    """Return the graph after the last batch: the last snapshot, and the batches since."""
    graph = _begin(journal, repair)
    for note in journal.batches_after(graph.version):
        applied = graph.apply(note.batch)
        if note.token is not None:
            journal.note_outcome(note.number, {name: getattr(applied, name) for name in COUNTS})
    return graph


def _begin(journal: Journal, repair: bool) -> DynamicGraph:
    """Return the graph of the last snapshot; of the one before if that is damaged and `repair` allows it."""
    settings, last = journal.settings, journal.snapshots[-1]
    options = {name: settings["options"][name] for name in OPTIONS[2:]}
    try:
        return snapshots.read(last, journal.folder, settings["where"], options)
    except FileFormatError as error:
        if len(journal.snapshots) < 2:
            raise FileFormatError(error.path, error.where, f"{error.reason}; {journals.RESTORE}") from error
        before = journal.snapshots[-2]
        if not repair:
            hint = f"repair=True goes back to {before.path(journal.folder).name} and loses nothing"
            raise FileFormatError(error.path, error.where, f"{error.reason}; {hint}") from error
    journal.snapshots.pop()
    return snapshots.read(before, journal.folder, settings["where"], options)


def _check_arguments(folder: Path, graph: Any, options: dict[str, Any]) -> None:
    if folder.exists() and not folder.is_dir():
        raise InvalidArgumentError(f"{folder} is a file; give the folder of a journal")
    if graph is not None and not isinstance(graph, Graph):
        raise InvalidArgumentError(f"graph is a {type(graph).__name__}; give a Graph, such as graph.snapshot()")
    for name in options:
        if name not in OPTIONS:
            raise InvalidArgumentError(f"{name}= is no option; a stream takes {', '.join(OPTIONS)}")


def _check_options(journal: Journal, options: dict[str, Any]) -> None:
    """Raise where the journal was made with other options."""
    for name, value in options.items():
        noted = journal.settings["options"][name]
        if noted != value:
            raise InvalidArgumentError(f"{name}={value!r}, and {journal.folder} was made with {noted!r}; leave it out")


def _settings(graph: Graph | None) -> dict[str, Any]:
    """Return what is noted of where tensors are."""
    if graph is None:
        return {"where": {"runtime": "numpy", "device": "cpu"}}
    return {"where": {"runtime": graph.runtime.name, "device": str(graph.runtime.device)}}


def _counted(counts: dict[str, int]) -> Applied:
    """Return what a batch did, without the single changes, which are not kept."""
    nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    arcs = ArcChanges(nothing, nothing, np.empty(0, np.uint8))
    return Applied(**{**dict.fromkeys(COUNTS, 0), **counts}, arcs=arcs)
