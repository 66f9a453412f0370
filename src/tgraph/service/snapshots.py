"""Snapshots of a graph that changes: files that appear whole or not at all, and that are known by their checksum."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.errors import FileFormatError
from tgraph.graph import DynamicGraph
from tgraph.io import store

READ_BYTES = 1 << 22


@dataclass(frozen=True)
class Snapshot:
    """The graph after a number of batches."""

    number: int
    num_bytes: int
    digest: bytes
    removed: bytes  # the numbers of vertices that were removed, int64; in the file they are isolated

    def path(self, folder: Path) -> Path:
        """Return where its file is."""
        return folder / file_name(self.number)


def file_name(number: int) -> str:
    """Return the name of the snapshot after so many batches."""
    return f"snapshot-{number}.safetensors"


def find_files(folder: Path) -> dict[int, Path]:
    """Return the snapshots in a folder by number."""
    names = ((re.fullmatch(r"snapshot-(\d+)\.safetensors", path.name), path) for path in folder.iterdir())
    return {int(found[1]): path for found, path in names if found}


def remove_unfinished(folder: Path) -> None:
    """Remove what was not written to its end."""
    for path in (*folder.glob("snapshot-*.tmp"), *folder.glob(".snapshot-*.tmp")):
        path.unlink(missing_ok=True)


def write(graph: DynamicGraph, folder: Path) -> Snapshot:
    """Write the graph as it is; the file is on the disk, whole, when it has its name."""
    path = folder / file_name(graph.version)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        store.write(graph.all_places(), temporary)
        sync(temporary)
        num_bytes, digest = temporary.stat().st_size, digest_of(temporary)
        os.replace(temporary, path)
        sync(folder)
    finally:
        temporary.unlink(missing_ok=True)
    removed = np.flatnonzero(graph.removed).astype("<i8")
    return Snapshot(graph.version, num_bytes, digest, removed.tobytes())


def read(snapshot: Snapshot, folder: Path, where: dict[str, Any], options: dict[str, Any]) -> DynamicGraph:
    """Return the graph of a snapshot: `where` are runtime and device, `options` those of a `DynamicGraph`."""
    path = snapshot.path(folder)
    check(snapshot, folder)
    graph = DynamicGraph(store.read(path, **where), **options)
    removed = np.frombuffer(snapshot.removed, "<i8")
    if removed.size:
        graph.apply(remove_vertices=removed if graph.labels is None else graph.labels[removed])
    graph.version = snapshot.number
    return graph


def check(snapshot: Snapshot, folder: Path) -> None:
    """Raise unless the file is there and as it was written."""
    path = snapshot.path(folder)
    if not path.is_file():
        raise FileFormatError(path, "snapshot", "is missing")
    num_bytes = path.stat().st_size
    if num_bytes != snapshot.num_bytes:
        raise FileFormatError(path, "snapshot", f"has {num_bytes} bytes, not the {snapshot.num_bytes} it was made with")
    if digest_of(path) != snapshot.digest:
        raise FileFormatError(path, "snapshot", "has another checksum than the one it was made with")


def digest_of(path: Path) -> bytes:
    """Return the checksum of a file."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while content := file.read(READ_BYTES):
            digest.update(content)
    return digest.digest()


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
