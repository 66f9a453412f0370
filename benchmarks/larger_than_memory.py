"""Graphs larger than memory: time, bytes moved and peak memory inside a memory cgroup, against the engine in memory.

    python benchmarks/larger_than_memory.py graph.safetensors --part 0.25 --out table.md

Every run is a process of its own in a memory cgroup (version 1, as root). It compiles on a tiny graph first; then its
memory is read, and the cgroup is limited to that plus the budget: 40 bytes per vertex and a part of the edges' bytes.
The page cache counts. Answers are compared with those of memory, runs take turns, medians are reported.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg
from tgraph.memory.budget import format_bytes
from tgraph.memory.link import link_for

CGROUPS = Path("/sys/fs/cgroup/memory")
BYTES_PER_VERTEX = 40
TASKS = ("bfs", "sssp", "wcc", "pagerank", "hits", "widest")
TRANSFERS = ("hybrid", "filter", "compact", "zero_copy")
MOVED_IN_PARTS = ("bfs", "sssp", "widest")  # tasks for which the transfers differ


class WidestPath(tg.Program):
    """A user's program."""

    reduce, monotonic = "max", True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> Any:
        widths = graph.full(0.0, "float64", at={self.source: np.inf})
        return {"width": widths}, graph.full(False, "bool", at={self.source: True})

    def message(self, width: Any, weight: Any) -> Any:
        return tg.minimum(width, weight)

    def update(self, width: Any, incoming: Any) -> Any:
        return tg.maximum(width, incoming)


def run_task(task: str, graph: tg.Graph, source: int, **how: Any) -> tg.Result:
    """Do one task."""
    if task == "bfs":
        return tg.bfs(graph, source, parents=False, **how)
    if task == "sssp":
        return tg.sssp(graph, source, parents=False, **how)
    if task == "pagerank":
        return tg.pagerank(graph, tol_l1=0, max_iterations=10, **how)
    if task == "hits":
        return tg.hits(graph, tol_l1=0, max_iterations=5, **how)
    if task == "widest":
        return tg.run(WidestPath(source), graph, **how)
    return tg.wcc(graph, **how)


def child(path: str, task: str, source: int, budget: int, transfer: str, answer: str) -> None:
    """Warm up, wait for the limit, run, write the answer and what was seen."""
    tg.config.progress = "off"
    how = {"transfer": transfer} if task in MOVED_IN_PARTS else {}
    with tempfile.TemporaryDirectory() as folder:
        small = tg.generate.rmat(8, 8, seed=1, weights=(1, 256), runtime="numpy").symmetrize()
        weights = small.weights.astype(tg.open(path, budget, "numpy").adjacency("out").weights.dtype)
        rows = small.adjacency("out").to_numpy()
        tg.write(tg.from_csr(*rows[:2], weights, directed=False, runtime="numpy"), folder + "/small.safetensors")
        run_task(task, tg.open(folder + "/small.safetensors", "4MiB", "numpy"), 0, **how)
    link_for(path)
    print("ready", flush=True)
    sys.stdin.readline()
    far = tg.open(path, budget, "numpy")
    result = run_task(task, far, source, **how)
    seen = {
        "seconds": result.trace.total_seconds + result.trace.seconds.get("init", 0.0),
        "moved": result.trace.moved_bytes,
        "iterations": len(result.trace),
    }
    print(json.dumps(seen), flush=True)
    sys.stdin.readline()
    np.save(answer, result.to_numpy())


def measure(path: str, task: str, source: int, budget: int, transfer: str, answer: str) -> dict[str, Any]:
    """Run one task in a cgroup of its own; return what was seen there."""
    group = CGROUPS / f"tgraph-{os.getpid()}"
    group.mkdir()
    command = [sys.executable, __file__, path, "--child", task, str(source), str(budget), transfer, answer]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        process.stdout.readline()
        forget_file(path)
        (group / "memory.force_empty").write_text("0")
        baseline = int((group / "memory.usage_in_bytes").read_text())
        (group / "memory.limit_in_bytes").write_text(str(baseline + budget))
        (group / "memory.max_usage_in_bytes").write_text("0")
        process.stdin.write("go\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            return {"failed": f"ended with {process.wait()}"}
        seen: dict[str, Any] = json.loads(line)
        seen["peak"] = int((group / "memory.max_usage_in_bytes").read_text()) - baseline
        (group / "memory.limit_in_bytes").write_text("-1")
        process.stdin.write("go\n")
        process.stdin.flush()
        process.wait()
        return seen
    finally:
        process.kill()
        process.wait()
        group.rmdir()


def load(path: str) -> tg.Graph:
    """Read a graph into memory of its own."""
    mapped = tg.read(path, runtime="numpy", check="offsets")
    rows = [None if array is None else array.copy() for array in mapped.adjacency("out").to_numpy()]
    return tg.from_csr(*rows, directed=mapped.directed, runtime="numpy")


def forget_file(path: str) -> None:
    """Let the page cache forget a file that nobody maps."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--part", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--transfers", default=",".join(TRANSFERS))
    parser.add_argument("--child", nargs=5)
    given = parser.parse_args()
    if given.child:
        task, source, budget, transfer, answer = given.child
        child(given.path, task, int(source), int(budget), transfer, answer)
        return
    graph = load(given.path)
    source = int(np.argmax(graph.out_degrees()))
    print(f"{given.path}: {graph.describe()}; link: {link_for(given.path).describe()}")
    print("| task | transfer | budget | seconds | in memory, s | ratio | moved / edge bytes | peak / budget | answer |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for task in given.tasks.split(","):
        uses_weights = task in ("sssp", "widest")
        edge_bytes = graph.num_arcs * (4 + (graph.weights.dtype.itemsize if uses_weights else 0))
        budget = BYTES_PER_VERTEX * graph.num_vertices + int(edge_bytes * given.part)
        expected = run_task(task, graph, source)
        near = [run_task(task, graph, source).trace.total_seconds for _ in range(given.rounds)]
        for transfer in given.transfers.split(",") if task in MOVED_IN_PARTS else ["filter"]:
            seen: list[dict[str, Any]] = []
            with tempfile.TemporaryDirectory() as folder:
                answer = folder + "/answer.npy"
                for _ in range(given.rounds):
                    seen.append(measure(given.path, task, source, budget, transfer, answer))
                if any("failed" in one for one in seen):
                    print(f"| {task} | {transfer} | {format_bytes(budget)} | {seen} |", flush=True)
                    continue
                same = np.allclose(np.load(answer), expected.to_numpy(), rtol=1e-9, atol=1e-15)
            seconds, in_memory = statistics.median(one["seconds"] for one in seen), statistics.median(near)
            row = [
                task,
                transfer,
                format_bytes(budget),
                f"{seconds:.2f}",
                f"{in_memory:.2f}",
                f"{seconds / in_memory:.2f}",
            ]
            row += [f"{seen[-1]['moved'] / edge_bytes:.2f}", f"{max(one['peak'] for one in seen) / budget:.2f}"]
            print("| " + " | ".join([*row, "same" if same else "DIFFERS"]) + " |", flush=True)


if __name__ == "__main__":
    main()
