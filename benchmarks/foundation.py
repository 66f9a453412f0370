"""Reading, building and generating against what Python users have today, and compiled code against primitives.

    python benchmarks/foundation.py [--scale 20] [--rounds 5] [--out docs/benchmarks_foundation.md]

All candidates of a row run in the same process on the same input, in turn; answers are compared before times.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import scipy.sparse as sp
from measure import interleave, peak_bytes

import tgraph as tg
from tgraph.algorithms import BFS
from tgraph.kernels.cpu.rmat import rmat_edges

TEXT_EDGES = 10_000_000
NETWORKX_LINES = 200_000
Row = tuple[str, str, str]


def main() -> None:
    """Measure everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks_foundation.md"))
    options = parser.parse_args()
    rows: list[Row] = []
    for measure in (measure_start, measure_reading, measure_building, measure_generating, measure_compiled):
        for row in measure(options.scale, options.rounds):
            print(" | ".join(row), flush=True)
            rows.append(row)
    write_page(options, rows)


def measure_start(_scale: int, rounds: int) -> list[Row]:
    """Time the import, and a first answer in a fresh process."""

    def seconds(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        return time.perf_counter() - started

    bare = sorted(seconds("pass") for _ in range(rounds))[rounds // 2]
    imported = sorted(seconds("import tgraph") for _ in range(rounds))[rounds // 2] - bare
    first = "import tgraph as tg; tg.bfs(tg.from_edges([0, 1], [1, 2], runtime='numpy'), 0)"
    answered = sorted(seconds(first) for _ in range(rounds))[rounds // 2] - bare
    return [
        ("`import tgraph`", f"{imported:.3f} s", "no runtime is imported"),
        (
            "first `from_edges` and `bfs` in a new process",
            f"{answered:.2f} s",
            "numpy runtime, kernels from the disk cache",
        ),
    ]


def measure_reading(_scale: int, rounds: int) -> list[Row]:
    """Read SNAP text into a graph."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        columns = {name: rng.integers(0, 1_000_000, TEXT_EDGES) for name in ("source", "target")}
        pl.DataFrame(columns).write_csv(path, separator="\t", include_header=False)
        head = Path(folder) / "head.txt"
        with path.open() as file:
            head.write_text("".join(next(file) for _ in range(NETWORKX_LINES)))
        times = interleave(
            {
                "tgraph": lambda: tg.read(path, runtime="numpy"),
                "polars": lambda: polars_and_scipy(path),
                "networkx": lambda: nx.read_edgelist(head, create_using=nx.DiGraph, nodetype=int),
            },
            rounds,
        )
        assert tg.read(path, runtime="numpy").num_edges == TEXT_EDGES
        setup = f"import tgraph as tg\ntg.read({str(head)!r}, runtime='numpy')"
        peak = peak_bytes(setup, f"graph = tg.read({str(path)!r}, runtime='numpy')")
        size = path.stat().st_size
    ours = times["tgraph"].median
    networkx_seconds = times["networkx"].median * TEXT_EDGES / NETWORKX_LINES
    return [
        (
            f"`tg.read`, {TEXT_EDGES:,} edges of SNAP text ({size / 1e6:.0f} MB)",
            f"{ours:.2f} s",
            f"peak {peak / 1e6:.0f} MB beyond the start; noise {times['tgraph'].noise:.0%}",
        ),
        (
            "... against polars.read_csv + scipy coo.tocsr",
            f"{ours / times['polars'].median:.2f} x its time",
            "below 1 is faster",
        ),
        (
            "... against networkx.read_edgelist, extrapolated",
            f"{networkx_seconds / ours:.0f} x faster",
            f"{networkx_seconds:.0f} s",
        ),
    ]


def polars_and_scipy(path: Path) -> sp.csr_matrix:
    """Do what a user does without a graph library."""
    frame = pl.read_csv(path, separator="\t", has_header=False, new_columns=["source", "target"])
    sources, targets = frame["source"].to_numpy(), frame["target"].to_numpy()
    size = int(max(sources.max(), targets.max())) + 1
    return sp.coo_matrix((np.ones(sources.size, np.float32), (sources, targets)), shape=(size, size)).tocsr()


def measure_building(scale: int, rounds: int) -> list[Row]:
    """Build from edges in memory."""
    sources, targets = rmat_edges(scale, 16 << scale, (0.57, 0.19, 0.19, 0.05), 1)
    size = 1 << scale
    ones = np.ones(sources.size, np.float32)
    times = interleave(
        {
            "tgraph": lambda: tg.from_edges(sources, targets, num_vertices=size, runtime="numpy"),
            "scipy": lambda: sp.coo_matrix((ones, (sources, targets)), shape=(size, size)).tocsr(),
        },
        rounds,
    )
    ours, theirs = times["tgraph"].median, times["scipy"].median
    return [
        (
            f"`from_edges`, R-MAT {scale}, {sources.size:,} edges",
            f"{ours:.2f} s ({sources.size / ours / 1e6:.0f} M edges/s)",
            f"scipy coo.tocsr, which merges duplicates: {theirs:.2f} s",
        )
    ]


def measure_generating(scale: int, rounds: int) -> list[Row]:
    """Generate R-MAT edges, without building."""
    count = 16 << scale
    times = interleave({"rmat": lambda: rmat_edges(scale, count, (0.57, 0.19, 0.19, 0.05), 1)}, rounds)
    seconds = times["rmat"].median
    return [(f"R-MAT {scale} edges", f"{count / seconds / 1e6:.1f} M edges/s", f"{tg.config.num_threads} threads")]


def measure_compiled(scale: int, rounds: int) -> list[Row]:
    """Run algorithms compiled and by primitives of the same runtime, and a user's BFS against the built-in one."""
    graph = tg.generate.rmat(scale, 16, seed=1, weights=(1, 256), runtime="torch")
    graph.adjacency("in")
    source = int(np.argmax(graph.to("numpy").out_degrees()))
    algorithms = {
        "bfs": lambda **how: tg.bfs(graph, source, parents=False, **how),
        "sssp": lambda **how: tg.sssp(graph, source, parents=False, **how),
        "wcc": lambda **how: tg.wcc(graph, **how),
        "pagerank": lambda **how: tg.pagerank(graph, **how),
        "hits": lambda **how: tg.hits(graph, **how),
    }
    rows = []
    for name, run in algorithms.items():
        candidates = {"compiled": run, "plain": lambda run=run: run(kernel="plain")}
        if name == "bfs":
            candidates["program"] = lambda: tg.run(BFS(source), graph)
        times = {key: timing.median for key, timing in interleave(candidates, rounds).items()}
        note = f"plain {times['plain']:.2f} s: {times['plain'] / times['compiled']:.0f} x"
        if "program" in times:
            note += f"; as a user's program {times['program']:.3f} s: {times['program'] / times['compiled']:.2f} x"
        rows.append((f"`tg.{name}`, R-MAT {scale}, torch on the CPU", f"{times['compiled']:.3f} s", note))
    return rows


def write_page(options: argparse.Namespace, rows: list[Row]) -> None:
    """Write the table with the command and the machine."""
    command = f"python benchmarks/foundation.py --scale {options.scale} --rounds {options.rounds}"
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    table = "\n".join(f"| {what} | {figure} | {note} |" for what, figure, note in rows)
    lines = [
        "# Benchmarks: first use, reading, building, compiling",
        "",
        f"Made by `{command}` (also `make bench`) on {machine}. Medians of interleaved rounds; the",
        "machine is shared, so read single times as +-30 % and ratios as better.",
        "",
        "| what | figure | note |",
        "|---|---|---|",
        table,
        "",
        "`plain` is made of tensor primitives of the runtime: clear and portable, not yet fast. `fused` has the",
        "program's functions compiled into the loop.",
        "",
    ]
    options.out.write_text("\n".join(lines))
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
