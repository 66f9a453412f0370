"""What a group of processes costs: seconds against one process with as many threads, memory per rank, bytes sent.

    python benchmarks/distributed.py --scale 22 --rounds 5

An R-MAT graph is written once as a native file with both directions. One process with two threads and two processes
with one thread each then take turns: every round starts both anew, and each reads the graph, runs every algorithm once
to compile, and then as often as `--times` says; a round's figure is the median of these. Peak memory is that of reading
and PageRank in a process that has done both on a small graph before, beyond what it has then (interpreter, libraries,
compiled code, which is said apart), of one process and of the largest of four ranks. Bytes are those of one iteration
of PageRank, beside those of its messages if every edge between ranks sent one.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg
from tgraph.group import current

ALGORITHMS = {
    "PageRank": lambda graph, hub: tg.pagerank(graph),
    "WCC": lambda graph, hub: tg.wcc(graph),
    "BFS": lambda graph, hub: tg.bfs(graph, hub, parents=False),
}
SMALL_SCALE = 14
MESSAGE_BYTES = 12  # a position and a float64


def resident_bytes(kind: str) -> int:
    """Return the resident memory of this process: as it is (`VmRSS`), or the largest since it began anew (`VmHWM`)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith(kind)))


def read(file: str) -> tg.Graph:
    """Read a native file, or this rank's part of it."""
    return tg.read(file, runtime="numpy", **({} if current() else {"check": "offsets"}))


def measure(file: str, times: int) -> dict[str, Any]:
    """Run all algorithms in this process, which may be a rank, and return what was found."""
    tg.pagerank(read(f"{file}-small.safetensors"))
    gc.collect()
    before = resident_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    graph = read(file)
    found: dict[str, Any] = {"seconds": {}, "iterations": {}, "before": before}
    tg.pagerank(graph)
    found["peak"] = resident_bytes("VmHWM") - before
    hub = graph.labels_of([int(np.argmax(graph.out_degrees()))]).tolist()[0]
    for name, run in ALGORITHMS.items():
        seconds = []
        for _ in range(times + 1):
            started = time.perf_counter()
            result = run(graph, hub)
            seconds.append(time.perf_counter() - started)
        found["seconds"][name] = statistics.median(seconds[1:])
        found["iterations"][name] = result.iterations
        if name == "PageRank" and current():
            found["sent"], found["modelled"] = (result.trace[-1].moved[key] for key in ("sent", "modelled"))
            found["crossing"] = int(np.count_nonzero(graph.rows("in").neighbors >= graph.num_own))
    return found


def work(file: str, times: int, out: str) -> None:
    """Measure in this process and write what was found; in a group, what its ranks have together."""
    if "RANK" not in os.environ:
        Path(out).write_text(json.dumps(measure(file, times)))
        return
    with tg.distributed() as group:
        found = measure(file, times)
        found["crossing"] = int(group.share(np.array([found["crossing"]])).sum())
        for name in ("peak", "before"):
            found[name] = int(group.share(np.array([found[name]])).max())
        if group.rank == 0:
            Path(out).write_text(json.dumps(found))


def start(file: str, times: int, size: int, threads: int) -> dict[str, Any]:
    """Measure in a new process, or in a new group of `size`."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)] if size > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "found.json"))
        command = [sys.executable, *launcher, __file__, "--work", out, "--times", str(times), "--file", file]
        environment = {**os.environ, "TGRAPH_NUM_THREADS": str(threads), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
        return json.loads(Path(out).read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--file", default=None, help="a native file with both directions; made unless it is there")
    parser.add_argument("--work", default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    file = arguments.file or str(Path(tempfile.gettempdir(), f"tgraph-rmat-{arguments.scale}.safetensors"))
    if arguments.work is not None:
        work(file, arguments.times, arguments.work)
        return
    for path, scale in ((file, arguments.scale), (f"{file}-small.safetensors", SMALL_SCALE)):
        if not Path(path).exists():
            tg.write(tg.generate.rmat(scale, 16, seed=1, runtime="numpy"), path, reverse=True)
    rounds = [(start(file, arguments.times, 1, 2), start(file, arguments.times, 2, 1)) for _ in range(arguments.rounds)]
    print("| | 1 process x 2 threads, s | 2 processes x 1 thread, s | ratio | iterations |\n|---|---|---|---|---|")
    for name in ALGORITHMS:
        pairs = [(one["seconds"][name], two["seconds"][name]) for one, two in rounds]
        ratio = statistics.median(two / one for one, two in pairs)
        alone, grouped = (statistics.median(column) for column in zip(*pairs, strict=True))
        counts = " and ".join(str(found["iterations"][name]) for found in rounds[0])
        print(f"| {name} | {alone:.3f} | {grouped:.3f} | {ratio:.2f} | {counts} |")
    four, alone = start(file, 1, 4, 1), rounds[0][0]
    print(f"\npeak of PageRank: {alone['peak']:,} bytes alone, {four['peak']:,} of 4 ranks: ", end="")
    print(f"{four['peak'] / alone['peak']:.2f}; before: {alone['before']:,} and {four['before']:,}")
    for size, found in ((2, rounds[0][1]), (4, four)):
        messages = found["crossing"] * MESSAGE_BYTES
        print(f"{size} ranks: {found['sent']:,} bytes sent per iteration, {found['modelled']:,} by the model, ", end="")
        print(f"{messages:,} with a message per edge: {messages / found['sent']:.1f} times as many")


if __name__ == "__main__":
    main()
