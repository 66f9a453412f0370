"""Graphs that change: time per batch of keeping results current, against computing them anew and against peers.

    python benchmarks/streaming.py --graph rmat20 --rounds 3
    git clone --recursive https://github.com/thu-pacman/RisGraph FOLDER
    python benchmarks/streaming.py --graph rmat20 --peers risgraph=FOLDER --json rmat20.json

What the batches are is said in `streaming_files.py`, how peers are built in `streaming_peers.py`. tgraph has one graph,
weighted and in both directions, and keeps all tasks at once; RisGraph has a process and a graph per task, without
weights where the task has none. Processes take turns, with the same threads; medians of all batches of all rounds, or
the least (`--of min`) where other work disturbs them. `--quiet` waits for an idle machine before every process. With
`--threads 1 --clock cpu` it is the time of the processor that counts: others disturb it less.

| column | what is measured |
|---|---|
| apply | a batch's columns to the changed graph |
| compute | the changed graph to the current result, and which vertices changed |
| anew | the task on a `Graph` that exists already: the time of making that graph is left out |
| edges | edges looked at by a batch over edges of active vertices in a run anew |

Batches run one after another with nothing between them. Then they run again: what every batch said it changed is
applied to the first result, and compared with a run anew after every batch. Peak memory is that of the process while
batches run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from streaming_files import MIXES, Changes, StreamFiles, prepare_stream, read_batches
from streaming_peers import PEERS, Machine, PeerRun, is_same

import tgraph as tg
from tgraph.budget import format_bytes
from tgraph.kernels.cpu.gapped_layout import UNIT
from tgraph.service.kept_programs import PROGRAMS

TASKS = tuple(task for task in ("bfs", "sssp", "wcc", "pagerank") if task in PROGRAMS)
WITH_SOURCE = ("bfs", "sssp")
STATISTICS: dict[str, Callable[[list[float]], float]] = {"median": statistics.median, "min": min}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
IDLE = 0.8  # the part of the processors' time that makes a quiet machine
TOL_L1 = 1e-6  # of ranks
RANKS_APART = 10 * TOL_L1  # in all; both are to be within TOL_L1 / (1 - damping) of the fixed point
COLUMNS = ("task", "batch", "apply, ms", "compute, ms", "anew, ms", "anew / compute", "edges, % of anew")
PEER_COLUMNS = ("peer", "its apply, ms", "its compute, ms", "tgraph / peer")


# --- one process of tgraph -------------------------------------------------------------------------------------------


def keep(graph: tg.DynamicGraph, tasks: list[str], source: int) -> tg.Stream:
    """Return a stream that keeps some tasks."""
    stream = tg.stream(graph)
    for task in tasks:
        stream.keep(task, **parameters(task, source))
    return stream


def parameters(task: str, source: int) -> dict[str, Any]:
    """Return what a task is called with, here and anew."""
    return {"source": source} if task in WITH_SOURCE else {"tol_l1": TOL_L1} if task == "pagerank" else {}


def run_anew(task: str, graph: tg.Graph, source: int) -> tg.Result:
    """Do a task without any memory of before."""
    more = {"parents": False} if task in WITH_SOURCE else {}
    return getattr(tg, task)(graph, **parameters(task, source), **more)


def child(folder: str, name: str, tasks: list[str], answers: str, checks: bool, machine: Machine) -> None:
    """Run all batches, print what was seen, write the values at the end."""
    tg.config.progress, tg.config.num_threads = "off", machine.threads
    files = StreamFiles(Path(folder), *json.loads((Path(folder) / "about.json").read_text()))
    batches = read_batches(Path(name))
    warm_up(tasks)
    graph = tg.DynamicGraph(files.read_base())
    Path("/proc/self/clear_refs").write_text("5")
    seen, told = run_batches(graph, batches, tasks, files.source, CLOCKS[machine.clock])
    about = {"peak_bytes": peak_bytes(), **layout(graph)}
    for task in tasks:
        np.save(f"{answers}/{task}.npy", told[-1][0][task].result().to_numpy())
    del graph
    if checks:
        check_batches(files, batches, told, seen, answers, CLOCKS[machine.clock])
    print(json.dumps({"batches": seen, **about}))


def warm_up(tasks: list[str]) -> None:
    """Compile everything on a tiny graph of the same types."""
    tiny: Any = tg.generate.rmat(8, 8, seed=1, weights=(1, 256), runtime="numpy").simplify("min")
    offsets, targets, weights = tiny.adjacency("out").to_numpy()
    tiny = tg.from_csr(offsets, targets, weights.astype(np.int32), directed=True, runtime="numpy")
    graph = tg.DynamicGraph(tiny)
    stream = keep(graph, tasks, 0)
    sources, targets, _ = tiny.edges()
    stream.apply(delete=(sources[:99], targets[:99]))
    stream.apply(insert=(sources[:99], targets[:99], np.ones(99, np.int64)))
    for task in tasks:
        run_anew(task, graph.snapshot(), 0)
    layout(graph)


def run_batches(
    graph: tg.DynamicGraph, batches: list[Changes], tasks: list[str], source: int, clock: Callable[[], float]
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Apply all batches, with a new stream where their size changes; return what was seen, and what they said."""
    seen: list[dict[str, Any]] = []
    told = []
    stream, size = None, 0
    for batch in batches:
        if stream is None or len(batch) != size:
            stream, size = keep(graph, tasks, source), len(batch)
        times = [clock()]
        applied = graph.apply(insert=batch.insert, delete=batch.delete[:2])
        times.append(clock())
        changes = {}
        for task in tasks:
            changes[task] = stream[task].update(applied)
            times.append(clock())
        seconds = dict(zip(("graph", *tasks), np.diff(times).tolist(), strict=True))
        edges = {task: change.trace.total_edges for task, change in changes.items()}
        seen.append({"size": size, "seconds": seconds, "edges": edges})
        told.append((stream, {task: (change.ids, change.new) for task, change in changes.items()}))
    return seen, told


def check_batches(
    files: StreamFiles,
    batches: list[Changes],
    told: list[Any],
    seen: list[Any],
    answers: str,
    clock: Callable[[], float],
) -> None:
    """Apply all batches again, run every task anew after each, and compare with what was said."""
    graph, tasks = tg.DynamicGraph(files.read_base()), list(told[0][1])
    values = {task: run_anew(task, graph.snapshot(), files.source).to_numpy().copy() for task in tasks}
    for batch, (_, changes), row in zip(batches, told, seen, strict=True):
        graph.apply(insert=batch.insert, delete=batch.delete[:2])
        row["anew_seconds"], row["anew_edges"] = {}, {}
        for task in tasks:
            snapshot = graph.snapshot()
            started = clock()
            result = run_anew(task, snapshot, files.source)
            row["anew_seconds"][task] = clock() - started
            row["anew_edges"][task] = result.trace.total_edges
            ids, new = changes[task]
            values[task][ids] = new
            check_equal(task, values[task], result.to_numpy())
    for task in tasks:
        check_equal(task, np.load(f"{answers}/{task}.npy"), values[task])


def check_equal(task: str, found: Any, expected: Any) -> None:
    """Raise if a result is not that of a run anew."""
    same = np.abs(found - expected).sum() < RANKS_APART if task == "pagerank" else np.array_equal(found, expected)
    if not same:
        raise SystemExit(f"{task} differs from a run anew at {np.count_nonzero(found != expected)} vertices")


def peak_bytes() -> int:
    """Return the peak of resident memory since it was forgotten."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def layout(graph: tg.DynamicGraph) -> dict[str, float]:
    """Compare rows with gaps and compressed rows: their bytes, and the time of one thread to scan all of them."""
    plain, gapped = graph.snapshot(), graph.gapped("out")
    rows = [array for side in ("out", "in") for array in plain.adjacency(side).to_numpy() if array is not None]
    offsets, targets, _ = plain.adjacency("out").to_numpy()
    values, sums = np.ones(graph.num_places, np.int32), np.zeros(graph.num_places, np.int64)
    scans: dict[str, tuple[Any, ...]] = {
        "csr": (_sum_csr, offsets.view(np.uint64), targets.view(np.uint32), values, sums),
        "gapped": (_sum_gapped, gapped.places, gapped.neighbors, values, sums),
    }
    seconds: dict[str, list[float]] = {name: [] for name in scans}
    for _ in range(5):
        for name, (run, *args) in scans.items():
            started = time.perf_counter()
            run(*args)
            seconds[name].append(time.perf_counter() - started)
            assert sums.sum() == targets.size
    medians = {f"{name}_scan_seconds": statistics.median(all_seconds) for name, all_seconds in seconds.items()}
    sizes = {"gapped_bytes": graph.memory_bytes, "csr_bytes": sum(array.nbytes for array in rows)}
    return {"num_edges": graph.num_edges, **sizes, **medians}


@njit(nogil=True)
def _sum_csr(offsets, neighbors, values, new_sums):  # type: ignore[no-untyped-def]
    """Write new_sums[v], the sum of the neighbours' values. Deterministic."""
    for v in range(offsets.size - 1):
        total = np.int64(0)
        for e in range(offsets[v], offsets[v + 1]):
            total += values[neighbors[e]]
        new_sums[v] = total


@njit(nogil=True)
def _sum_gapped(places, cells, values, new_sums):  # type: ignore[no-untyped-def]
    """Write the same from rows with gaps, whose deleted cells have the highest bit."""
    dead = np.uint32(1 << 31)
    for v in range(places.shape[0]):
        total = np.int64(0)
        begin = np.uint64(places[v, 0]) * np.uint64(UNIT)
        for e in range(begin, begin + np.uint64(places[v, 1])):
            if not cells[e] & dead:
                total += values[cells[e]]
        new_sums[v] = total


# --- all processes ---------------------------------------------------------------------------------------------------


def wait_for_quiet(seconds: float) -> None:
    """Wait until the processors are idle for the most part, but no longer than this."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = _processor_ticks()
        time.sleep(0.5)
        total, idle = (now - then for now, then in zip(_processor_ticks(), before, strict=True))
        if idle >= IDLE * total:
            return


def _processor_ticks() -> tuple[int, int]:
    """Return all ticks of all processors, and the idle ones."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[3]


def run_child(
    files: StreamFiles, name: Path, tasks: list[str], answers: str, checks: bool, machine: Machine
) -> dict[str, Any]:
    """Run tgraph in a process of its own."""
    given = [files.folder, name, ",".join(tasks), answers, "checks" if checks else "alone"]
    command = machine.command(sys.executable, __file__, "--child", *given, machine.threads, machine.clock)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


def measure(files: StreamFiles, mix: str, given: argparse.Namespace) -> dict[str, Any]:
    """Run all batches of a mix in every system, in turns."""
    sizes = [int(size) for size in given.sizes.split(",")]
    name, _ = files.write_batches(mix, sizes, given.batches)
    tasks = given.tasks.split(",")
    machine, runs = Machine(given.threads, given.clock), []
    programs = {task: (PEERS[one], program) for one, program in given.programs.items() for task in PEERS[one].tasks}
    peers: dict[str, list[PeerRun]] = {task: [] for task in tasks if task in programs}
    with tempfile.TemporaryDirectory() as answers:
        for turn in range(given.rounds):
            wait_for_quiet(given.quiet)
            runs.append(run_child(files, name, tasks, answers, turn == 0, machine))
            for task, peer_runs in peers.items():
                peer, program = programs[task]
                wait_for_quiet(given.quiet)
                peer_runs.append(peer.run(program, files, name, task, machine))
                values = peer_runs[-1].values
                if values is not None and not is_same(np.load(f"{answers}/{task}.npy"), values):
                    print(f"{task}: the values of {peer.title} differ", file=sys.stderr)
    raw = {"tgraph": [run["batches"] for run in runs]}
    raw |= {task: [[run.apply_seconds, run.compute_seconds] for run in all_runs] for task, all_runs in peers.items()}
    return {
        "mix": mix,
        "raw": raw,
        "rows": summarise(runs, peers, tasks, STATISTICS[given.of]),
        "about": about(runs, peers),
    }


def summarise(
    runs: list[dict[str, Any]],
    peers: dict[str, list[PeerRun]],
    tasks: list[str],
    statistic: Callable[[list[float]], float],
) -> list[dict[str, Any]]:
    """Return medians, or what else was asked for, per task and size of batch."""
    all_sizes = [batch["size"] for batch in runs[0]["batches"]]
    rows = []
    for task in tasks:
        for size in dict.fromkeys(all_sizes):
            at = [number for number, one in enumerate(all_sizes) if one == size]
            batches = [run["batches"][number] for run in runs for number in at]
            checked = [runs[0]["batches"][number] for number in at]
            row: dict[str, Any] = {"task": task, "size": size, "num_batches": len(at)}
            row["apply"] = statistic([one["seconds"]["graph"] for one in batches])
            row["compute"] = statistic([one["seconds"][task] for one in batches])
            row["anew"] = statistic([one["anew_seconds"][task] for one in checked])
            row["edges"] = sum(one["edges"][task] for one in checked) / len(at)
            row["anew_edges"] = sum(one["anew_edges"][task] for one in checked) / len(at)
            for part in ("apply", "compute") if task in peers else ():
                seconds = [getattr(run, f"{part}_seconds")[number] for run in peers[task] for number in at]
                row[f"peer_{part}"] = statistic(seconds)
            rows.append(row)
    return rows


def about(runs: list[dict[str, Any]], peers: dict[str, list[PeerRun]]) -> dict[str, Any]:
    """Return what was seen of memory and of the layout."""
    kept = {key: value for key, value in runs[0].items() if key != "batches"}
    kept["peak_bytes"] = max(run["peak_bytes"] for run in runs)
    kept["scan_ratio"] = statistics.median(run["gapped_scan_seconds"] / run["csr_scan_seconds"] for run in runs)
    peaks = {task: [run.peak_bytes for run in runs if run.peak_bytes] for task, runs in peers.items()}
    kept["peer_peak_bytes"] = {task: max(found) for task, found in peaks.items() if found}
    return kept


def print_mix(seen: dict[str, Any], with_peers: bool) -> None:
    """Print a table and what goes with it."""
    columns = (*COLUMNS, *(PEER_COLUMNS if with_peers else ()))
    print(f"\nmix: {seen['mix']}\n\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in seen["rows"]:
        cells = [row["task"], f"{row['size']:,}", *(f"{row[part] * 1e3:.2f}" for part in ("apply", "compute", "anew"))]
        cells += [f"{row['anew'] / row['compute']:.1f}", f"{100 * row['edges'] / max(row['anew_edges'], 1):.2f}"]
        if "peer_apply" in row:
            ours, theirs = (row[f"{who}apply"] + row[f"{who}compute"] for who in ("", "peer_"))
            title = next(peer.title for peer in PEERS.values() if row["task"] in peer.tasks)
            cells += [title, *(f"{row[f'peer_{part}'] * 1e3:.2f}" for part in ("apply", "compute"))]
            cells.append(f"{ours / theirs:.2f}")
        print("| " + " | ".join(cells + ["-"] * (len(columns) - len(cells))) + " |")
    seconds = {row["size"]: row["apply"] for row in seen["rows"]}
    largest, of = max(seconds), seen["about"]
    print(f"\nchanges per second, in batches of {largest:,}: {largest / seconds[largest]:,.0f}")
    per_edge = [of[which] / of["num_edges"] for which in ("gapped_bytes", "csr_bytes")]
    print(f"bytes per edge, both directions: {per_edge[0]:.1f}; compressed rows {per_edge[1]:.1f}")
    print(f"scan of all rows over that of compressed rows: {of['scan_ratio']:.2f}")
    peaks = {"tgraph": of["peak_bytes"]}
    peaks |= {f"peer's {task}": peak for task, peak in of["peer_peak_bytes"].items()}
    print("peak memory: " + ", ".join(f"{who} {format_bytes(peak)}" for who, peak in peaks.items()), flush=True)


def main() -> None:
    """Measure and print a table per mix."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="rmat20", help="rmat<scale>, or a folder of --data (default: %(default)s)")
    parser.add_argument("--cache", type=Path, default=Path("streams"), help="where files are kept for next time")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="of real graphs")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--mixes", default=",".join(MIXES))
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", metavar="NAME=FOLDER,...", help=f"clones of other systems: {', '.join(PEERS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write all medians too")
    parser.add_argument("--of", choices=STATISTICS, default="median")
    parser.add_argument("--quiet", type=float, default=0, metavar="SECONDS", help="longest wait before a process")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--child", nargs=7, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        folder, name, tasks, answers, checks, threads, clock = given.child
        child(folder, name, tasks.split(","), answers, checks == "checks", Machine(int(threads), clock))
        return
    clones = dict(one.split("=", 1) for one in given.peers.split(",")) if given.peers else {}
    if unknown := clones.keys() - PEERS.keys():
        parser.error(f"--peers has {', '.join(unknown)}; use {', '.join(PEERS)}")
    if "graphbolt" in clones and given.clock == "cpu":
        parser.error("GraphBolt has a clock of its own, that on the wall; leave it out or use --clock wall")
    given.programs = {one: PEERS[one].build(Path(clone).resolve()) for one, clone in clones.items()}
    files = prepare_stream(given.graph, given.cache.resolve(), given.data)
    print(f"{given.graph}: {files.num_vertices:,} vertices, {files.num_base_edges:,} edges, source {files.source}")
    seen = []
    for mix in given.mixes.split(","):
        seen.append(measure(files, mix, given))
        print_mix(seen[-1], bool(given.programs))
    if given.json:
        given.json.write_text(json.dumps({"graph": given.graph, "rounds": given.rounds, "mixes": seen}, indent=1))


if __name__ == "__main__":
    main()
