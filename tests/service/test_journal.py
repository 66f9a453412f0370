"""Streams with a journal: what was acknowledged is there again, and nothing else, whatever happened in between."""

from __future__ import annotations

import os
import resource
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
from journals import fresh, small_batch, state_of
from tgraph.algorithms.wcc import WCC
from tgraph.errors import InvalidArgumentError, JournalError
from tgraph.service import snapshots
from tgraph.service.journal import DATABASE
from tgraph.service.journal_batches import decode, encode

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
