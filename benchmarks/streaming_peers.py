"""Other systems for graphs that change, built from a clone: what they need, and how a run of theirs is read.

| name | tasks | needs |
|---|---|---|
| `risgraph` | bfs, sssp, wcc | a clone with submodules; oneTBB (`CPATH`, `LIBRARY_PATH`, `LD_LIBRARY_PATH`) |
| `graphbolt` | pagerank | a clone in which `install_mimalloc.sh` was run |

RisGraph (Feng and others, SIGMOD 2021): its programs know one kind of workload and make weights from ids, so
`risgraph_batches.cpp` calls its library as they do, with our batches and weights; -Ofast -march=native is what its own
build uses. GraphBolt (Mariappan and Vora, EuroSys 2019, with DZiG, EuroSys 2021) is compiled unchanged with OpenMP
instead of Cilk, -O3 -march=native. Its PageRank is 10 iterations of ranks that sum to the number of vertices, a change
below 0.01 is not passed on, and the mass of vertices without outgoing edges is dropped. Every size of batch has a run
of its own, from the graph at the beginning; the time of reading text is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from streaming_files import Changes, StreamFiles, read_batches

NOT_REACHED = 1 << 27
MIMALLOC = "lib/mimalloc/out/release"
GRAPHBOLT_TIMES = re.compile(r"^(?:Edge deletion time|Edge addition time|Finished batch) : ([\d.]+)", re.M)


@dataclass(frozen=True)
class Machine:
    """How many threads a process has, and which clock counts: `wall`, or `cpu`, the time of its threads."""

    threads: int
    clock: str

    def command(self, *words: Any) -> list[str]:
        """Return a command that sees as many processors as it is to have threads."""
        return ["taskset", "-c", f"0-{self.threads - 1}", *map(str, words)]

    def environment(self, **more: str) -> dict[str, str]:
        """Return the variables of a process."""
        return {**os.environ, "OMP_NUM_THREADS": str(self.threads), **more}


@dataclass(frozen=True)
class PeerRun:
    """What was seen of one run: seconds per batch, the peak of its memory meanwhile, and the values at the end."""

    apply_seconds: list[float]
    compute_seconds: list[float]
    peak_bytes: int | None = None
    values: Any = None


@dataclass(frozen=True)
class Peer:
    """A system: its tasks, how its program is built from a clone, and how it runs all batches of a file."""

    title: str
    tasks: tuple[str, ...]
    build: Callable[[Path], Path]
    run: Callable[[Path, StreamFiles, Path, str, Machine], PeerRun]


def is_same(ours: Any, theirs: Any) -> bool:
    """Whether RisGraph found what we found: levels or distances, or the smallest vertex of every component."""
    reached = np.isfinite(ours) & (ours >= 0)
    expected = np.where(reached, np.where(reached, ours, 0).astype(np.int64), NOT_REACHED)
    return bool(np.array_equal(expected, theirs))


# --- RisGraph --------------------------------------------------------------------------------------------------------


def _build_risgraph(clone: Path) -> Path:
    """Compile the program, where that was not done before."""
    source, program = Path(__file__).with_name("risgraph_batches.cpp"), clone / "build" / "risgraph_batches"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(exist_ok=True)
        command = ["g++", "-std=c++17", "-Ofast", "-DNDEBUG", "-march=native", "-fopenmp", "-w"]
        command += [f"-I{clone / folder}" for folder in ("", "deps", "deps/abseil-cpp")]
        command += [str(source), str(clone / "core" / "mmapalloc.cpp"), "-ltbb", "-lpthread", "-o", str(program)]
        subprocess.run(command, check=True)
    return program


def _run_risgraph(program: Path, files: StreamFiles, name: Path, task: str, machine: Machine) -> PeerRun:
    """Run all batches, one after another."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        paths = files.base, name.with_suffix(".sizes"), name.with_suffix(".edges"), answers
        command = machine.command(program, task, files.source, files.num_vertices, *paths, machine.clock)
        done = subprocess.run(command, capture_output=True, text=True, env=machine.environment(), check=True)
        values = np.fromfile(answers, np.uint64).astype(np.int64)
    lines = [line.split() for line in done.stdout.splitlines()]
    seconds = np.array([row for row in lines if row[0] not in ("fresh", "peak")], float).reshape(-1, 2, 2).sum(axis=1)
    return PeerRun(seconds[:, 0].tolist(), seconds[:, 1].tolist(), int(lines[-1][1]), values)


# --- GraphBolt -------------------------------------------------------------------------------------------------------


def _build_graphbolt(clone: Path) -> Path:
    """Compile its PageRank, where that was not done before."""
    program = clone / "apps" / "PageRank"
    if not program.exists():
        command = ["g++", "-std=c++14", "-fopenmp", "-O3", "-march=native", "-w", "-DOPENMP", "-DEDGELONG"]
        command += ["-include", "cassert", f"{program}.C", f"-L{clone / MIMALLOC}", "-lmimalloc", "-o", str(program)]
        subprocess.run(command, check=True)
    return program


def _run_graphbolt(program: Path, files: StreamFiles, name: Path, task: str, machine: Machine) -> PeerRun:
    """Run the batches of every size, each from the graph at the beginning; by its own clock, that on the wall."""
    graph = files.folder / "base.adj"
    if not graph.exists():
        _write_adjacency(graph, files)
    environment = machine.environment(LD_PRELOAD=str(program.parent.parent / MIMALLOC / "libmimalloc.so"))
    seconds: list[float] = []
    for size, group in groupby(read_batches(name), key=len):
        batches = list(group)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as stream:
            stream.writelines(_as_text(batch) for batch in batches)
            stream.flush()
            counts = "-numberOfUpdateBatches", len(batches), "-nEdges", size
            command = machine.command(program, "-fixedBatchSize", *counts, "-streamPath", stream.name, graph)
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        seconds += map(float, GRAPHBOLT_TIMES.findall(done.stdout))
    deleted, added, computed = seconds[::3], seconds[1::3], seconds[2::3]
    return PeerRun([a + b for a, b in zip(deleted, added, strict=True)], computed)


def _write_adjacency(path: Path, files: StreamFiles) -> None:
    """Write the graph to begin with as text: numbers of vertices and edges, offsets, targets."""
    offsets, targets, _ = files.read_base().adjacency("out").to_numpy()
    with path.open("w") as file:
        file.write("AdjacencyGraph\n")
        for numbers in ([files.num_vertices, targets.size], offsets[:-1].tolist(), targets.tolist()):
            file.write("\n".join(map(str, numbers)) + "\n")


def _as_text(batch: Changes) -> str:
    """Return a batch as lines of `a source target` and `d source target`."""
    parts = (("a", batch.insert), ("d", batch.delete))
    return "".join(f"{letter} {u} {v}\n" for letter, (us, vs, _) in parts for u, v in zip(us, vs, strict=True))


PEERS = {
    "risgraph": Peer("RisGraph", ("bfs", "sssp", "wcc"), _build_risgraph, _run_risgraph),
    "graphbolt": Peer("GraphBolt", ("pagerank",), _build_graphbolt, _run_graphbolt),
}
