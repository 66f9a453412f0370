"""The way between far and near memory: how fast it is, measured once per machine and disk, and kept.

| what | how it is measured |
|---|---|
| `bytes_per_second` | large requests, several in flight, past the page cache |
| `seconds_per_request` | small requests at random positions, several in flight |
| `seconds_alone` | the same, one in flight |
| `seconds_per_fault` | pages of the mapped file, touched one after the other at random |
| `seconds_per_plan` | finding the active rows of a block, and the pages that they lie on |

Each is measured several times, and the best counts: what else the machine does only makes it slower. The figures are in
`links.json` in `config.cache_dir`, by device; delete it to measure again. A file that is too small to measure gets
those of its disk where they are known, else typical figures of a solid-state disk, which are not kept.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import platform
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.config import config
from tgraph.layout.partition import Block
from tgraph.memory.far_file import ALIGNMENT, REQUESTS_IN_FLIGHT, FarArray, FarFile, aligned_bytes, make_buffer
from tgraph.memory.transfer.compact import list_rows, plan_compact
from tgraph.runtime import Array

SMALLEST_FILE = 64 << 20  # to be measured with
SEQUENTIAL_BYTES = 16 << 20  # read at a time
SMALL_REQUESTS, ALONE, FAULTS = 256, 32, 32  # at random places, several times
PLANNED_ROWS = 1 << 14  # in a block, of which some are active
REPEATED = 5


@dataclass(frozen=True)
class Link:
    """What moving costs."""

    bytes_per_second: float
    seconds_per_request: float
    seconds_per_fault: float
    seconds_per_plan: float  # of the processor, for a block whose rows are moved alone
    seconds_alone: float = field(default=0.0, kw_only=True)  # that a small request takes by itself

    def with_requests(self, in_flight: int) -> Link:
        """Return the figures for so many requests in flight: twice as many make each cheaper by the same factor.

        >>> link = Link(2e9, 1e-5, 1e-4, 1e-5, seconds_alone=8e-5)
        >>> [round(link.with_requests(count).seconds_per_request * 1e6) for count in (1, 2, 4, 8)]
        [80, 40, 20, 10]
        """
        if self.seconds_alone <= self.seconds_per_request:
            return self
        part = math.log(in_flight, REQUESTS_IN_FLIGHT)
        seconds = self.seconds_alone * (self.seconds_per_request / self.seconds_alone) ** part
        return replace(self, seconds_per_request=seconds)

    def describe(self) -> str:
        """Return the figures in words."""
        return (
            f"{self.bytes_per_second / 1e9:.2f} GB/s in large requests, {1 / self.seconds_per_request:,.0f} small "
            f"requests/s ({self.seconds_alone * 1e6:.0f} microseconds for one alone), "
            f"{1 / self.seconds_per_fault:,.0f} page faults/s, "
            f"{self.seconds_per_plan * 1e6:.0f} microseconds for a plan"
        )


TYPICAL = Link(1.5e9, seconds_per_request=6e-5, seconds_per_fault=2e-4, seconds_per_plan=1e-4, seconds_alone=2e-4)


def link_for(path: str | os.PathLike[str]) -> Link:
    """Return the figures of the disk that holds a file, measured now if nobody did before."""
    status = os.stat(path)
    kept, name = Path(config.cache_dir) / "links.json", f"{platform.node()} {status.st_dev}"
    known = _read_kept(kept)
    if name not in known:
        if status.st_size < SMALLEST_FILE:
            return TYPICAL
        known[name] = measure_link(path)
        _keep(kept, {**_read_kept(kept), name: known[name]})
    return known[name]


def measure_link(path: str | os.PathLike[str]) -> Link:
    """Measure with a file of at least `SMALLEST_FILE` bytes; takes a fraction of a second."""
    _write_out(path)
    size = os.stat(path).st_size
    everything = FarArray(0, np.dtype(np.uint8), size // ALIGNMENT * ALIGNMENT)
    length = min(SEQUENTIAL_BYTES, SMALLEST_FILE)
    buffer = make_buffer(aligned_bytes(length))
    buffer[:] = 0  # the memory itself costs time when it is first used
    rng = np.random.default_rng(1)

    def pages(count: int) -> Array:
        return rng.integers(0, everything.size // ALIGNMENT, count) * ALIGNMENT

    with FarFile(path) as file:

        def read_large(first: int) -> None:
            for begin in range(first, first + SMALLEST_FILE, length):
                file.start_read(everything, begin, begin + length, buffer).wait()

        def read_small(places: Array, file: FarFile = file) -> None:
            ranges = np.stack([places, places + ALIGNMENT], axis=1)
            file.start_ranges(ranges, everything.size, buffer, everything.dtype).wait()

        large = _best_seconds(read_large, range(0, everything.size - SMALLEST_FILE + 1, SMALLEST_FILE)[:REPEATED])
        small = _best_seconds(read_small, [pages(SMALL_REQUESTS) for _ in range(REPEATED)])
    with FarFile(path, requests_in_flight=1) as file:
        alone = _best_seconds(partial(read_small, file=file), [pages(ALONE) for _ in range(REPEATED)])
    faults = _best_seconds(partial(_touch, path), [pages(FAULTS) for _ in range(REPEATED)])
    figures = SMALLEST_FILE / large, small / SMALL_REQUESTS, faults / FAULTS, _seconds_per_plan()
    return Link(*figures, seconds_alone=alone / ALONE)


def _write_out(path: str | os.PathLike[str]) -> None:
    """Wait until the system has written a new file to its disk: meanwhile reads take two to four times as long."""
    with suppress(OSError), open(path, "rb") as file:  # a platform that writes out only who may write
        os.fsync(file.fileno())


def _touch(path: str | os.PathLike[str], places: Array) -> None:
    """Read one byte of every place of a mapped file, of which nothing is in memory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
            if hasattr(mmap, "MADV_RANDOM"):
                mapped.madvise(mmap.MADV_RANDOM)
            for place in places.tolist():
                mapped[place]
    finally:
        os.close(descriptor)


def _seconds_per_plan() -> float:
    offsets = np.arange(PLANNED_ROWS + 1) * 8
    block, array = Block(0, PLANNED_ROWS, 0, int(offsets[-1])), FarArray(0, np.dtype(np.int32), int(offsets[-1]))
    active = np.arange(PLANNED_ROWS) % 1024 == 0
    return _best_seconds(lambda _: plan_compact(array, *list_rows(active, offsets, block)[1:]), range(4 * REPEATED))


def _best_seconds(do: Callable[[Any], object], inputs: Iterable[Any]) -> float:
    seconds = []
    for given in inputs:
        started = time.perf_counter()
        do(given)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _read_kept(path: Path) -> dict[str, Link]:
    try:
        kept = json.loads(path.read_text()).items()
        return {name: Link(**figures) for name, figures in kept if len(figures) == len(fields(Link))}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _keep(path: Path, known: dict[str, Link]) -> None:
    """Write to a name of this process and rename; where that is not possible, the figures are measured again."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps({name: asdict(link) for name, link in known.items()}, indent=1))
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
