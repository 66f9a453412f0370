"""What the ranks of a group have computed so far, in a folder that all of them see.

Every rank writes its part to a file of its own. When all are written, rank 0 replaces the list of parts, and only then
do the parts of the list before go away: whenever a rank is killed, one whole list is there. A part says which vertices
it holds and has a checksum, so that a group of another size can go on from it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, StoreReadError
from tgraph.group import Group
from tgraph.io.files import replacing
from tgraph.io.tensor_file import read_tensors, write_tensors
from tgraph.memory import checkpoint
from tgraph.memory.checkpoint import fingerprint
from tgraph.runtime import Array

MIXER = np.uint64(0x9E3779B97F4A7C15)


class GroupCheckpoint:
    """The checkpoint of one run; this rank's vertices are `count` from `first` on. All ranks call its methods."""

    def __init__(
        self, folder: str | os.PathLike[str], name: str, identity: str, group: Group, first: int, count: int
    ) -> None:
        self._folder, self._name, self._identity = Path(folder), name, identity
        self._group, self._first, self._count = group, first, count
        self._list = self._folder / f"{name}.json"
        self._parts: list[dict[str, Any]] = []  # of the list in force
        self._saved = time.perf_counter()
        self._folder.mkdir(parents=True, exist_ok=True)

    @property
    def is_due(self) -> bool:
        """Whether rank 0 wants to save; the ranks ask each other before they do."""
        return self._group.rank == 0 and time.perf_counter() - self._saved >= checkpoint.SECONDS_BETWEEN

    def load(self, arrays: Mapping[str, Array]) -> dict[str, Any] | None:
        """Fill the arrays with the values of the own vertices; return what was noted, None if there is nothing."""
        content = self._list.read_bytes() if self._group.rank == 0 and self._list.exists() else b""
        given = np.frombuffer(content, np.uint8)
        listed = self._group.join(given, self._group.share(np.array([given.size]))[:, 0]).tobytes()
        if not listed:
            return None
        found = json.loads(listed)
        if found["identity"] != self._identity:
            raise InvalidArgumentError(
                f"checkpoint {self._list} belongs to another run: other numbers, functions or another graph; remove it "
                "or give another folder"
            )
        self._parts = found["parts"]
        for part in self._parts:
            self._read(part, arrays)
        noted: dict[str, Any] = found["noted"]
        return noted

    def save(self, arrays: Mapping[str, Array], noted: Mapping[str, Any], iteration: int) -> None:
        """Write the values of the own vertices, and some numbers that are the same on all ranks."""
        group, before = self._group, self._parts
        file = f"{self._name}-{iteration}-{group.rank}.safetensors"
        if any(part["file"] == file for part in before):  # the list in force still needs it
            file = f"{self._name}-{iteration}-{group.rank}-again.safetensors"
        with replacing(self._folder / file) as temporary:
            write_tensors(temporary, {name: array.view(np.uint8) for name, array in arrays.items()}, {})
        checksum = fingerprint(*arrays.values())
        mine = json.dumps({"file": file, "first": self._first, "count": self._count, "checksum": checksum})
        told = np.frombuffer(mine.encode() + b"\n", np.uint8)
        lines = group.join(told, group.share(np.array([told.size]))[:, 0]).tobytes().decode()
        self._parts = [json.loads(line) for line in lines.splitlines()]
        if group.rank == 0:
            found = {"identity": self._identity, "parts": self._parts, "noted": dict(noted)}
            with replacing(self._list) as temporary:
                temporary.write_text(json.dumps(found))
            self._remove(before)
        group.share(np.zeros(1))  # nobody goes on before the list is in force
        self._saved = time.perf_counter()

    def remove(self) -> None:
        """Forget: the run has ended. Parts that killed ranks left, which no list has, go too."""
        if self._group.rank == 0:
            self._list.unlink(missing_ok=True)
            for pattern in (f"{self._name}-*.safetensors", f".{self._name}-*.tmp", f".{self._list.name}.*.tmp"):
                for path in self._folder.glob(pattern):
                    path.unlink(missing_ok=True)

    def _remove(self, parts: list[dict[str, Any]]) -> None:
        for part in parts:
            Path(self._folder, part["file"]).unlink(missing_ok=True)

    def _read(self, part: dict[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take from one part what belongs to own vertices."""
        begin = max(part["first"], self._first)
        end = min(part["first"] + part["count"], self._first + self._count)
        if begin >= end:
            return
        path = self._folder / part["file"]
        tensors, _ = read_tensors(path)
        found = {name: tensors[name].view(array.dtype) for name, array in arrays.items()}
        if fingerprint(*found.values()) != part["checksum"]:
            raise StoreReadError(f"{path} is damaged: its checksum is another; remove {self._list} to begin anew")
        for name, array in arrays.items():
            array[begin - self._first : end - self._first] = found[name][begin - part["first"] : end - part["first"]]


def divided_fingerprint(group: Group, arrays: Mapping[str, Array], first: int) -> list[int]:
    """Return a number for each array of vertex data that does not depend on how it is divided among ranks."""
    sums = []
    for array in arrays.values():
        words = np.zeros(array.size, np.uint64)
        words.view(np.uint8).reshape(-1, 8)[:, : array.dtype.itemsize] = array.view(np.uint8).reshape(array.size, -1)
        places = np.arange(first + 1, first + 1 + array.size, dtype=np.uint64)
        mixed = (words ^ (places * MIXER)) * MIXER
        sums.append(np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(29))) if array.size else np.uint64(0))
    return np.bitwise_xor.reduce(group.share(np.array(sums, np.uint64)), axis=0).tolist()
