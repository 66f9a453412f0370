"""Coded neighbours against plain ones on a graph larger than its memory: milliseconds and bytes moved.

    python benchmarks/coded_neighbors.py graph.safetensors --part 0.125 --rounds 7

The graph is written with plain, with coded and with both kinds of neighbours, and every task is done on each of these
files, opened before, in turns in one process. The budget is 40 bytes per vertex and a part of the bytes of plain
neighbours. Milliseconds are medians of whole calls. Answers are compared. `larger_than_memory.py` does the same tasks
in memory cgroups.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from larger_than_memory import BYTES_PER_VERTEX, is_same, load, run_task
from measure import interleave

import tgraph as tg
from tgraph.budget import format_bytes
from tgraph.memory.link import link_for

NEIGHBORS = ("plain", "coded", "both")
TASKS = ("pagerank", "bfs", "wcc", "ranks")


def task_row(task: str, files: dict[str, Path], budget: int, source: int, rounds: int, expected: Any) -> list[str]:
    """Do a task on all files in turns; return a row of the table."""
    graphs = {name: tg.open(path, budget, "numpy") for name, path in files.items()}
    last: dict[str, tg.Result] = {}

    def run(name: str) -> None:
        last[name] = run_task(task, graphs[name], source)

    times = interleave({name: lambda name=name: run(name) for name in files}, rounds)
    plain, arcs = times["plain"].median, graphs["plain"].num_arcs
    seconds = " / ".join(f"{timing.median * 1e3:.0f}" for timing in times.values())
    speeds = " / ".join(f"{plain / timing.median:.2f}" for name, timing in times.items() if name != "plain")
    moved = " / ".join(f"{result.trace.moved_bytes / (4 * arcs):.2f}" for result in last.values())
    noise = max(timing.noise for timing in times.values())
    same = all(is_same(task, result.to_numpy(), expected) for result in last.values())
    return [task, seconds, speeds, moved, f"{noise:.0%}", "same" if same else "DIFFERS"]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--part", type=float, default=0.125)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tasks", default=",".join(TASKS))
    given = parser.parse_args()
    tg.config.progress = "off"
    graph = load(given.path)
    budget = BYTES_PER_VERTEX * graph.num_vertices + int(4 * graph.num_arcs * given.part)
    source = int(np.argmax(graph.out_degrees()))
    print(f"{given.path}: {graph.describe()}; {format_bytes(budget)}; link: {link_for(given.path).describe()}")
    print(
        f"| task | ms, {' / '.join(NEIGHBORS)} | times as fast as plain | moved / bytes of plain ids | noise | answer |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(dir=Path(given.path).parent) as folder:
        files = {name: Path(folder, f"{name}.safetensors") for name in NEIGHBORS}
        for name, path in files.items():
            tg.write(graph, path, reverse=graph.directed, neighbors=name)
        for task in given.tasks.split(","):
            expected = run_task(task, graph, source).to_numpy()
            cells = task_row(task, files, budget, source, given.rounds, expected)
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
