"""Five algorithms on every runtime: one graph, each runtime in a process of its own, compile time apart.

    python benchmarks/runtimes.py --scales 18 20 --out docs/runtimes.md
    python benchmarks/runtimes.py --scales 20 --only "jax, plain" --algorithms bfs sssp --out docs/runtimes.md

The second command measures two cells; the others stay as they were. Iterations are fixed for PageRank and HITS (20),
the others run to their end; parents are not asked for. `compile` is what the first run takes beyond the median of the
next ones: compilation, and finding out what is the same in every run. The seconds of every run are kept as JSON in the
page, and the tables are made from them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COLUMNS = {  # name: runtime and kernel
    "torch, plain": ("torch", "plain"),
    "torch, fused": ("torch", "auto"),
    "numpy, plain": ("numpy", "plain"),
    "jax, plain": ("jax", "plain"),
    "tensorflow, plain": ("tensorflow", "plain"),
}
ALGORITHMS = ("pagerank", "bfs", "hits", "sssp", "wcc")
ITERATIONS = 20
BEGIN, END = "<!-- measured by benchmarks/runtimes.py: {} -->", "<!-- end of what was measured -->"


def calls(graph: Any, kernel: str) -> dict[str, Callable[[], Any]]:
    """Return the five runs; searches begin at the vertex with the most edges."""
    import tgraph as tg

    source = int(graph.runtime.to_numpy(graph.out_degrees()).argmax())
    fixed = {"max_iterations": ITERATIONS, "tol_l1": 0.0, "kernel": kernel}
    return {
        "pagerank": lambda: tg.pagerank(graph, **fixed),
        "bfs": lambda: tg.bfs(graph, source, parents=False, kernel=kernel),
        "hits": lambda: tg.hits(graph, **fixed),
        "sssp": lambda: tg.sssp(graph, source, parents=False, kernel=kernel),
        "wcc": lambda: tg.wcc(graph, kernel=kernel),
    }


def measure(column: str, scale: int, algorithms: list[str], rounds: int) -> dict[str, Any]:
    """Run algorithms in this process and return the seconds of every run, by algorithm."""
    import tgraph as tg

    runtime, kernel = COLUMNS[column]
    graph = tg.generate.rmat(scale, 16, seed=1, weights=(1, 256), runtime="numpy").simplify().to(runtime)
    graph.adjacency("in")
    found: dict[str, Any] = {"vertices": graph.num_vertices, "edges": graph.num_edges}
    runs = calls(graph, kernel)
    for name in algorithms:
        found[name] = []
        for _ in range(1 + rounds):
            started = time.perf_counter()
            result = runs[name]()
            graph.runtime.to_numpy(result.values)  # which waits for the device
            found[name].append(round(time.perf_counter() - started, 4))
    return found


def write_page(path: Path, measured: dict[str, Any]) -> None:
    """Put the tables into the page, between the marks."""
    page = path.read_text()
    begin = BEGIN.format(json.dumps(measured, sort_keys=True))
    text = "\n\n".join([begin, *(table(scale, columns) for scale, columns in sorted(measured.items())), END])
    marked = re.compile(r"<!-- measured by .*?<!-- end of what was measured -->", re.DOTALL)
    path.write_text(marked.sub(lambda _: text, page))


def table(scale: str, columns: dict[str, Any]) -> str:
    """Return one scale as a table: seconds, and beside them what the first run took more."""
    shown = [name for name in COLUMNS if name in columns]
    sizes = columns[shown[0]]
    head = f"R-MAT {scale}: {sizes['vertices']:,} vertices, {sizes['edges']:,} edges; seconds (+ compile)"
    rows = [f"| {' | '.join(['', *shown])} |", "|---" * (len(shown) + 1) + "|"]
    for algorithm in ALGORITHMS:
        cells = [cell(columns[name].get(algorithm)) for name in shown]
        rows.append(f"| {' | '.join([algorithm, *cells])} |")
    return head + "\n\n" + "\n".join(rows)


def cell(times: list[float] | None) -> str:
    """Return the median of all runs but the first, and what the first took more.

    >>> cell([2.5, 0.75, 0.5, 0.625])
    '0.625 (+ 1.9)'
    """
    if times is None:
        return "not measured"
    median = statistics.median(times[1:])
    return f"{median:.3f} (+ {max(times[0] - median, 0.0):.1f})"


def read_page(path: Path) -> dict[str, Any]:
    """Return what the page's tables were made from."""
    found = re.search(r"<!-- measured by benchmarks/runtimes.py: (.*?) -->", path.read_text())
    assert found is not None, f"{path} has no place for the tables"
    measured: dict[str, Any] = json.loads(found[1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=int, nargs="+", default=[18, 20])
    parser.add_argument("--only", nargs="+", choices=list(COLUMNS), default=list(COLUMNS))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", action="store_true", help="measure one column here and print it")
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.only[0], options.scales[0], options.algorithms, options.rounds)))
        return
    measured = read_page(options.out) if options.out else {}
    for scale in options.scales:
        for column in options.only:
            command = [sys.executable, __file__, "--worker", "--scales", str(scale), "--only", column]
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
            command += ["--rounds", str(options.rounds), "--algorithms", *options.algorithms]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            measured.setdefault(str(scale), {}).setdefault(column, {}).update(found)
            print(scale, column, done.stdout.splitlines()[-1], flush=True)
            if options.out:
                write_page(options.out, measured)
    print("\n\n".join(table(scale, columns) for scale, columns in sorted(measured.items())))


if __name__ == "__main__":
    main()
