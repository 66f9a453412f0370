"""Streams with a journal: what was acknowledged is there again, and nothing else, whatever happened in between."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.algorithms.wcc import WCC
from tgraph.errors import FileFormatError, InvalidArgumentError, JournalError
from tgraph.service import Stream, snapshots
from tgraph.service.journal import DATABASE
from tgraph.service.journal_batches import decode, encode


def state_of(stream: Stream) -> dict[str, Any]:
    """Return all that a stream is, down to vertex numbers."""
    graph = stream.graph
    rows = graph.all_places()
    return {
        "version": stream.version,
        "num_edges": graph.num_edges,
        "options": [getattr(graph, name) for name in ("directed", "weighted", "multi_edges", "existing", "missing")],
        "labels": None if graph.labels is None else graph.labels.tolist(),
        "removed": graph.removed.tolist(),
        "rows": [None if array is None else array.tolist() for array in rows.adjacency("out").to_numpy()],
        "in_rows": [None if array is None else array.tolist() for array in rows.adjacency("in").to_numpy()],
        "weights": None if rows.weights is None else rows.weights.dtype.name,
        "results": {name: kept.result().to_numpy().tolist() for name, kept in stream.results.items()},
    }


def small_batch(number: int) -> tg.Batch:
    """Return the batch of this number, made of nothing but the number."""
    random = np.random.default_rng(number)
    ends = random.integers(0, 12, (2, 6))
    gone = random.integers(0, 12, (2, 3))
    removed = random.integers(0, 12, int(number % 4 == 0))
    return tg.Batch(insert=(*ends, random.integers(1, 9, 6).astype(float)), delete=gone, remove_vertices=removed)


def fresh(number: int) -> Stream:
    """Return a stream in memory after so many small batches."""
    stream = tg.stream(tg.DynamicGraph(weighted=True))
    for one in range(1, number + 1):
        stream.apply(small_batch(one))
    return stream


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of 7 batches, with snapshots after 3 and 6."""
    with tg.stream.open(tmp_path / "journal", weighted=True, snapshot_every=3) as stream:
        for number in range(1, 8):
            stream.apply(small_batch(number))
    return tmp_path / "journal"


# --- what is kept ----------------------------------------------------------------------------------------------------
IDS = {"integers": st.integers(0, 6), "sparse": st.sampled_from([10**15, -3, 7, 8]), "text": st.sampled_from("abcdé")}


def batches_of(ids: Any, multi_edges: bool) -> Any:
    edges = st.lists(st.tuples(ids, ids, st.integers(1, 5)), max_size=6)
    vertices = st.lists(ids, max_size=2)
    parts = {"insert": edges, "delete": edges, "add_vertices": vertices, "remove_vertices": vertices}
    return st.lists(st.fixed_dictionaries(parts | ({} if multi_edges else {"change": edges})), max_size=8)


def as_batch(parts: dict[str, Any], weighted: bool) -> tg.Batch:
    columns: dict[str, Any] = {}
    for name, rows in parts.items():
        if name in ("insert", "delete", "change"):
            needed = 2 if name == "delete" or not weighted else 3
            columns[name] = [[row[i] for row in rows] for i in range(needed)] if rows else None
        else:
            columns[name] = rows
    if not weighted:
        columns.pop("change", None)
    return tg.Batch(**columns)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_closed_opens_as_it_was(data: st.DataObject) -> None:
    ids = IDS[data.draw(st.sampled_from(list(IDS)))]
    dtype = data.draw(st.sampled_from([None, "float64", "float32", "int64", "int32"]))
    options = {
        "multi_edges": data.draw(st.booleans()),
        "existing": data.draw(st.sampled_from(["ignore", "replace", "error"])),
        "missing": data.draw(st.sampled_from(["ignore", "error"])),
    }
    first = sorted({data.draw(ids), data.draw(ids)})
    weights = None if dtype is None else np.ones(len(first) - 1, dtype)
    begin = tg.from_edges(first[:-1], first[1:], weights, directed=data.draw(st.booleans()), runtime="numpy")
    every = data.draw(st.sampled_from([1, 2, 3, None, "auto"]))
    memory = tg.stream(tg.DynamicGraph(begin, **options))
    with tempfile.TemporaryDirectory() as folder:
        stream = tg.stream.open(folder, begin, snapshot_every=every, **options)
        for parts in data.draw(batches_of(ids, options["multi_edges"])):
            batch = as_batch(parts, dtype is not None)
            outcomes = []
            for one in (memory, stream):
                try:
                    outcomes.append(repr(one.apply(batch)))
                except InvalidArgumentError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1]
            if data.draw(st.booleans()):
                stream.close()
                stream = tg.stream.open(folder, snapshot_every=every)
            assert state_of(stream) == state_of(memory)
        stream.close()


def test_results_are_kept_and_computed_again(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path, tg.from_edges(["a", "b"], ["b", "c"], [1.0, 2.0], runtime="numpy")) as stream:
        stream.keep("sssp", name="from a", source="a")
        stream.keep("wcc")
        stream.apply(insert=(["c"], ["d"], [4.0]))
        before = state_of(stream)
    with tg.stream.open(tmp_path) as stream:
        assert list(stream.results) == ["from a", "wcc"]
        assert state_of(stream) == before
        assert stream.apply(delete=(["b"], ["c"])).changes["from a"].ids.tolist() == ["c", "d"]


def test_programs_must_be_kept_again(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path) as stream:
        with pytest.warns(RuntimeWarning, match="'WCC' is kept, but not noted in the journal"):
            stream.keep(WCC())
        assert stream["WCC"].result().to_numpy().size == 0
    with tg.stream.open(tmp_path) as stream:
        assert not stream.results


def test_numpy_parameters_are_kept(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path, tg.from_edges([5], [6], runtime="numpy")) as stream:
        stream.keep("bfs", source=np.int64(5))
    with tg.stream.open(tmp_path) as stream:
        assert stream["bfs"][6] == 1


def test_a_stream_on_torch_opens_on_torch(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path, tg.from_edges([5], [6], runtime="torch")) as stream:
        stream.apply(insert=([6], [7]))
    with tg.stream.open(tmp_path) as stream:
        assert stream.graph.snapshot().runtime.name == "torch"


def test_options_are_part_of_the_journal(tmp_path: Path) -> None:
    tg.stream.open(tmp_path, existing="replace", weighted=True, directed=False).close()
    tg.stream.open(tmp_path, existing="replace").close()
    with pytest.raises(InvalidArgumentError, match=r"existing='ignore', and .* was made with 'replace'"):
        tg.stream.open(tmp_path, existing="ignore")
    with pytest.raises(InvalidArgumentError, match="colour= is no option"):
        tg.stream.open(tmp_path, colour="red")
    with pytest.raises(InvalidArgumentError, match="snapshot_every=0 must be"):
        tg.stream.open(tmp_path, snapshot_every=0)
    with pytest.raises(InvalidArgumentError, match="give a Graph"):
        tg.stream.open(tmp_path, tg.DynamicGraph())


def test_old_snapshots_and_batches_are_removed(folder: Path) -> None:
    assert sorted(snapshots.find_files(folder)) == [3, 6]
    with sqlite3.connect(folder / DATABASE) as database:
        assert [row[0] for row in database.execute("SELECT number FROM batches ORDER BY number")] == [4, 5, 6, 7]
    database.close()


def test_auto_makes_snapshots_when_batches_outgrow_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tgraph.service.journal.SMALL_BYTES", 2000)
    with tg.stream.open(tmp_path, weighted=True) as stream:
        for number in range(1, 21):
            stream.apply(small_batch(number))
    assert 0 < min(snapshots.find_files(tmp_path)) < 18
    with tg.stream.open(tmp_path) as stream:
        assert state_of(stream) == state_of(fresh(20))


@pytest.mark.parametrize("time", [None, 5, 2.5, "noon", np.int64(7)])
def test_batches_as_bytes(time: Any) -> None:
    batch = tg.Batch(insert=(["a", ""], ["b\n", "é"]), change=([1], [2], np.array([3], np.int32)), time=time)
    back = decode(encode(batch))
    assert back.insert[0].tolist() == ["a", ""]
    assert back.insert[1].tolist() == ["b\n", "é"]
    assert back.insert[2] is None
    assert back.change[2].dtype == np.int32
    assert back.time == time
    assert not back.delete[0].size
    assert decode(encode(tg.Batch(add_vertices=["", ""]))).add_vertices.tolist() == ["", ""]


# --- tokens ----------------------------------------------------------------------------------------------------------
def test_a_batch_that_is_sent_again_is_not_applied_again(tmp_path: Path) -> None:
    stream = tg.stream.open(tmp_path, multi_edges=True, snapshot_every=2)
    first = stream.apply(insert=([1, 1], [2, 2]), delete=([8], [9]), token="one")
    assert not first.is_repeated
    for _ in range(2):
        for number in range(4):
            again = stream.apply(insert=([1, 1], [2, 2]), delete=([8], [9]), token="one")
            assert again.is_repeated
            assert repr(again.applied) == repr(first.applied) == "Applied(inserted=2, missing=1, vertices_added=2)"
            stream.apply(insert=([number], [number]))
        stream.close()
        stream = tg.stream.open(tmp_path, snapshot_every=2)
    assert stream.version == 9
    with pytest.raises(InvalidArgumentError, match="token='one' was given to another batch"):
        stream.apply(insert=([1], [2]), token="one")
    stream.close()
    with pytest.raises(InvalidArgumentError, match="the stream was closed; open"):
        stream.apply(insert=([1], [2]))
    with tg.stream.open(tmp_path) as stream, pytest.raises(InvalidArgumentError, match="token=5 must be a text"):
        stream.apply(token=5)
    with pytest.raises(InvalidArgumentError, match="needs a journal"):
        tg.stream(tg.DynamicGraph()).apply(token="one")


# --- what is refused -------------------------------------------------------------------------------------------------
def test_batches_that_are_refused_leave_no_trace(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path, weighted=True, missing="error") as stream:
        stream.apply(insert=([1], [2], [3.0]))
        before = state_of(stream)
        for wrong in ({"delete": ([5], [6])}, {"insert": (["a"], ["b"])}, {"insert": ([(1, 2)], [(3, 4)])}):
            with pytest.raises(InvalidArgumentError):
                stream.apply(**wrong)
        assert state_of(stream) == before
    with tg.stream.open(tmp_path) as stream:
        assert state_of(stream) == before


def test_ids_of_other_kinds_are_refused(tmp_path: Path) -> None:
    with (
        tg.stream.open(tmp_path) as stream,
        pytest.raises(InvalidArgumentError, match=r"insert: sources holds \(1, 2\); in a journal, ids are integers or"),
    ):
        stream.apply(insert=([(1, 2)], [(3, 4)]))


def test_changing_the_graph_past_the_journal_is_noticed(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path) as stream:
        stream.graph.apply(insert=([1], [2]))
        with pytest.raises(InvalidArgumentError, match="apply batches to the stream, not to its graph"):
            stream.apply(insert=([2], [3]))


def test_a_folder_is_open_once(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path):
        with pytest.raises(JournalError, match=f"is in use by process {os.getpid()}; close the stream"):
            tg.stream.open(tmp_path)
        script = f"import tgraph as tg; tg.stream.open({str(tmp_path)!r})"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        assert f"is in use by process {os.getpid()}" in done.stderr
    tg.stream.open(tmp_path).close()


@contextmanager
def full_disk(num_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_refuses_the_batch_and_changes_nothing(tmp_path: Path) -> None:
    stream = tg.stream.open(tmp_path, weighted=True)
    stream.apply(small_batch(1))
    stream.keep("sssp", source=int(small_batch(1).insert[0][0]))
    before = state_of(stream)
    large = tg.Batch(insert=(np.arange(20_000), np.arange(20_000) + 1, np.ones(20_000)))
    with full_disk(100_000), pytest.raises(JournalError, match="could not be written"):
        stream.apply(large, token="large")
    assert state_of(stream) == before
    assert stream.apply(large, token="large").applied.inserted == 20_000  # there is room again
    after = state_of(stream)
    stream.close()
    with tg.stream.open(tmp_path) as stream:
        assert state_of(stream) == after


def test_a_full_disk_refuses_a_snapshot_only(tmp_path: Path) -> None:
    with tg.stream.open(tmp_path, tg.generate.path(20_000, runtime="numpy"), snapshot_every=2) as stream:
        stream.apply(insert=([1], [5]))
        with full_disk(60_000), pytest.warns(RuntimeWarning, match="no snapshot was made"):
            stream.apply(insert=([2], [5]))
        assert stream.version == 2
        assert sorted(snapshots.find_files(tmp_path)) == [0]
        stream.apply(insert=([3], [5]))
        assert sorted(snapshots.find_files(tmp_path)) == [0, 3]


class Failing:
    """A connection on which a statement fails."""

    def __init__(self, connection: sqlite3.Connection, statement: str, error: BaseException) -> None:
        self._connection, self._statement, self._error = connection, statement, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> Any:
        if statement.startswith(self._statement):
            raise self._error
        return self._connection.execute(statement, *values)


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_wherever_writing_fails_nothing_has_changed(tmp_path: Path, statement: str) -> None:
    stream = tg.stream.open(tmp_path, weighted=True)
    stream.apply(small_batch(1))
    before, journal = state_of(stream), stream._durable._journal
    good = journal._connection
    journal._connection = Failing(good, statement, sqlite3.OperationalError("disk I/O error"))
    with pytest.raises(JournalError, match="disk I/O error"):
        stream.apply(small_batch(2))
    with pytest.raises(JournalError, match="disk I/O error"):
        stream.keep("wcc")
    assert state_of(stream) == before
    journal._connection = good
    stream.apply(small_batch(2))
    assert state_of(stream) == state_of(fresh(2))
    stream.close()


def test_a_stream_that_was_interrupted_must_be_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = tg.stream.open(tmp_path, weighted=True)
    stream.apply(small_batch(1))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stream.graph, "commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stream.apply(small_batch(2))
    with pytest.raises(InvalidArgumentError, match=r"close the stream and open .* again"):
        stream.apply(small_batch(2))
    stream.close()
    with tg.stream.open(tmp_path) as stream:
        assert state_of(stream) == state_of(fresh(2))


# --- damage ----------------------------------------------------------------------------------------------------------
def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder; without what SQLite makes anew, and an empty log is none."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
    return {name: content for name, content in files.items() if content or not name.endswith("-wal")}


def check_refused(folder: Path, message: str, **options: Any) -> None:
    """Check that the folder is refused with this message, twice, and that nothing in it changes by that."""
    before = contents(folder)
    for _ in range(2):
        with pytest.raises(FileFormatError, match=message):
            tg.stream.open(folder, **options)
    assert contents(folder) == before


def change(folder: Path, statement: str) -> None:
    database = sqlite3.connect(folder / DATABASE)
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE batches SET content = zeroblob(length(content)) WHERE number = 7", "batches, number 7: has another"),
        ("UPDATE batches SET token = 'x' WHERE number = 7", "batches, number 7: has another checksum"),
        ("DELETE FROM batches WHERE number = 7", "batches: end with 6, and 7 were acknowledged"),
        ("UPDATE settings SET value = replace(value, 'ignore', 'error')", "settings, name settings: has another"),
        ("UPDATE snapshots SET num_bytes = 0", "snapshots, number 3: has another checksum"),
        ("DELETE FROM settings", "settings: are missing"),
        ("DELETE FROM snapshots", "snapshots: are missing"),
        ("DROP TABLE batches", "no such table"),
        ("INSERT INTO kept VALUES (0, 'wcc', 'wcc', '{}', x'00')", "kept, number 0: has another checksum"),
        ("PRAGMA user_version = 2", "version is 2; this release reads 1: update tgraph"),
        ("PRAGMA application_id = 5", "is that of another database, no journal"),
    ],
)
def test_rows_that_were_changed(folder: Path, statement: str, message: str) -> None:
    change(folder, statement)
    check_refused(folder, f"{DATABASE}: .*{message}")


def test_a_batch_that_is_missing(folder: Path) -> None:
    (folder / "snapshot-6.safetensors").unlink()
    change(folder, "DELETE FROM batches WHERE number = 5")
    check_refused(folder, f"{DATABASE}: batch 5: is missing, 6 follows; restore", repair=True)


def test_files_that_are_none(folder: Path) -> None:
    whole = (folder / DATABASE).read_bytes()
    for content in (b"", b"hello", whole[:3000], whole[:-4096], whole[: len(whole) // 2], b"\0" * len(whole)):
        (folder / DATABASE).write_bytes(content)
        check_refused(folder, f"{DATABASE}: ")
    (folder / DATABASE).unlink()
    check_refused(folder, f"{DATABASE}: journal: is missing, and 7 batches were noted; restore the folder")


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "foreign", "empty"])
def test_snapshots_that_are_damaged(folder: Path, damage: str) -> None:
    path = folder / "snapshot-6.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    damaged = {"cut": content[:-1], "flipped": content, "foreign": b"hello", "empty": b""}
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(damaged[damage])
    check_refused(
        folder, "snapshot-6.safetensors: snapshot: .*; repair=True goes back to snapshot-3.safetensors and loses"
    )
    with tg.stream.open(folder, repair=True) as stream:
        assert state_of(stream) == state_of(fresh(7))
    with tg.stream.open(folder) as stream:
        assert state_of(stream) == state_of(fresh(7))
    assert sorted(snapshots.find_files(folder)) == [3, 7]


def test_a_first_snapshot_that_is_damaged(tmp_path: Path) -> None:
    tg.stream.open(tmp_path, weighted=True).close()
    (tmp_path / "snapshot-0.safetensors").unlink()
    check_refused(tmp_path, "snapshot-0.safetensors: snapshot: is missing; restore the folder from a copy", repair=True)


def killed(folder: Path, into: Path, num_batches: int) -> Path:
    """Return a copy of a folder as a killed process leaves it, with batches in the -wal file."""
    stream = tg.stream.open(folder)
    for _ in range(num_batches):
        stream.apply(small_batch(stream.version + 1))
    shutil.copytree(folder, into)
    stream.close()
    return into


def test_a_write_ahead_log_that_is_lost_or_cut(folder: Path, tmp_path: Path) -> None:
    image = killed(folder, tmp_path / "killed", 5)
    log = image / f"{DATABASE}-wal"
    whole = log.read_bytes()
    for content in (b"", whole[: len(whole) // 2], whole[:-1], whole[:5000] + b"\1" + whole[5001:]):
        log.write_bytes(content)
        check_refused(image, r"batches: end with \d+, and 12 were acknowledged; was journal.sqlite-wal lost or cut?")
    log.unlink()
    check_refused(image, "batches: end with 7, and 12 were acknowledged")
    log.write_bytes(whole)
    with tg.stream.open(image) as stream:
        assert state_of(stream) == state_of(fresh(12))


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgumentError, match="is a file; give the folder of a journal"):
        tg.stream.open(tmp_path / "file")


# --- crashes ---------------------------------------------------------------------------------------------------------
class Photographer:
    """Copies the folder before and after every statement and every renaming: what a kill there would leave."""

    def __init__(self, folder: Path, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._images, self._patch = folder, images, monkeypatch
        self.acknowledged = 0
        self.taken: list[tuple[Path, int]] = []  # with the number of batches that were acknowledged
        for name in ("replace", "fsync", "unlink"):
            monkeypatch.setattr(os, name, self._around(getattr(os, name)))

    def watch(self, stream: Stream) -> None:
        journal = stream._durable._journal
        journal._connection = Watched(journal._connection, self._around(journal._connection.execute))

    def _around(self, function: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self.take()
            result = function(*arguments, **named)
            self.take()
            return result

        return call

    def take(self) -> None:
        image = self._images / str(len(self.taken))
        with self._patch.context() as patch:
            patch.undo()
            shutil.copytree(self._folder, image)
        self.taken.append((image, self.acknowledged))


class Watched:
    """A connection whose statements are watched."""

    def __init__(self, connection: sqlite3.Connection, execute: Any) -> None:
        self._connection, self.execute = connection, execute

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_a_crash_at_any_point_loses_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "journal").mkdir()
    photographer = Photographer(tmp_path / "journal", tmp_path / "images", monkeypatch)
    stream = tg.stream.open(tmp_path / "journal", weighted=True, snapshot_every=2)
    photographer.watch(stream)
    for number in range(1, 6):
        stream.apply(small_batch(number), token=str(number))
        photographer.acknowledged = number
    photographer.take()
    monkeypatch.undo()
    stream.close()
    assert len(photographer.taken) > 80
    expected = [state_of(fresh(number)) for number in range(6)]
    for image, acknowledged in photographer.taken:
        with tg.stream.open(image, weighted=True) as stream:
            assert stream.version in (acknowledged, acknowledged + 1), image
            assert state_of(stream) == expected[stream.version], image
            for number in range(1, 6):  # all are sent again
                stream.apply(small_batch(number), token=str(number))
            assert state_of(stream) == expected[5], image
