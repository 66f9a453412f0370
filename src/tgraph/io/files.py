"""Opening files for the formats: decompression by ending, and writing that never leaves half a file."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zstandard

from tgraph.errors import FileFormatError

COMPRESSIONS = (".gz", ".zst")


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
            return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(raw)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise FileFormatError(
            path, "compressed data", f"cannot be decompressed ({error}); is the file complete?"
        ) from error
    return raw


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to; rename it to `path` at the end, or remove it after an error."""
    final = Path(path)
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
