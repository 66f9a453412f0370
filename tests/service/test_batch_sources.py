"""Batches from files of every kind and from iterables, and what is said about files that are wrong."""

from __future__ import annotations

import gzip
import io
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tgraph as tg
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io import edge_events

LINES = "# a comment\n\n1 2 0\n2 3 10\n# another\n1 2 3600\n3 1 7300\n"


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    file = tmp_path / "mails.txt"
    file.write_text(LINES)
    return file


def inserted(batches: Any) -> list[list[tuple[Any, ...]]]:
    """Return the edges to insert of every batch."""
    columns = [[column.tolist() for column in one.insert if column is not None] for one in batches]
    return [list(zip(*column, strict=True)) for column in columns]


def test_lines_are_cut_by_number_and_by_time(mails: Path) -> None:
    assert inserted(tg.read_stream(mails, 3)) == [[(1, 2), (2, 3), (1, 2)], [(3, 1)]]
    assert inserted(tg.read_stream(mails, "1h")) == [[(1, 2), (2, 3)], [(1, 2)], [(3, 1)]]
    assert inserted(tg.read_stream(mails, timedelta(days=1))) == [[(1, 2), (2, 3), (1, 2), (3, 1)]]
    assert [one.time for one in tg.read_stream(mails, "1h")] == [10, 3600, 7300]


@pytest.mark.parametrize("chunk_bytes", [1, 7, 30])
def test_chunks_of_any_size_give_the_same_batches(
    mails: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    whole = inserted(tg.read_stream(mails, "1h"))
    monkeypatch.setattr(edge_events, "CHUNK_BYTES", chunk_bytes)
    assert inserted(tg.read_stream(mails, "1h")) == whole
    assert inserted(tg.read_stream(mails, 2, skip_rows=3)) == [[(2, 3), (1, 2)], [(3, 1)]]


def test_the_same_edges_in_all_forms(tmp_path: Path) -> None:
    edges = {"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [0.5, 2.0, 1.0], "time": [5, 6, 9]}
    frame = pl.DataFrame(edges)
    frame.write_parquet(tmp_path / "one.parquet")
    frame.write_ipc(tmp_path / "one.arrow")
    frame.write_csv(tmp_path / "one.csv")
    text = "".join(f"{s} {t} {w} {x}\n" for s, t, w, x in frame.rows())
    (tmp_path / "one.txt").write_text(text)
    (tmp_path / "one.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "other.csv").write_text("when;x;dst;src;w\n5;1;b;a;0.5\n6;1;c;b;2\n9;1;c;a;1\n")
    expected = [[("a", "b", 0.5), ("b", "c", 2.0)], [("a", "c", 1.0)]]
    for file in sorted(tmp_path.iterdir()):
        made = list(tg.read_stream(file, 2))
        assert inserted(made) == expected, file
        assert [one.time for one in made] == [6, 9], file


def test_columns_by_name_and_by_position(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("at,who,whom,how\n1,7,8,x\n2,8,9,y\n")
    by_name = tg.read_stream(file, "1s", source="who", target="whom", time="at")
    by_place = tg.read_stream(file, "1s", source=1, target=2, time=0, weight=None)
    assert inserted(by_name) == inserted(by_place) == [[(7, 8)], [(8, 9)]]
    with pytest.raises(InvalidArgumentError, match="source names the column 'nobody'"):
        list(tg.read_stream(file, source="nobody"))
    with pytest.raises(InvalidArgumentError, match="are the same column"):
        list(tg.read_stream(file, source="who", target="who"))


@pytest.mark.parametrize(("plus", "minus"), [("+", "-"), ("insert", "delete"), ("1", "-1"), ("2.5", "-0.5")])
def test_operations(tmp_path: Path, plus: str, minus: str) -> None:
    file = tmp_path / "updates.csv"
    file.write_text(f"op,source,target\n{plus},a,b\n{plus},b,c\n{minus},a,b\n")
    graph = tg.DynamicGraph()
    for batch in tg.read_stream(file, 2):
        graph.apply(batch)
    assert [column.tolist() for column in graph.snapshot().edges()[:2]] == [["b"], ["c"]]
    bare = tmp_path / "updates.txt"
    bare.write_text(f"1 2 {plus} 10\n1 2 {minus} 20\n")
    first, second = tg.read_stream(bare, 1, op=2)
    assert (first.insert[0].size, second.delete[0].size, second.time) == (1, 1, 20)


def test_times_that_do_not_ascend(tmp_path: Path) -> None:
    file = tmp_path / "mixed.txt"
    file.write_text("1 2 10\n\n2 3 30\n3 4 20\n")
    with pytest.raises(FileFormatError, match=r"line 4: the time 20 is before 30 .* use sort=True"):
        list(tg.read_stream(file))
    assert inserted(tg.read_stream(file, 1, sort=True)) == [[(1, 2)], [(3, 4)], [(2, 3)]]
    pl.DataFrame({"a": [1, 2, 3], "b": [2, 3, 4], "c": [10, 30, 20]}).write_parquet(tmp_path / "mixed.parquet")
    with pytest.raises(FileFormatError, match="row 2: the time 20 is before 30"):
        list(tg.read_stream(tmp_path / "mixed.parquet"))


def test_times_that_do_not_ascend_are_found_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_events, "CHUNK_BYTES", 8)
    file = tmp_path / "mixed.txt"
    file.write_text("1 2 10\n2 3 30\n3 4 20\n")
    with pytest.raises(FileFormatError, match="line 3: the time 20 is before 30"):
        list(tg.read_stream(file))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 2 10\n1 x 20\n", {"ids": "integer"}, "line 2: column 1 .* holds 'x', which is no integer"),
        ("1 2 10\n1 2 later\n", {}, "line 2: column 2 .* holds 'later', which is no number"),
        ("1 2 1.5\n1 2 later\n", {}, "line 2: column 2 .* holds 'later', which is no number"),
        ("1 2 1.5\n1 2 nan\n", {}, "line 2: the time is not a finite number"),
        ("1 2 x 10\n", {}, "line 1: column 2 .* holds 'x', which is no number; use weight=None"),
        ("1 2 10\n\n1 2\n", {}, "line 3: has 2 column"),
        ("1 2 10\n1 2 10 11\n", {}, "line 2: has 4 columns"),
        ("# only\n1\n", {}, "no column of targets"),
        ("1 2 + 10\n1 2 ? 11\n", {"op": 2}, r"line 2: the operation is '\?'; use \+ or -"),
        ("1 2 0 10\n", {"op": 2}, "line 1: the operation is '0'"),
    ],
)
def test_lines_that_are_wrong(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    file = tmp_path / "wrong.txt"
    file.write_text(text)
    with pytest.raises((FileFormatError, InvalidArgumentError), match=message):
        list(tg.read_stream(file, 1, **options))


def test_a_file_without_edges_gives_no_batch(tmp_path: Path) -> None:
    for text in ("", "# nothing\n", "source,target,time\n", "\n\n"):
        file = tmp_path / "empty.csv"
        file.write_text(text)
        assert list(tg.read_stream(file)) == []


def test_a_file_that_is_cut_short(tmp_path: Path) -> None:
    file = tmp_path / "cut.txt.gz"
    file.write_bytes(gzip.compress(LINES.encode() * 100)[:-20])
    with pytest.raises(FileFormatError, match="cannot be decompressed"):
        list(tg.read_stream(file))


@pytest.mark.parametrize("batch", ["10m", "", "h", 0, -5, 1.5, "1.5", True, None])
def test_lengths_that_are_none(mails: Path, batch: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is no number of edges such as"):
        tg.read_stream(mails, batch)


def test_wishes_that_cannot_be_met(mails: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="batch='1h' needs times"):
        list(tg.read_stream(mails, "1h", time=None))
    with pytest.raises(InvalidArgumentError, match="window='1h' needs times"):
        list(tg.read_stream(mails, 1, "1h", time=None))
    with pytest.raises(FileNotFoundError):
        tg.read_stream(tmp_path / "nothing.txt")
    with pytest.raises(InvalidArgumentError, match="colour='red' is no option"):
        tg.read_stream(mails, colour="red")
    (tmp_path / "graph.npz").touch()
    with pytest.raises(InvalidArgumentError, match="changes are read from"):
        list(tg.read_stream(tmp_path / "graph.npz"))


def test_dates_and_units_of_time(tmp_path: Path) -> None:
    start = datetime(2024, 1, 1)
    dates = [start, start + timedelta(minutes=30), start + timedelta(hours=2)]
    frame = pl.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4], "time": dates})
    frame.write_parquet(tmp_path / "dates.parquet")
    assert [one.time for one in tg.read_stream(tmp_path / "dates.parquet", "1h")] == [1704069000, 1704074400]
    numbers = frame.with_columns(pl.col("time").dt.epoch("ms").cast(pl.UInt64))
    numbers.write_parquet(tmp_path / "numbers.parquet")
    made = list(tg.read_stream(tmp_path / "numbers.parquet", 1, "1h", time_unit="ms"))
    assert [one.delete[0].tolist() for one in made] == [[], [], [1, 2]]


def test_lines_through_a_pipe_come_as_soon_as_they_are_there() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as out, os.fdopen(write_end, "wb", 0) as into:
        into.write(b"source,target,time\n1,2,5\n2,3,6\n3,")
        batches = tg.read_stream(out, 2)
        assert inserted([next(batches)]) == [[(1, 2), (2, 3)]]
        into.write(b"4,7\n")
        into.close()
        assert inserted(batches) == [[(3, 4)]]
    assert inserted(tg.read_stream(io.BytesIO(b"1 2\n2 3"), 1)) == [[(1, 2)], [(2, 3)]]


def test_edges_from_iterables() -> None:
    rows = [("a", "b", 2.0), ("b", "c", 3.0), ("c", "d", 4.0)]
    columns = ("source", "target", "weight")
    dicts = [dict(zip(columns, row, strict=True)) for row in rows]
    arrays = [(np.array(["a", "b"]), np.array(["b", "c"]), np.array([2.0, 3.0])), (["c"], ["d"], [4.0])]
    expected = [[("a", "b", 2.0), ("b", "c", 3.0)], [("c", "d", 4.0)]]
    for edges in (rows, iter(rows), dicts, arrays):
        assert inserted(tg.batches(edges, 2, columns=columns)) == expected


def test_iterables_that_are_wrong() -> None:
    with pytest.raises(InvalidArgumentError, match="edge 2: the time 1 is before 5"):
        list(tg.batches([(1, 2, 4), (2, 3, 5), (3, 4, 1)], 2, columns=("source", "target", "time")))
    with pytest.raises(InvalidArgumentError, match="has 3 entries"):
        list(tg.batches([(1, 2, 4)], 2))
    with pytest.raises(InvalidArgumentError, match="has no 'target'"):
        list(tg.batches([{"source": 1}], 2))
    with pytest.raises(InvalidArgumentError, match="must be source, target and some of"):
        tg.batches([], columns=("from", "to"))
    with pytest.raises(InvalidArgumentError, match="ids are integers here and text there"):
        list(tg.batches([(1, 2), ("a", "b")], 1))
    with pytest.raises(InvalidArgumentError, match="ids must be integers or strings"):
        list(tg.batches([(1.5, 2.5)], 1))


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        (None, "edges=None must be edges, one behind the other"),
        ([1, 2], "edge 1 is a int; columns="),
        ([(1, 2), (3,)], "an edge has 1 entries"),
        ([(1, 2), (3, 4, 5)], "an edge has 3 entries"),
    ],
)
def test_what_is_no_edge_is_named(edges: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        list(tg.batches(edges))
