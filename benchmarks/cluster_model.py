"""Is the model of groups right? Bytes, seconds and memory of an iteration of PageRank, predicted and measured here.

    python benchmarks/cluster_model.py --scale 20 --sizes 1 2 4 8

All ranks run on this machine: beyond its cores they take turns, and its memory is their network. How fast a rank
sweeps is measured on one process, how fast the network is on a group of two, with one large exchange and many small
ones. Bytes, seconds and memory of every group are then predicted from the R-MAT formula and from the graph itself.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from distributed import read, resident_bytes

import tgraph as tg
from tgraph.bench.cluster import Loads, Machine, count_loads, expect_loads, measure_machine, predict

LARGE_BYTES, SMALL_TIMES, LARGE_TIMES = 1 << 25, 200, 5
ITERATIONS = 12
SMALL_SCALE = 14


def work(file: str, out: str) -> None:
    """Be a rank: measure the network, and PageRank."""
    with tg.distributed() as group:
        tg.pagerank(read(f"{file}-small.safetensors"), tol_l1=0.0, max_iterations=2)
        gc.collect()
        before = resident_bytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        done = tg.pagerank(read(file), tol_l1=0.0, max_iterations=ITERATIONS)
        peak = group.share(np.array([resident_bytes("VmHWM") - before])).max()
        found = {
            "seconds": statistics.median(iteration.seconds for iteration in done.trace),
            "sent": done.trace[-1].moved["sent"],
            "peak": int(peak),
            **measure_network(group),
        }
        if group.rank == 0:
            Path(out).write_text(json.dumps(found))


def measure_network(group: Any) -> dict[str, float]:
    """Return the bytes per second that all ranks send together, and the seconds of a small message."""
    ones = np.ones(group.size, np.int64)
    counts = ones * (LARGE_BYTES // group.size)
    values = np.ones(int(counts.sum()), np.uint8)
    seconds = {}
    for name, times, arguments in (
        ("large", LARGE_TIMES, (values, counts, counts)),
        ("small", SMALL_TIMES, (ones, ones, ones)),
    ):
        group.exchange(*arguments)
        started = time.perf_counter()
        for _ in range(times):
            group.exchange(*arguments)
        seconds[name] = (time.perf_counter() - started) / times
    others = group.size - 1
    bandwidth = int(counts[0]) * others * group.size / max(seconds["large"] - seconds["small"], 1e-9)
    return {"bandwidth": bandwidth, "message": seconds["small"] / max(others, 1)}


def start(file: str, size: int) -> dict[str, Any]:
    """Measure a group of this size."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "found.json"))
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
        environment = {**os.environ, "TGRAPH_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [*launcher, __file__, "--work", out, "--file", file]
        subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
        return json.loads(Path(out).read_text())


def show(size: int, found: dict[str, Any], expected: Loads, counted: Loads, machine: Machine) -> None:
    """Print a line of the table."""
    formula, real = predict(expected, machine), predict(counted, machine)
    sent = f"{found['sent']:,} | {real.sent_bytes:,} | {formula.sent_bytes:,}"
    seconds = f"{found['seconds']:.3f} | {real.seconds:.3f} | {found['seconds'] / real.seconds:.2f}"
    memory = f"{found['peak'] / 1e6:.0f} | {real.memory_bytes / 1e6:.0f} | {found['peak'] / real.memory_bytes:.2f}"
    print(f"| {size} | {sent} | {seconds} | {memory} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--file", default=None, help="a native file with both directions; made unless it is there")
    parser.add_argument("--work", default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    file = arguments.file or str(Path(tempfile.gettempdir(), f"tgraph-rmat-{arguments.scale}.safetensors"))
    if arguments.work is not None:
        work(file, arguments.work)
        return
    for path, scale in ((file, arguments.scale), (f"{file}-small.safetensors", SMALL_SCALE)):
        if not Path(path).exists():
            tg.write(tg.generate.rmat(scale, 16, seed=1, runtime="numpy"), path, reverse=True)
    graph = read(file)
    network = start(file, 2)
    machine = measure_machine(graph, network["bandwidth"], network["message"])
    print(
        f"one thread: {machine.edges_per_second:.3g} edges and {machine.values_per_second:.3g} boundary values per "
        f"second; two ranks: {network['bandwidth']:.3g} bytes per second, {network['message'] * 1e6:.0f} us a message"
    )
    print("| ranks | bytes sent | counted | formula | seconds | model | ratio | peak, MB | model | ratio |")
    print("|---" * 10 + "|")
    for size in arguments.sizes:
        turns = size / (os.cpu_count() or 1)
        here = replace(machine, ranks_per_core=turns, bandwidth_bytes_per_second=network["bandwidth"] / max(size, 2))
        show(size, start(file, size), expect_loads(arguments.scale, size), count_loads(graph, size), here)


if __name__ == "__main__":
    main()
