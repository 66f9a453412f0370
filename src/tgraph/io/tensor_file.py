"""Tensors in a safetensors file: where they lie, mapped and written without copies of them in memory."""

from __future__ import annotations

import json
import mmap
import shutil
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tgraph.errors import FileFormatError
from tgraph.io.rows import FilePath
from tgraph.runtime import Array

Tensors: TypeAlias = dict[str, tuple[str, Array]]  # name: (the format's name of the type, array)

_DTYPES = {"I64": "<i8", "I32": "<i4", "F64": "<f8", "F32": "<f4", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_LINUX_MAP_NORESERVE = 0x4000  # Python 3.11 has no name for it


def locate(path: FilePath) -> dict[str, tuple[int, np.dtype[Any], int]]:
    """Return where the tensors lie in a native file, by name: first byte, element type, number of elements."""
    start, header = read_header(path)
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__" and entry["dtype"] in _DTYPES}
    return {
        name: (start + entry["data_offsets"][0], np.dtype(_DTYPES[entry["dtype"]]), entry["shape"][0])
        for name, entry in tensors.items()
        if len(entry["shape"]) == 1
    }


def read_header(path: FilePath) -> tuple[int, dict[str, Any]]:
    """Return where the tensors begin, and what the header says of each. The library has validated it before."""
    with open(path, "rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        return 8 + header_bytes, json.loads(file.read(header_bytes))


def map_tensors(path: FilePath) -> Tensors:
    """Return every tensor with the format's name of its type; those that no graph has stay bare bytes."""
    start, header = read_header(path)
    data = map_file(path)[start:]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind, array = entry["dtype"], data[begin:end]
        if len(entry["shape"]) != 1:
            kind = f"{kind} with {len(entry['shape'])} dimensions"
        elif kind in _DTYPES:
            is_aligned = not array.size or array.ctypes.data % np.dtype(_DTYPES[kind]).itemsize == 0
            array = (array if is_aligned else array.copy()).view(_DTYPES[kind])
        tensors[name] = (kind, array)
    return tensors


def read_tensors(path: FilePath) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the mapped tensors and the metadata of any file that `write_tensors` made."""
    metadata: dict[str, str] = read_header(path)[1].get("__metadata__", {})
    return {name: array for name, (_, array) in map_tensors(path).items()}, metadata


def find_tensor(path: FilePath, tensors: Tensors, name: str, dtypes: tuple[str, ...]) -> Array:
    if name not in tensors:
        raise FileFormatError(path, name, "is missing")
    dtype, array = tensors[name]
    if dtype not in dtypes:
        raise FileFormatError(path, name, f"is {dtype}; it must be {' or '.join(dtypes)} with one dimension")
    return array


def map_file(path: FilePath, at_random: bool = False) -> Array:
    """Map a file privately: writable for runtimes that ask for it, without ever changing the file.

    `at_random` says that pages will be touched here and there, so that the system reads none ahead.
    """
    with open(path, "rb") as file:
        try:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError:
            if sys.platform != "linux":
                raise
            # Linux wants to reserve memory for all pages, which a file larger than memory cannot have.
            flags, protection = mmap.MAP_PRIVATE | _LINUX_MAP_NORESERVE, mmap.PROT_READ | mmap.PROT_WRITE
            mapping = mmap.mmap(file.fileno(), 0, flags=flags, prot=protection)
    if at_random and hasattr(mmap, "MADV_RANDOM"):
        mapping.madvise(mmap.MADV_RANDOM)
    return np.frombuffer(mapping, np.uint8)


def forget_pages(mapped: Array) -> None:
    """Let the system take back the pages of the file that an array is mapped from; they come again when touched."""
    base: Any = mapped
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def write_tensors(path: Path, tensors: dict[str, Array], metadata: dict[str, str]) -> None:
    """Write the safetensors layout straight from the arrays; the library would copy them all in memory first."""
    ordered = sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)  # keeps every tensor aligned
    with path.open("wb") as file:
        file.write(_header([(name, array.dtype, array.size) for name, array in ordered], metadata))
        for _, array in ordered:
            np.ascontiguousarray(array).astype(_DTYPES[_NAMES[array.dtype]], copy=False).tofile(file)


def write_parts(path: Path, parts: dict[str, tuple[Path, np.dtype[Any]]], metadata: dict[str, str]) -> None:
    """Write the file from tensors that lie in files of their own: name to file and element type."""
    ordered = sorted(parts.items(), key=lambda item: -item[1][1].itemsize)
    sizes = [(name, dtype, part.stat().st_size // dtype.itemsize) for name, (part, dtype) in ordered]
    with path.open("wb") as file:
        file.write(_header(sizes, metadata))
        for _, (part, _dtype) in ordered:
            with part.open("rb") as content:
                shutil.copyfileobj(content, file, 1 << 24)


def _header(tensors: list[tuple[str, np.dtype[Any], int]], metadata: dict[str, str]) -> bytes:
    """Return what stands before tensors (name, type, size) that follow one behind the other."""
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, dtype, size in tensors:
        begin, end = end, end + size * dtype.itemsize
        header[name] = {"dtype": _NAMES[dtype], "shape": [size], "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
