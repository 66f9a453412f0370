"""A journal of batches in a folder: what was applied to a graph, so that it can be made again after a crash.

`journal.sqlite` holds the batches, one transaction each, and what else makes a stream; beside it are snapshots of the
graph, of which the last two are kept, with the batches since the first of them. `lock` keeps other processes out.

Every row has a checksum. Whatever does not fit (a row, a gap between numbers, a snapshot, a number of batches below the
one that was acknowledged) is an error that names the file; nothing is left out silently.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tgraph.errors import FileFormatError, InvalidArgumentError, JournalError
from tgraph.graph import Batch, DynamicGraph
from tgraph.service import snapshots
from tgraph.service.folder_lock import FolderLock
from tgraph.service.journal_batches import decode
from tgraph.service.snapshots import Snapshot

DATABASE = "journal.sqlite"
APPLICATION_ID = 0x74677273  # "tgrs"
VERSION = 1
SNAPSHOTS_KEPT = 2
TOKENS_KEPT = 1_000_000
SMALL_BYTES = 1 << 24  # of batches since the last snapshot: below this, "auto" makes no other one
TABLES = {
    "settings": "name TEXT PRIMARY KEY, value TEXT",
    "snapshots": "number INTEGER PRIMARY KEY, num_bytes INTEGER, digest BLOB, removed BLOB",
    "batches": "number INTEGER PRIMARY KEY, token TEXT, content BLOB",
    "kept": "number INTEGER PRIMARY KEY, name TEXT, what TEXT, parameters TEXT",
    "tokens": "token TEXT PRIMARY KEY, number INTEGER, digest BLOB",
    "outcomes": "number INTEGER PRIMARY KEY, counts TEXT",
}


class KeptNote(NamedTuple):
    """A result that is kept, as it is noted."""

    name: str
    what: str
    parameters: dict[str, Any]


class BatchNote(NamedTuple):
    """A batch that was accepted, as it is noted."""

    number: int
    token: str | None
    batch: Batch


class Journal:
    """The journal in a folder, which nobody else may use meanwhile. `number` is that of the last batch."""

    def __init__(self, folder: Path, lock: FolderLock, snapshot_every: int | str | None = "auto") -> None:
        self.folder, self.path, self._lock = folder, folder / DATABASE, lock
        self._every = check_interval(snapshot_every)
        self._outcomes: dict[int, str] = {}  # of batches with tokens, to be noted with the next transaction
        with naming_damage(self.path):
            # Whoever may write moves the content of the -wal file when he closes; a damaged journal stays as it is.
            self._connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
            try:
                self._check_format()
                self.settings: dict[str, Any] = json.loads(self._all_rows("settings")[0][1])
                self.snapshots = [Snapshot(*row) for row in self._all_rows("snapshots")]
                self.number = self._last_number()
            except BaseException:
                self._connection.close()
                raise
        self._num_bytes = 0  # of batches since the last snapshot

    def begin_writing(self) -> None:
        """Change from looking at the journal, which has turned out to be whole, to writing it."""
        self._connection.close()
        with naming_damage(self.path):
            self._connection = _connect(self.path)
            self._num_bytes = self._execute(
                "SELECT total(length(content)) FROM batches WHERE number > ?", self.snapshots[-1].number
            ).fetchone()[0]
        self._lock.note(self.number)
        self.remove_old_snapshots()

    # --- writing -----------------------------------------------------------------------------------------------------
    def record(self, content: bytes, token: str | None) -> int:
        """Note a batch as the next one; it is on the disk when this returns. JournalError: nothing was noted."""
        number = self.number + 1
        with self._transaction():
            self._insert("batches", number, token, content)
            if token is not None:
                self._insert("tokens", token, number, digest(content))
                self._execute("DELETE FROM tokens WHERE number <= ?", number - TOKENS_KEPT)
        self.number, self._num_bytes = number, self._num_bytes + len(content)
        self._lock.note(number)
        return number

    def keep(self, note: KeptNote) -> None:
        """Note that a result is kept."""
        with self._transaction():
            last = self._execute("SELECT coalesce(max(number), -1) FROM kept").fetchone()[0]
            self._insert("kept", last + 1, note.name, note.what, json.dumps(note.parameters))

    def drop(self, name: str) -> None:
        """Note that a result is kept no longer."""
        with self._transaction():
            self._execute("DELETE FROM kept WHERE name = ?", name)

    def note_outcome(self, number: int, counts: dict[str, int]) -> None:
        """Remember what a batch with a token did; written with the next transaction, for it can be found out again."""
        self._outcomes[number] = json.dumps(counts)

    def add_snapshot(self, graph: DynamicGraph) -> None:
        """Write the graph as it is now, and remove what is not needed any more."""
        snapshot = snapshots.write(graph, self.folder)
        others = [one for one in self.snapshots if one.number != snapshot.number]
        kept = [*others[1 - SNAPSHOTS_KEPT :], snapshot]
        with self._transaction():
            self._execute("DELETE FROM snapshots")
            for one in kept:
                self._insert("snapshots", *vars(one).values())
            self._execute("DELETE FROM batches WHERE number <= ?", kept[0].number)
            self._execute("DELETE FROM outcomes WHERE number <= ?", snapshot.number - TOKENS_KEPT)
        self.snapshots, self._num_bytes = kept, 0
        self.remove_old_snapshots()

    def remove_old_snapshots(self) -> None:
        """Remove the files of snapshots that are not needed, and what was not written to its end."""
        snapshots.remove_unfinished(self.folder)
        numbers = {snapshot.number for snapshot in self.snapshots}
        for number, path in snapshots.find_files(self.folder).items():
            if number not in numbers:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Write what is left to write, and let others in."""
        try:
            if self._outcomes:
                with self._transaction():
                    pass
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let others in, and write nothing."""
        self._connection.close()
        self._lock.release()

    # --- reading -----------------------------------------------------------------------------------------------------
    @property
    def is_snapshot_due(self) -> bool:
        """Whether it is time for a snapshot."""
        last = self.snapshots[-1]
        if self._every is None or self.number == last.number:
            return False
        if isinstance(self._every, int):
            return self.number - last.number >= self._every
        return self._num_bytes > max(SMALL_BYTES, last.num_bytes)

    def kept(self) -> list[KeptNote]:
        """Return the results that are kept, in the order in which they were."""
        with naming_damage(self.path):
            return [KeptNote(name, what, json.loads(text)) for _, name, what, text in self._rows("kept")]

    def batches_after(self, number: int) -> Iterator[BatchNote]:
        """Yield the batches after the one of this number; all that were acknowledged, or an error."""
        with naming_damage(self.path):
            for found, token, content in self._rows("batches", "WHERE number > ?", number):
                number += 1
                if found != number:
                    raise FileFormatError(self.path, f"batch {number}", f"is missing, {found} follows; {RESTORE}")
                yield BatchNote(number, token, decode(content))
        if number != self.number:
            raise FileFormatError(self.path, f"batch {number + 1}", f"is missing; {RESTORE}")

    def find(self, token: str, content: bytes) -> dict[str, int] | None:
        """Return what the batch with this token did (empty if that is not known), None if there was none."""
        with naming_damage(self.path):
            for _, number, noted in self._rows("tokens", "WHERE token = ?", token):
                if noted != digest(content):
                    raise InvalidArgumentError(f"token={token!r} was given to another batch; give each its own")
                if number in self._outcomes:
                    return json.loads(self._outcomes[number])
                rows = list(self._rows("outcomes", "WHERE number = ?", number))
                return json.loads(rows[0][1]) if rows else {}
        return None

    def _check_format(self) -> None:
        """Raise unless this is a journal that this release can read, and the database is whole."""
        found = self._execute("PRAGMA application_id").fetchone()[0]
        if found != APPLICATION_ID:
            raise FileFormatError(self.path, "header", "is that of another database, no journal; give another folder")
        version = self._execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            reason = f"version is {version}; this release reads {VERSION}: update tgraph"
            raise FileFormatError(self.path, "header", reason)
        problem = self._execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise FileFormatError(self.path, "database", f"is damaged ({problem}); {RESTORE}")

    def _last_number(self) -> int:
        """Return the number of the last batch, or raise if it is below what was acknowledged."""
        number = self._execute("SELECT max(number) FROM batches").fetchone()[0]
        number = max(self.snapshots[-1].number, number or 0)
        files = snapshots.find_files(self.folder)
        known = max(self._lock.number, *files, 0)
        if number < known:
            reason = f"end with {number}, and {known} were acknowledged; was {DATABASE}-wal lost or cut? {RESTORE}"
            raise FileFormatError(self.path, "batches", reason)
        return int(number)

    # --- the database ------------------------------------------------------------------------------------------------
    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _insert(self, table: str, *values: Any) -> None:
        _insert(self._connection, table, *values)

    def _rows(self, table: str, condition: str = "", *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield rows in the order of their keys, without their checksums, which fit."""
        key = TABLES[table].partition(" ")[0]
        for row in self._execute(f"SELECT * FROM {table} {condition} ORDER BY {key}", *values):
            if digest(table, *row[:-1]) != row[-1]:
                raise FileFormatError(self.path, f"{table}, {key} {row[0]}", f"has another checksum; {RESTORE}")
            yield row[:-1]

    def _all_rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return all rows, of which there is one at least."""
        rows = list(self._rows(table))
        if not rows:
            raise FileFormatError(self.path, table, f"are missing; {RESTORE}")
        return rows

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all or nothing; what was done is on the disk at the end."""
        try:
            self._execute("BEGIN IMMEDIATE")
            for number, counts in self._outcomes.items():
                self._execute("DELETE FROM outcomes WHERE number = ?", number)
                self._insert("outcomes", number, counts)
            yield
            self._execute("COMMIT")
            self._outcomes.clear()
        except sqlite3.Error as error:
            raise JournalError(f"{self.path} could not be written ({error}); nothing was changed") from error
        finally:
            if self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._execute("ROLLBACK")


RESTORE = "restore the folder from a copy"


def exists(folder: Path, lock: FolderLock) -> bool:
    """Say whether there is a journal in a folder; raise if there was one."""
    if (folder / DATABASE).exists():
        return True
    files = [number for number in snapshots.find_files(folder) if number]
    if files or lock.number:
        raise FileFormatError(
            folder / DATABASE, "journal", f"is missing, and {max(lock.number, *files, 0)} batches were noted; {RESTORE}"
        )
    return False


def create(folder: Path, graph: DynamicGraph, settings: dict[str, Any]) -> None:
    """Make the journal of a graph in a folder; it is there whole or not at all."""
    snapshots.remove_unfinished(folder)
    first = snapshots.write(graph, folder)
    temporary = folder / f"{DATABASE}.tmp"
    temporary.unlink(missing_ok=True)
    connection = sqlite3.connect(temporary, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = MEMORY")  # no file that a crash could leave behind
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        for table, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({columns}, checksum BLOB)")
        connection.execute("CREATE INDEX tokens_by_number ON tokens (number)")
        _insert(connection, "settings", "settings", json.dumps(settings))
        _insert(connection, "snapshots", *vars(first).values())
    except sqlite3.Error as error:
        raise JournalError(f"{temporary} could not be written ({error})") from error
    finally:
        connection.close()
    snapshots.sync(temporary)
    temporary.replace(folder / DATABASE)
    snapshots.sync(folder)


def check_interval(snapshot_every: Any) -> int | str | None:
    """Return how often snapshots are made, or raise."""
    is_number = isinstance(snapshot_every, int) and not isinstance(snapshot_every, bool) and snapshot_every > 0
    if not is_number and snapshot_every not in ("auto", None):
        raise InvalidArgumentError(
            f"snapshot_every={snapshot_every!r} must be a number of batches, 'auto' or None for never"
        )
    return snapshot_every


@contextlib.contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turn what SQLite says about a file that it cannot read into an error that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise FileFormatError(path, "database", f"is none, or a damaged one ({error}); {RESTORE}") from error


def digest(*values: Any) -> bytes:
    """Return a checksum of texts, numbers and bytes."""
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        content = value if isinstance(value, bytes) else repr(value).encode()
        found.update(f"{type(value).__name__} {len(content)} ".encode())
        found.update(content)
    return found.digest()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _insert(connection: sqlite3.Connection, table: str, *values: Any) -> None:
    """Insert a row with its checksum."""
    places = ", ".join("?" * (len(values) + 1))
    connection.execute(f"INSERT INTO {table} VALUES ({places})", (*values, digest(table, *values)))
