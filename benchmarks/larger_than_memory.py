"""Graphs larger than memory: time, bytes moved and peak memory inside a memory cgroup, against the engine in memory.

    python benchmarks/larger_than_memory.py graph.safetensors --part 0.25
    python benchmarks/larger_than_memory.py graph.safetensors --tasks ranks,sssp --ways techniques

Tasks that move parts of the graph are run with every transfer; `--ways techniques` switches the techniques on in turn
instead, each beside those before it. Every run is a process of its own in a memory cgroup (version 1, as root). It
does the task on a tiny graph first, with every transfer, so that all kernels that it may use are loaded: compiled code
belongs to the interpreter. Then its memory is read, and the cgroup is limited to that plus the budget: 40 bytes per
vertex and a part of the edges' bytes. The page cache counts, and has forgotten the file before every run. Answers are
compared with those of memory, runs take turns, medians are reported.
"""

from __future__ import annotations

import argparse
import importlib
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
from tgraph.budget import format_bytes
from tgraph.memory.link import link_for

CGROUPS = Path("/sys/fs/cgroup/memory")
BYTES_PER_VERTEX = 40
TASKS = ("bfs", "sssp", "wcc", "pagerank", "hits", "widest")
TRANSFERS = ("hybrid", "filter", "compact", "zero_copy")
MOVED_IN_PARTS = ("bfs", "sssp", "widest")  # the others need all rows, so all transfers but zero_copy are the same
SLOW = ("zero_copy", "mapped")  # one round is enough for these
NOTHING_KEPT = ("tgraph.memory.loader.BlockLoader._choose_kept", lambda self, kept_bytes: set())
IN_TURN = ("tgraph.engine.far_delta.WAITING_PART", 0.0)
ONE_PASS = ("tgraph.engine.far_delta.TIMES_WHILE_NEAR", 1)
ONE_PUSH = ("tgraph.engine.far_push.TIMES_WHILE_NEAR", 1)
Way = tuple[dict[str, str], list[tuple[str, Any]]]  # keywords of the run, and what is switched off by another value
TECHNIQUES: dict[str, dict[str, Way]] = {
    "ranks": {
        "sweeps, nothing kept": ({"schedule": "sweep"}, [NOTHING_KEPT]),
        "sweeps, blocks kept": ({"schedule": "sweep"}, []),
        "changes, nothing kept": ({"schedule": "delta"}, [NOTHING_KEPT, IN_TURN, ONE_PASS]),
        "changes, blocks kept": ({"schedule": "delta"}, [IN_TURN, ONE_PASS]),
        "+ most pending first": ({"schedule": "delta"}, [ONE_PASS]),
        "+ again while near": ({"schedule": "delta"}, []),
        "as chosen": ({}, []),
    },
    "sssp": {
        "mapped": ({"transfer": "zero_copy"}, [NOTHING_KEPT, ONE_PUSH]),
        "whole blocks": ({"transfer": "filter"}, [NOTHING_KEPT, ONE_PUSH]),
        "+ hybrid": ({}, [NOTHING_KEPT, ONE_PUSH]),
        "+ blocks kept": ({}, [ONE_PUSH]),
        "+ again while near": ({}, []),
        "hot rows for half the blocks": ({"cache": "rows"}, []),
    },
}
TECHNIQUES["bfs"] = TECHNIQUES["sssp"]


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
    if task == "ranks":
        return tg.pagerank(graph, tol_l1=1e-6, max_iterations=300, **how)
    if task == "hits":
        return tg.hits(graph, tol_l1=0, max_iterations=5, **how)
    if task == "widest":
        return tg.run(WidestPath(source), graph, **how)
    return tg.wcc(graph, **how)


def ways_of(task: str, kind: str) -> dict[str, Way]:
    """Return the ways to run a task."""
    if kind == "techniques":
        return TECHNIQUES[task]
    known = TRANSFERS if task in MOVED_IN_PARTS else ("filter", "zero_copy")
    wanted = [transfer for transfer in known if kind == "all" or transfer in kind.split(",")]
    return {transfer: ({"transfer": transfer}, []) for transfer in wanted or ["filter"]}


def switch_off(switches: list[tuple[str, Any]]) -> None:
    """Set attributes of modules and classes to other values."""
    for name, value in switches:
        owner, attribute = name.rsplit(".", 1)
        try:
            found: Any = importlib.import_module(owner)
        except ModuleNotFoundError:
            module, class_name = owner.rsplit(".", 1)
            found = getattr(importlib.import_module(module), class_name)
        assert hasattr(found, attribute)
        setattr(found, attribute, value)


def child(path: str, task: str, source: int, budget: int, kind: str, way: str, answer: str, repeats: int) -> None:
    """Warm up, wait for the limit, run, write the last answer and what was seen."""
    tg.config.progress = "off"
    how, switches = ways_of(task, kind)[way]
    switch_off(switches)
    with tempfile.TemporaryDirectory() as folder:
        small = tg.generate.rmat(8, 8, seed=1, weights=(1, 256), runtime="numpy").symmetrize()
        far = tg.open(path, budget, "numpy")
        stored = far.adjacency("out").weights
        weights = None if stored is None else small.weights.astype(stored.dtype)
        neighbors = "plain" if far.far_coded("out") is None else "coded" if far.far_rows("out")[0] is None else "both"
        rows = small.adjacency("out").to_numpy()
        small = tg.from_csr(*rows[:2], weights, directed=False, runtime="numpy")
        tg.write(small, folder + "/small.safetensors", neighbors=neighbors)
        small_far = tg.open(folder + "/small.safetensors", "4MiB", "numpy")
        run_task(task, small_far, 0, **how)
        transfers = [way for way in TRANSFERS if way != "zero_copy" or neighbors != "coded"]
        for transfer in transfers if task in MOVED_IN_PARTS else ():
            run_task(task, small_far, 0, transfer=transfer)
        if task == "ranks" and not how:  # which may change over
            run_task(task, small_far, 0, schedule="delta")
        if how.get("cache") == "rows":  # whose kernels need a graph that does not fit
            warm_up_cache(task, folder, how)
    link_for(path)
    print("ready", flush=True)
    sys.stdin.readline()
    seconds = []
    for _ in range(repeats):
        far = result = None  # nothing of the run before is left
        forget_file(path)
        far = tg.open(path, budget, "numpy")
        result = run_task(task, far, source, **how)
        seconds.append(result.trace.total_seconds + result.trace.seconds.get("init", 0.0))
    assert result is not None
    print(json.dumps({"seconds": seconds, "moved": result.trace.moved_bytes}), flush=True)
    sys.stdin.readline()
    np.save(answer, result.to_numpy())


def warm_up_cache(task: str, folder: str, how: dict[str, str]) -> None:
    """Do the task on a graph of which a part stays near, hot rows among it."""
    graph = tg.generate.rmat(13, 16, seed=1, weights=(1, 256), runtime="numpy").symmetrize()
    rows = graph.adjacency("out").to_numpy()
    graph = tg.from_csr(*rows[:2], rows[2].astype(np.int32), directed=False, runtime="numpy")
    tg.write(graph, folder + "/cached.safetensors")
    result = run_task(task, tg.open(folder + "/cached.safetensors", "1MiB", "numpy"), 0, **how)
    assert task == "bfs" or any(one.blocks["cached_rows"] for one in result.trace)


def measure(given: argparse.Namespace, task: str, source: int, budget: int, way: str, answer: str) -> dict[str, Any]:
    """Run one task in a cgroup of its own; return what was seen there."""
    path = given.path
    group = CGROUPS / f"tgraph-{os.getpid()}"
    group.mkdir()
    command = [sys.executable, __file__, path, "--repeats", str(given.repeats)]
    command += ["--child", task, str(source), str(budget), given.ways, way, answer]
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
    parser.add_argument("--repeats", type=int, default=1, help="runs in each process; for graphs of a few megabytes")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--ways", default="all", help="all, techniques, or some transfers")
    parser.add_argument("--child", nargs=6)
    given = parser.parse_args()
    if given.child:
        task, source, budget, kind, way, answer = given.child
        child(given.path, task, int(source), int(budget), kind, way, answer, given.repeats)
        return
    graph = load(given.path)
    source = int(np.argmax(graph.out_degrees()))
    print(f"{given.path}: {graph.describe()}; link: {link_for(given.path).describe()}")
    print("| task | way | budget | seconds | in memory, s | ratio | moved / edge bytes | peak / budget | answer |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for task in given.tasks.split(","):
        uses_weights = task in ("sssp", "widest")
        edge_bytes = graph.num_arcs * (4 + (graph.weights.dtype.itemsize if uses_weights else 0))
        budget = BYTES_PER_VERTEX * graph.num_vertices + int(edge_bytes * given.part)
        expected = run_task(task, graph, source).to_numpy()
        near = [run_task(task, graph, source).trace.total_seconds for _ in range(given.rounds)]
        seen = run_in_turns(given, task, source, budget, expected)
        for way, runs in seen.items():
            if any("failed" in one for one in runs):
                print(f"| {task} | {way} | {format_bytes(budget)} | {runs} |", flush=True)
                continue
            seconds, in_memory = statistics.median(s for one in runs for s in one["seconds"]), statistics.median(near)
            row = [task, way, format_bytes(budget), f"{seconds:.4f}", f"{in_memory:.4f}", f"{seconds / in_memory:.2f}"]
            row += [f"{runs[-1]['moved'] / edge_bytes:.2f}", f"{max(one['peak'] for one in runs) / budget:.3f}"]
            same = all(one["same"] for one in runs)
            print("| " + " | ".join([*row, "same" if same else "DIFFERS"]) + " |", flush=True)


def is_same(task: str, found: Any, expected: Any) -> bool:
    """Compare answers; ranks to a tolerance may differ by a few times as much in all."""
    if task == "ranks":
        return bool(np.abs(found - expected).sum() < 1e-5)
    return np.allclose(found, expected, rtol=1e-9, atol=1e-15)


def run_in_turns(
    given: argparse.Namespace, task: str, source: int, budget: int, expected: Any
) -> dict[str, list[dict[str, Any]]]:
    """Run a task in every way, one after the other, as often as was asked for."""
    seen: dict[str, list[dict[str, Any]]] = {way: [] for way in ways_of(task, given.ways)}
    for turn in range(given.rounds):
        for way, runs in [*seen.items()][:: -1 if turn % 2 else 1]:  # being first or last must not tell
            if turn and way in SLOW:
                continue
            with tempfile.TemporaryDirectory() as folder:
                answer = folder + "/answer.npy"
                one = measure(given, task, source, budget, way, answer)
                if "failed" not in one:
                    one["same"] = is_same(task, np.load(answer), expected)
                runs.append(one)
    return seen


if __name__ == "__main__":
    main()
