"""What a long run has computed so far, in a file, so that it can go on after it was killed.

The file is replaced in one step, holds vertex data only, and says to which run it belongs: the same functions, numbers,
starting values and graph. Another run does not touch it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.io.files import replacing
from tgraph.io.tensor_file import read_tensors, write_tensors
from tgraph.runtime import Array

SECONDS_BETWEEN = 20.0  # from the end of one saving to the beginning of the next


def fingerprint(*parts: Any) -> str:
    """Return a name for texts, numbers and arrays that is never that of others."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(repr((part.dtype.str, part.shape)).encode())
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


class Checkpoint:
    """One file in a folder, for one run."""

    def __init__(self, folder: str | os.PathLike[str], name: str, identity: str) -> None:
        self.path, self._identity = Path(folder, f"{name}.safetensors"), identity
        self._saved = time.perf_counter()
        Path(folder).mkdir(parents=True, exist_ok=True)

    def load(self, arrays: Mapping[str, Array], schedule: str) -> dict[str, Any] | None:
        """Return what was noted, None if there is no file; fill the arrays, if the file is of this schedule."""
        if not self.path.exists():
            return None
        tensors, metadata = read_tensors(self.path)
        if metadata.get("identity") != self._identity:
            raise InvalidArgumentError(
                f"checkpoint {self.path} belongs to another run: other numbers, functions or another graph; remove it "
                "or give another folder"
            )
        noted: dict[str, Any] = json.loads(metadata["noted"])
        for name, array in arrays.items() if noted["schedule"] == schedule else ():
            array.view(np.uint8)[:] = tensors[name].view(np.uint8)
        return noted

    def save(self, arrays: Mapping[str, Array], noted: Mapping[str, Any]) -> None:
        """Write the arrays and some numbers, unless that was done a short while ago."""
        if time.perf_counter() - self._saved < SECONDS_BETWEEN:
            return
        metadata = {"identity": self._identity, "noted": json.dumps(dict(noted))}
        with replacing(self.path) as temporary:
            write_tensors(temporary, {name: array.view(np.uint8) for name, array in arrays.items()}, metadata)
        self._saved = time.perf_counter()

    def remove(self) -> None:
        """Forget: the run has ended."""
        self.path.unlink(missing_ok=True)
