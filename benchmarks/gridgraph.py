"""Graphs larger than memory: against GridGraph (Zhu, Han, Chen, USENIX ATC 2015), same memory and same disk.

    git clone https://github.com/thu-pacman/GridGraph FOLDER
    python benchmarks/gridgraph.py graph.safetensors --gridgraph FOLDER --part 0.25 --rounds 5

Needs an undirected graph with integer weights, g++, and Linux with memory cgroups (version 1) as root. Every run is a
process in a cgroup, limited to what the process holds before it opens the graph plus the budget: 40 bytes per vertex
and a part of the bytes that the task's edges have in tgraph's file. Page cache counts, and has nothing of the graph at
first. Both systems are told the budget. Bytes read are those of `/proc/<pid>/io`. Seconds are what each system reports
for its run; wall seconds add opening the graph and, for GridGraph, creating the files of its vertex data. tgraph has
compiled before, GridGraph has preprocessed before. Runs take turns, medians are reported.

| task | tgraph | GridGraph |
|---|---|---|
| bfs | levels | parents, which the levels verify |
| wcc | the smallest vertex of each component | the same |
| sssp | distances | the same, as float; the program is ours (`gridgraph_sssp.cpp`): it has none |
| pagerank | 20 iterations, float32, mass of isolated vertices spread | 20 iterations, float, that mass dropped |

GridGraph is compiled with -O3 -march=native and two changes: its memory argument is in bytes, not GB, and seconds have
four digits. It gets the best of several numbers of partitions, found with one run each. Grids are kept for next time.
Its buffers are 24 MiB per core whatever the budget: R-MAT 20 on 2 cores is about the smallest graph that leaves room.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from larger_than_memory import BYTES_PER_VERTEX, CGROUPS, forget_file

import tgraph as tg
from tgraph.budget import format_bytes
from tgraph.memory.link import link_for

TASKS = ("bfs", "wcc", "sssp", "pagerank")
ITERATIONS, DAMPING = 20, 0.85
ARCS_AT_ONCE = 1 << 24
ANSWER_FILES = {"bfs": "parent", "wcc": "label", "sssp": "distance", "pagerank": "pagerank"}
VERTEX_FILES = (*ANSWER_FILES.values(), "label_stat", "degree", "sum")
CHANGES = {"*1024l*1024l*1024l:": ":", "%.2f seconds": "%.4f seconds"}  # to GridGraph's programs
COLUMNS = (
    *("task", "budget", "tgraph, s", "GridGraph, s", "ratio", "tgraph, wall s", "GridGraph, wall s", "tgraph read"),
    *("GridGraph read", "tgraph peak / budget", "GridGraph peak / budget", "partitions", "tried, s", "answers"),
)
FINISHED = re.compile(r"(?:in|took) ([\d.]+) seconds")
RANK_TOLERANCE = 1e-4  # relative: a hub's rank is a sum of very many float32; 1.3e-5 was seen on R-MAT 20


class Run(NamedTuple):
    """What was seen of one run."""

    seconds: float
    wall_seconds: float
    read_bytes: float
    peak_bytes: int  # beyond what the process held before


class Input(NamedTuple):
    """A graph's file and what has to be known of it while nobody maps it."""

    path: Path
    num_vertices: int
    num_arcs: int
    weight_bytes: int
    source: int


class RunFailedError(Exception):
    """A process ended before it had an answer."""


def build_programs(clone: Path) -> Path:
    """Compile GridGraph's programs, where that was not done before; return their folder."""
    programs = clone / "bin" / "memory_in_bytes"
    programs.mkdir(parents=True, exist_ok=True)
    sources = {name: clone / "examples" / f"{name}.cpp" for name in TASKS}
    sources["sssp"] = Path(__file__).with_name("gridgraph_sssp.cpp")
    sources["preprocess"] = clone / "tools" / "preprocess.cpp"
    for name, path in sources.items():
        program, newest = programs / name, max(path.stat().st_mtime, Path(__file__).stat().st_mtime)
        if program.exists() and program.stat().st_mtime > newest:
            continue
        source = path.read_text()
        for old, new in CHANGES.items() if path.parent.name == "examples" else ():
            if old not in source:
                raise SystemExit(f"{path} has no {old!r}: another version of GridGraph")
            source = source.replace(old, new)
        command = ["g++", "-O3", "-march=native", "-w", "-fopenmp", "-include", "functional", f"-I{clone}"]
        subprocess.run([*command, "-x", "c++", "-", "-o", str(program)], input=source, text=True, check=True)
    return programs


def build_grid(graph: Input, weighted: bool, partitions: int, programs: Path, folder: Path) -> Path:
    """Preprocess a graph, where that was not done before; what no run reads takes no room on the disk."""
    name = f"{graph.path.stem}-{'weighted' if weighted else 'unweighted'}"
    grid, edges = folder / f"{name}-{partitions}", folder / f"{name}.edges"
    meta = grid / "meta"  # written last
    if meta.exists() and meta.stat().st_mtime > graph.path.stat().st_mtime:
        return grid
    folder.mkdir(parents=True, exist_ok=True)
    write_edges(edges, graph.path, weighted)
    given = f"-i {edges} -o {grid} -v {graph.num_vertices} -p {partitions} -t {int(weighted)}"
    subprocess.run([str(programs / "preprocess"), *given.split()], stdout=subprocess.DEVNULL, check=True)
    edges.unlink()
    for block in grid.glob("block-*"):  # runs ask for their sizes alone
        size = block.stat().st_size
        os.truncate(block, 0)
        os.truncate(block, size)
    if weighted:
        (grid / "row").unlink()  # only PageRank reads it
    os.sync()
    return grid


def map_rows(path: Path) -> tuple[Any, Any, Any]:
    """Map offsets, targets and weights; the mapping ends with them, and only then may the page cache forget them."""
    return tg.read(str(path), runtime="numpy", check="offsets").adjacency("out").to_numpy()


def row_blocks(offsets: Any) -> Iterator[tuple[int, int]]:
    """Cut the rows into blocks of about `ARCS_AT_ONCE` arcs, or one row."""
    cuts = np.searchsorted(offsets, np.arange(0, int(offsets[-1]), ARCS_AT_ONCE))
    return pairwise(np.unique(np.append(cuts, offsets.size - 1)).tolist())


def write_edges(edges_path: Path, path: Path, weighted: bool) -> None:
    """Write both directions of every edge as preprocess wants them."""
    offsets, targets, weights = map_rows(path)
    names = [("source", "<i4"), ("target", "<i4")] + ([("weight", "<f4")] if weighted else [])
    with edges_path.open("wb") as file:
        for begin, end in row_blocks(offsets):
            first, last = int(offsets[begin]), int(offsets[end])
            edges = np.empty(last - first, names)
            edges["source"] = np.repeat(np.arange(begin, end, dtype=np.int32), np.diff(offsets[begin : end + 1]))
            edges["target"] = targets[first:last]
            if weighted:
                edges["weight"] = weights[first:last]
            edges.tofile(file)


def run_gridgraph(task: str, grid: Path, source: int, budget: int, programs: Path) -> Run:
    """Do one task with GridGraph; its answer is in the grid's folder."""
    for name in VERTEX_FILES:
        (grid / name).unlink(missing_ok=True)
    given = {"wcc": [], "pagerank": [str(ITERATIONS)]}.get(task, [str(source)])
    waiting = ["sh", "-c", 'echo ready; read go; exec "$0" "$@"']
    command = [*waiting, str(programs / task), str(grid), *given, str(budget)]
    return measure(command, [one for one in grid.iterdir() if not one.name.startswith("block-")], budget)


def run_task(task: str, graph: tg.Graph, source: int) -> tg.Result:
    """Do one task with tgraph."""
    if task == "bfs":
        return tg.bfs(graph, source, parents=False)
    if task == "sssp":
        return tg.sssp(graph, source, parents=False)
    if task == "pagerank":
        return tg.pagerank(graph, DAMPING, tol_l1=0, max_iterations=ITERATIONS, dtype="float32")
    return tg.wcc(graph)


def child(path: str, task: str, source: int, budget: int, answer: str) -> None:
    """Compile on a tiny graph, wait for the limit, run, wait for its end, write the answer."""
    tg.config.progress = "off"
    with tempfile.TemporaryDirectory() as folder:
        tiny: Any = tg.generate.rmat(8, 8, seed=1, weights=(1, 256), runtime="numpy").symmetrize()
        far: Any = tg.open(path, budget, "numpy").adjacency("out")
        offsets, targets, weights = tiny.adjacency("out").to_numpy()
        tiny = tg.from_csr(offsets, targets, weights.astype(far.weights.dtype), directed=False, runtime="numpy")
        tg.write(tiny, folder + "/tiny.safetensors")
        run_task(task, tg.open(folder + "/tiny.safetensors", "4MiB", "numpy"), 0)
    del tiny, far, offsets, targets, weights
    link_for(path)
    print("ready", flush=True)
    sys.stdin.readline()
    result = run_task(task, tg.open(path, budget, "numpy"), source)
    print(f"took {result.trace.total_seconds + result.trace.seconds.get('init', 0.0):.4f} seconds", flush=True)
    sys.stdin.readline()
    np.save(answer, result.to_numpy())


def run_tgraph(task: str, graph: Input, budget: int, answer: Path) -> Run:
    """Do one task with tgraph; its answer is in a file."""
    given = [task, str(graph.source), str(budget), str(answer)]
    return measure([sys.executable, __file__, str(graph.path), "--child", *given], [graph.path], budget)


def measure(command: list[str], files: list[Path], budget: int) -> Run:
    """Run a process in a cgroup; it says when it is ready, waits for a line, says when it has finished."""
    group = CGROUPS / f"tgraph-{os.getpid()}"
    group.mkdir()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        process.stdout.readline()
        for file in files:
            forget_file(str(file))
        (group / "memory.force_empty").write_text("0")
        bytes_before = int((group / "memory.usage_in_bytes").read_text())
        (group / "memory.limit_in_bytes").write_text(str(bytes_before + budget))
        (group / "memory.max_usage_in_bytes").write_text("0")
        read_before, started = bytes_read_by(process.pid), time.perf_counter()
        os.write(process.stdin.fileno(), b"go\n")
        finished = next(filter(None, map(FINISHED.search, process.stdout)), None)
        wall_seconds = time.perf_counter() - started
        if finished is None:
            raise RunFailedError(f"{' '.join(command)} ended with {process.wait()}")
        peak_bytes = int((group / "memory.max_usage_in_bytes").read_text()) - bytes_before
        run = Run(float(finished[1]), wall_seconds, bytes_read_by(process.pid) - read_before, peak_bytes)
        (group / "memory.limit_in_bytes").write_text("-1")
        with suppress(BrokenPipeError):  # GridGraph does not wait
            os.write(process.stdin.fileno(), b"go\n")
        process.wait()
        return run
    finally:
        process.kill()
        process.wait()
        group.rmdir()


def bytes_read_by(process_id: int) -> int:
    """Return the bytes that a process, ended or not, fetched from the disk; it must not have been waited for."""
    return int(Path(f"/proc/{process_id}/io").read_text().split("\nread_bytes: ")[1].split()[0])


def median_run(runs: list[Run]) -> Run:
    """Return the medians, and the largest peak."""
    medians = Run(*map(statistics.median, zip(*runs, strict=True)))
    return medians._replace(peak_bytes=max(run.peak_bytes for run in runs))


def is_same(task: str, ours: Any, theirs: Any, graph: Input) -> bool:
    """Whether both answers are right, as far as each can tell about the other."""
    if task == "bfs":
        reached = np.flatnonzero(theirs >= 0)
        right_levels = np.where(reached == graph.source, 0, ours[theirs[reached]] + 1)
        return np.array_equal(reached, np.flatnonzero(ours >= 0)) and np.array_equal(ours[reached], right_levels)
    if task == "pagerank":
        spread, dropped = plain_ranks(graph.path, spread=True), plain_ranks(graph.path, spread=False)
        scaled = ours.astype(np.float64) * graph.num_vertices
        return np.allclose(scaled, spread, RANK_TOLERANCE, 0) and np.allclose(theirs, dropped, RANK_TOLERANCE, 0)
    return np.array_equal(ours, theirs)


def plain_ranks(path: Path, spread: bool) -> Any:
    """Iterate in float64 from ranks of 1; the mass of isolated vertices is spread over all, as ours, or dropped."""
    offsets, targets, _ = map_rows(path)
    degrees = np.diff(offsets)
    rows = np.flatnonzero(degrees)
    ranks = np.ones(degrees.size)
    for _ in range(ITERATIONS):
        shares = ranks / np.maximum(degrees, 1)
        incoming = np.full(degrees.size, ranks[degrees == 0].sum() / degrees.size if spread else 0.0)
        for begin, end in row_blocks(offsets):
            within = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
            first, last = int(offsets[begin]), int(offsets[end])
            incoming[within] += np.add.reduceat(shares[targets[first:last]], offsets[within] - first)
        ranks = (1 - DAMPING) + DAMPING * incoming
    return ranks


def compare(task: str, graph: Input, given: argparse.Namespace, programs: Path) -> tuple[list[str], float]:
    """Measure one task; return its row and the ratio of seconds."""
    edge_bytes = graph.num_arcs * (4 + (graph.weight_bytes if task == "sssp" else 0))
    budget = BYTES_PER_VERTEX * graph.num_vertices + int(edge_bytes * given.part)
    counts = [int(count) for count in given.partitions.split(",")]
    grids = {count: build_grid(graph, task == "sssp", count, programs, given.grids) for count in counts}
    tried = {}
    for count, grid in grids.items() if len(grids) > 1 else ():
        tried[count] = run_gridgraph(task, grid, graph.source, budget, programs).seconds
    best = min(counts, key=lambda count: tried.get(count, 0.0))
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.npy"
        for _ in range(given.rounds):
            ours.append(run_tgraph(task, graph, budget, answer))
            theirs.append(run_gridgraph(task, grids[best], graph.source, budget, programs))
        found = np.load(answer)
    peer_found = np.fromfile(grids[best] / ANSWER_FILES[task], "<f4" if task in ("sssp", "pagerank") else "<i4")
    one, other = median_run(ours), median_run(theirs)
    ratio = one.seconds / other.seconds
    row = [task, format_bytes(budget), f"{one.seconds:.2f}", f"{other.seconds:.2f}", f"{ratio:.2f}"]
    row += [f"{run.wall_seconds:.2f}" for run in (one, other)]
    row += [format_bytes(int(run.read_bytes)) for run in (one, other)]
    row += [f"{run.peak_bytes / budget:.2f}" for run in (one, other)]
    row += [str(best), ", ".join(f"{count}: {seconds:.2f}" for count, seconds in tried.items())]
    return [*row, "same" if is_same(task, found, peer_found, graph) else "DIFFER"], ratio


def read_input(path: Path) -> Input:
    """Look at a graph; the source is the vertex with most edges."""
    graph = tg.read(str(path), runtime="numpy", check="offsets")
    if graph.directed or graph.weights is None or graph.weights.dtype.kind not in "iu":
        raise SystemExit(f"{path} is not undirected with weights that are integers: {graph.describe()}")
    print(f"{path.name}: {graph.describe()}; link: {link_for(str(path)).describe()}")
    source = int(np.argmax(graph.out_degrees()))
    return Input(path, graph.num_vertices, graph.num_arcs, graph.weights.dtype.itemsize, source)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--gridgraph", type=Path, metavar="FOLDER", help="a clone of GridGraph; programs go to its bin")
    parser.add_argument("--grids", type=Path, metavar="FOLDER", help="on the disk of the graph (default: beside it)")
    parser.add_argument("--partitions", default="4,8,16,32", help="candidates for GridGraph (default: %(default)s)")
    parser.add_argument("--part", type=float, default=0.25, help="of the bytes of the edges, in the budget")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        task, source, budget, answer = given.child
        child(str(given.path), task, int(source), int(budget), answer)
        return
    if given.gridgraph is None:
        parser.error("--gridgraph FOLDER is missing")
    programs = build_programs(given.gridgraph.resolve())
    graph = read_input(given.path.resolve())
    given.grids = (given.grids or graph.path.with_name("grids")).resolve()
    print(f"budget: {BYTES_PER_VERTEX} bytes per vertex, {given.part} of the edges; rounds: {given.rounds}\n")
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    ratios = []
    for task in given.tasks.split(","):
        try:
            row, ratio = compare(task, graph, given, programs)
        except RunFailedError as error:
            row = [task, str(error)]
        else:
            ratios.append(ratio)
        print("| " + " | ".join(row) + " |", flush=True)
    mean = statistics.geometric_mean(ratios or [float("nan")])
    print(f"\ntgraph's seconds over GridGraph's, geometric mean of {len(ratios)} tasks: {mean:.2f}")


if __name__ == "__main__":
    main()
