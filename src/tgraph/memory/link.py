"""The way between far and near memory: how fast it is, measured once per machine and disk, and kept.

| what | how it is measured |
|---|---|
| `bytes_per_second` | large requests, several in flight, past the page cache |
| `seconds_per_request` | small requests at random positions, several in flight |
| `seconds_per_fault` | pages of the mapped file, touched one after the other at random |
| `seconds_per_plan` | processor time for finding the pages of one row and asking for them |

The figures are in `links.json` in `config.cache_dir`, by device; delete it to measure again. A file that is too small
to measure gets those of its disk where they are known, else typical figures of a solid-state disk, which are not kept.
"""

from __future__ import annotations

import json
import mmap
import os
import platform
import statistics
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tgraph.config import config
from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, aligned_bytes, make_buffer
from tgraph.memory.transfer.compact import plan_compact
from tgraph.runtime import Array

SMALLEST_FILE = 64 << 20  # to be measured with
SEQUENTIAL_BYTES = 16 << 20  # read several times, from one place after the other
SEQUENTIAL_READS = 16
SMALL_REQUESTS, FAULTS, PLANS = 1024, 128, 64


@dataclass(frozen=True)
class Link:
    """What moving costs."""

    bytes_per_second: float
    seconds_per_request: float
    seconds_per_fault: float
    seconds_per_plan: float  # of the processor, for the rows of a block that are moved alone, of each array

    def describe(self) -> str:
        """Return the figures in words."""
        return (
            f"{self.bytes_per_second / 1e9:.2f} GB/s in large requests, {1 / self.seconds_per_request:,.0f} small "
            f"requests/s, {1 / self.seconds_per_fault:,.0f} page faults/s, "
            f"{self.seconds_per_plan * 1e6:.0f} microseconds for a plan"
        )


TYPICAL = Link(bytes_per_second=1.5e9, seconds_per_request=6e-5, seconds_per_fault=2e-4, seconds_per_plan=1e-4)


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
    """Measure with a file of at least `SMALLEST_FILE` bytes; takes about a second."""
    size = os.stat(path).st_size
    everything = FarArray(0, np.dtype(np.uint8), size // ALIGNMENT * ALIGNMENT)
    places = np.random.default_rng(1).integers(0, everything.size // ALIGNMENT, SMALL_REQUESTS) * ALIGNMENT
    length = min(SEQUENTIAL_BYTES, everything.size)
    buffer = make_buffer(aligned_bytes(length))
    buffer[:] = 0  # the memory itself costs time when it is first used
    sequential = []
    with FarFile(path) as file:
        for first in range(0, min(SEQUENTIAL_READS * length, everything.size) - length + 1, length):
            started = time.perf_counter()
            file.start_read(everything, first, first + length, buffer).wait()
            sequential.append(time.perf_counter() - started)
        ranges = np.stack([places, places + ALIGNMENT], axis=1)
        started = time.perf_counter()
        file.start_ranges(ranges, everything.size, buffer, everything.dtype).wait()
        small = time.perf_counter() - started
        plan = _seconds_per_plan(file, everything, places[:PLANS], buffer)
    fault = _seconds_per_fault(path, places[:FAULTS])
    return Link(length / statistics.median(sequential), small / SMALL_REQUESTS, fault, plan)


def _seconds_per_plan(file: FarFile, everything: FarArray, places: Array, buffer: Array) -> float:
    end, seconds = everything.position + everything.num_bytes, []
    for place in places.reshape(-1, 1):
        started = time.process_time()
        planned = plan_compact(everything, place, place + 1)
        file.start_ranges(planned.ranges, end, buffer, everything.dtype).wait()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def _seconds_per_fault(path: str | os.PathLike[str], places: Array) -> float:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
            if hasattr(mmap, "MADV_RANDOM"):
                mapped.madvise(mmap.MADV_RANDOM)
            started = time.perf_counter()
            for place in places.tolist():
                mapped[place]
            return (time.perf_counter() - started) / len(places)
    finally:
        os.close(descriptor)


def _read_kept(path: Path) -> dict[str, Link]:
    try:
        return {name: Link(**figures) for name, figures in json.loads(path.read_text()).items()}
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
