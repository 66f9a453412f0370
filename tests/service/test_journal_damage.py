"""Journals that are damaged are refused and left as they are; a crash at any point loses nothing acknowledged."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import tgraph as tg
from journals import fresh, small_batch, state_of
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.service import Stream, snapshots
from tgraph.service.journal import DATABASE


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
