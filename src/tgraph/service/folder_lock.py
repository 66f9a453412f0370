"""One process at a time in a folder, and a number that each leaves there for the next."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from tgraph.errors import JournalError

NAME = "lock"
ROOM_BYTES = 64


class FolderLock:
    """A file in a folder that is locked while this object lives; a killed process lets go of it.

    It holds a process id and a number: how many batches were acknowledged. That is written without waiting for the
    disk, so after a loss of power it may be too small, but never too large.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._file)
        except OSError as error:
            owner = self._read()[0]
            os.close(self._file)
            raise JournalError(
                f"{folder} is in use{f' by process {owner}' if owner else ''}; close the stream there first, or give "
                "another folder"
            ) from error
        self.number = self._read()[1]

    def note(self, number: int) -> None:
        """Leave a number."""
        self.number = number
        with contextlib.suppress(OSError):  # it only serves to find damage later
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, f"{os.getpid()} {number}".ljust(ROOM_BYTES).encode())

    def release(self) -> None:
        """Let others in."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _read(self) -> tuple[int, int]:
        """Return the process id and the number, 0 where there are none."""
        os.lseek(self._file, 0, os.SEEK_SET)
        words = os.read(self._file, ROOM_BYTES).split()
        if len(words) != 2 or not all(word.isdigit() for word in words):
            return 0, 0
        return int(words[0]), int(words[1])


def _lock(file: int) -> None:
    """Lock an open file or raise OSError."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, ROOM_BYTES, os.SEEK_SET)  # what is locked there cannot be read by others
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
