"""Building native files from files larger than memory: time, edges per second, and peak memory against the budget.

    python benchmarks/building_files.py --scale 22 --memory 256MiB --folder /somewhere/with/room

Every build is a process of its own. It builds a tiny graph first, so that everything is compiled; then its resident
memory is the baseline, and what the build adds at most (sampled every millisecond, mapped files included) is the peak.
With --cgroup (version 1, as root) it runs in a memory cgroup of the baseline and the budget: it could not use more,
page cache included.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tgraph as tg
from tgraph.budget import format_bytes, parse_bytes

CGROUPS = Path("/sys/fs/cgroup/memory")
SPREAD = 1_000_003 * 10**6  # makes 64-bit ids of vertex numbers


def to_strings(frame: pl.DataFrame) -> pl.DataFrame:
    """Return ids that are words."""
    return frame.select(pl.all().cast(pl.String).str.pad_start(8, "0").str.replace("^", "person-"))


KINDS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "integers": lambda frame: frame,
    "weighted": lambda frame: frame.with_columns(weight=(pl.col("source") % 97) / 4),
    "sparse": lambda frame: frame.select(pl.all().cast(pl.Int64) * SPREAD),
    "strings": to_strings,
}
TASKS = {  # name: the kind of edges, the ending of the file, options
    "text": ("integers", "txt", {}),
    "text, undirected": ("integers", "txt", {"directed": False}),
    "text, simplified": ("integers", "txt", {"duplicates": "first", "self_loops": "drop"}),
    "text, weights": ("weighted", "csv", {}),
    "text, sparse ids": ("sparse", "txt", {}),
    "text, strings": ("strings", "txt", {}),
    "text.gz": ("integers", "txt.gz", {}),
    "parquet": ("integers", "parquet", {}),
    "parquet, strings": ("strings", "parquet", {}),
    "native, undirected": ("integers", "safetensors", {"directed": False}),
    "chunks of arrays": ("chunks", "", {}),
}
EDGES_PER_CHUNK = 1 << 20


def make_source(folder: Path, kind: str, ending: str, scale: int) -> Path:
    """Write the edges of an R-MAT graph in one form, if they are not there yet."""
    path = folder / f"{kind}-{scale}.{ending}"
    if path.exists() or kind == "chunks":
        return path
    if ending == "safetensors":
        tg.build_file(make_source(folder, kind, "txt", scale), path, reverse=False)
    elif ending == "txt.gz":
        subprocess.run(["gzip", "-1", "-k", make_source(folder, kind, "txt", scale)], check=True)
    elif ending == "parquet":
        source = make_source(folder, kind, "txt", scale)
        names = {"has_header": False, "separator": "\t", "new_columns": ["source", "target"]}
        pl.scan_csv(source, **names).sink_parquet(path)
    else:
        with path.open("wb") as file:
            for sources, targets in tg.generate.rmat_chunks(scale, 16, seed=1):
                frame = KINDS[kind](pl.DataFrame({"source": sources, "target": targets}))
                frame.write_csv(file, include_header=False, separator="," if ending == "csv" else "\t")
    return path


def child(source: str, out: str, memory: int, options: dict[str, Any]) -> None:
    """Warm up, wait, build, and print what was seen."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, ending in (("integers", "txt"), ("weighted", "csv"), ("sparse", "txt"), ("strings", "txt")):
            small = make_source(Path(folder), kind, ending, 4)
            for more in ({}, options):
                tg.build_file(small, folder + "/small.safetensors", memory="16MiB", **more)
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # freed memory that is still resident would make the peak look small
    print("ready", flush=True)
    sys.stdin.readline()
    peak = Peak()
    started = time.perf_counter()
    build(Path(source), out, memory, options)
    print(json.dumps({"seconds": time.perf_counter() - started, "peak": peak.stop()}), flush=True)


def build(source: Path, out: str, memory: int, options: dict[str, Any]) -> None:
    """Build from the file, or from chunks of the size that its name says."""
    if source.suffix:
        tg.build_file(source, out, memory=memory, **options)
    else:
        scale = int(source.name.removeprefix("chunks-").removesuffix("."))
        chunks = tg.generate.rmat_chunks(scale, 16, seed=1, edges_per_chunk=EDGES_PER_CHUNK)
        tg.build_file(chunks, out, num_vertices=1 << scale, memory=memory, **options)


class Peak:
    """The most resident memory that the process has beyond what it has now."""

    def __init__(self) -> None:
        self._before, self._most, self._is_done = self._resident(), 0, False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Stop watching and return the bytes."""
        self._is_done = True
        self._thread.join()
        return self._most - self._before

    def _watch(self) -> None:
        while not self._is_done:
            self._most = max(self._most, self._resident())
            time.sleep(0.001)

    @staticmethod
    def _resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()


def measure(source: Path, out: Path, memory: int, options: dict[str, Any], in_cgroup: bool) -> dict[str, Any]:
    """Build in a process of its own; return what was seen there."""
    group = CGROUPS / f"tgraph-build-{os.getpid()}"
    command = [sys.executable, __file__, "--child", str(source), str(out), str(memory), json.dumps(options)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    if in_cgroup:
        group.mkdir()
    try:
        if in_cgroup:
            (group / "cgroup.procs").write_text(str(process.pid))
        process.stdout.readline()
        if in_cgroup:
            resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * resource.getpagesize()
            used = int((group / "memory.usage_in_bytes").read_text())
            (group / "memory.limit_in_bytes").write_text(str(min(resident, used) + memory))
        process.stdin.write("go\n")
        process.stdin.flush()
        line = process.stdout.readline()
        return json.loads(line) if line else {"failed": f"ended with {process.wait()}"}
    finally:
        process.kill()
        process.wait()
        if in_cgroup:
            group.rmdir()


def check(source: Path, out: Path, options: dict[str, Any]) -> str:
    """Compare with what memory gives."""
    built = tg.read(out, check="offsets", runtime="numpy")
    if source.suffix == ".safetensors":
        expected = tg.from_edges(*tg.read(source, runtime="numpy").edges(), directed=False, runtime="numpy")
    else:
        expected = tg.read(source, runtime="numpy", **options)
    rows = zip(built.adjacency("out").to_numpy(), expected.adjacency("out").to_numpy(), strict=True)
    is_same = all(one is other is None or np.array_equal(one, other) for one, other in rows)
    return "same" if is_same and built.num_edges == expected.num_edges else "DIFFERS"


def main() -> None:
    """Measure every task and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--memory", default="256MiB")
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--tasks", default=";".join(TASKS), help="names, with ; between them")
    parser.add_argument("--cgroup", action="store_true")
    parser.add_argument("--check", action="store_true", help="also compare with what memory gives")
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.child:
        source, out, budget, options = given.child
        child(source, out, int(budget), json.loads(options))
        return
    memory, num_edges = parse_bytes("--memory", given.memory), 16 << given.scale
    print("| source | file | seconds | edges/s | peak | peak / budget | answer |")
    print("|---|---|---|---|---|---|---|")
    for name in given.tasks.split(";"):
        kind, ending, options = TASKS[name]
        source, out = make_source(given.folder, kind, ending, given.scale), given.folder / "built.safetensors"
        seen = measure(source, out, memory, options, given.cgroup)
        cells = [name, format_bytes(source.stat().st_size) if source.exists() else ""]
        if "failed" in seen:
            cells += [seen["failed"], "", "", "", ""]
        else:
            cells += [f"{seen['seconds']:.1f}", f"{num_edges / seen['seconds']:,.0f}", format_bytes(seen["peak"])]
            cells += [
                f"{seen['peak'] / memory:.2f}",
                check(source, out, options) if given.check and source.exists() else "",
            ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
