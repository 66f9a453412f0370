"""Opening files for the formats: decompression by ending, and writing that never leaves half a file."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, cast

import numpy as np
import zstandard

from tgraph.errors import FileFormatError
from tgraph.runtime import Array

COMPRESSIONS = (".gz", ".zst")
READ_BYTES = 1 << 20


class Reader(Protocol):
    """Whatever bytes can be read from, one behind the other."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end only."""


def split_ending(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the format's ending and the compression's ending of a file name, in lower case.

    >>> split_ending("web/Roads.MTX.gz"), split_ending("edges.txt")
    (('.mtx', '.gz'), ('.txt', ''))
    """
    name = Path(path)
    compression = name.suffix.lower() if name.suffix.lower() in COMPRESSIONS else ""
    return (Path(name.stem) if compression else name).suffix.lower(), compression


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the whole content, decompressed where the file's name ends in .gz or .zst."""
    raw = Path(path).read_bytes()
    compression = split_ending(path)[1]
    try:
        if compression == ".gz":
            return gzip.decompress(raw)
        if compression == ".zst":
            return b"".join(_unpacked(iter([raw])))
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise _damage(path, error) from error
    return raw


class ByteStream:
    """The content of a file from its beginning to its end, decompressed where its name ends in .gz or .zst."""

    def __init__(self, path: str | os.PathLike[str], raw: IO[bytes]) -> None:
        self._path, self._raw = path, raw
        self._total = max(os.fstat(raw.fileno()).st_size, 1)
        compression = split_ending(path)[1]
        self._content: Reader = raw
        if compression == ".gz":
            self._content = cast(Reader, gzip.GzipFile(fileobj=raw))
        elif compression == ".zst":
            self._content = _ZstdReader(raw)

    @property
    def done(self) -> float:
        """The part of the file that was read, 0 to 1."""
        return self._raw.tell() / self._total

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end only."""
        try:
            return self._content.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as error:
            raise _damage(self._path, error) from error


@contextmanager
def open_stream(path: str | os.PathLike[str]) -> Iterator[ByteStream]:
    """Open a file to be read from its beginning to its end."""
    with open(path, "rb") as raw:
        yield ByteStream(path, raw)


class _ZstdReader:
    """Bytes of a zstd file; unlike the library's own reader it notices that a file is cut short."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._pieces = _unpacked(iter(lambda: raw.read(READ_BYTES), b""))
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = piece
        wanted, self._rest = self._rest[:size], self._rest[size:]
        return wanted


def _unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of pieces of a zstd file, frame by frame."""
    frame = None
    for piece in pieces:
        while piece:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(piece)
            piece = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("it ends in the middle")


def _damage(path: str | os.PathLike[str], error: Exception) -> FileFormatError:
    return FileFormatError(path, "compressed data", f"cannot be decompressed ({error}); is the file complete?")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to; rename it to `path` at the end, or remove it after an error."""
    final = Path(path)
    if final.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if not final.parent.is_dir():
        raise FileNotFoundError(f"the folder {final.parent} does not exist; create it before writing {final.name}")
    temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write the whole content at once, compressed where the file's name ends in .gz or .zst."""
    compression = split_ending(path)[1]
    if compression == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)
    elif compression == ".zst":
        content = zstandard.ZstdCompressor().compress(content)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_array(file: IO[bytes], array: Array) -> None:
    """Append the elements of an array; unlike `tofile`, this says why it could not."""
    if array.size:
        file.write(np.ascontiguousarray(array).view(np.uint8).data)
