"""Other systems for graphs that change, built from a clone: what they need, and how a run of theirs is read.

RisGraph (Feng and others, SIGMOD 2021): bfs, sssp, wcc. Its programs know one kind of workload and make weights from
ids, so `risgraph_batches.cpp` calls its library as they do, with our batches and weights. It needs oneTBB (`CPATH`,
`LIBRARY_PATH` and `LD_LIBRARY_PATH` where it is not the system's) and a clone with submodules; -Ofast -march=native is
what its own build uses.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from streaming_files import StreamFiles

RISGRAPH_TASKS = ("bfs", "sssp", "wcc")
NOT_REACHED = 1 << 27


@dataclass(frozen=True)
class PeerRun:
    """What was seen of one run: seconds per batch, the peak of its memory meanwhile, and the values at the end."""

    apply_seconds: list[float]
    compute_seconds: list[float]
    peak_bytes: int
    values: Any


def build_risgraph(clone: Path) -> Path:
    """Compile the program, where that was not done before."""
    source, program = Path(__file__).with_name("risgraph_batches.cpp"), clone / "build" / "risgraph_batches"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    program.parent.mkdir(exist_ok=True)
    command = ["g++", "-std=c++17", "-Ofast", "-DNDEBUG", "-march=native", "-fopenmp", "-w"]
    command += [f"-I{clone / folder}" for folder in ("", "deps", "deps/abseil-cpp")]
    command += [str(source), str(clone / "core" / "mmapalloc.cpp"), "-ltbb", "-lpthread", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def run_risgraph(program: Path, files: StreamFiles, name: Path, task: str, threads: int) -> PeerRun:
    """Run all batches of one file, one after another."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        paths = files.base, name.with_suffix(".sizes"), name.with_suffix(".edges"), answers
        command = [str(program), task, str(files.source), str(files.num_vertices), *map(str, paths)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        values = np.fromfile(answers, np.uint64).astype(np.int64)
    lines = [line.split() for line in done.stdout.splitlines()]
    seconds = np.array([row for row in lines if row[0] not in ("fresh", "peak")], float).reshape(-1, 2, 2).sum(axis=1)
    peak_bytes = int(lines[-1][1])
    return PeerRun(seconds[:, 0].tolist(), seconds[:, 1].tolist(), peak_bytes, values)


def is_same(task: str, ours: Any, theirs: Any) -> bool:
    """Whether RisGraph found what we found: levels or distances, or the smallest vertex of every component."""
    reached = np.isfinite(ours) & (ours >= 0)
    expected = np.where(reached, np.where(reached, ours, 0).astype(np.int64), NOT_REACHED)
    return bool(np.array_equal(expected, theirs))
