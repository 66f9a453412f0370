"""Arrays in far memory: mapped files in a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.runtime import Array


class FarArrays:
    """Makes arrays that live in mapped files of a folder; a file is removed with its array.

    Without a folder, a temporary one is made where the system has such files, and removed at the end.

    >>> far = FarArrays()
    >>> array = far.new(3, np.dtype("uint32"))
    >>> array[:] = 7
    >>> array.tolist(), len(list(far.folder.iterdir()))
    ([7, 7, 7], 1)
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        if folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="tgraph-edges-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        else:
            self.folder = Path(folder)
            self.folder.mkdir(parents=True, exist_ok=True)
        self._numbers = count()

    def new(self, size: int, dtype: np.dtype[Any]) -> Array:
        """Return an array of `size` entries, whatever they are; the disk has room for all of them."""
        if size == 0:
            return np.empty(0, dtype)
        path = self.folder / f"cells-{os.getpid()}-{id(self):x}-{next(self._numbers)}"
        num_bytes = size * dtype.itemsize
        with path.open("wb+") as file:
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, num_bytes)
                file.truncate(num_bytes)
                mapped = np.memmap(file, dtype, "r+", shape=(size,))
            except OSError:
                path.unlink()
                raise
        weakref.finalize(mapped, path.unlink, missing_ok=True)
        return np.asarray(mapped)
