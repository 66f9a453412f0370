"""What compressing a graph costs and brings: bytes, depth, seconds, and the speed of algorithms on what it gives.

    python benchmarks/compression.py --data FOLDER --graphs cnr-2000 web-NotreDame soc-Slashdot0902 rmat web

FOLDER holds a folder for each of the named data sets as they are published (cnr-2000/cnr-2000.graph of WebGraph,
web-NotreDame/web-NotreDame.tar.gz, soc-Slashdot0902/soc-Slashdot0902.txt.gz of SNAP); `rmat` and `web` are generated.

Ratios are bytes of offsets and ids, of the graph as it is stored (64-bit offsets) and of the compressed one as it is
stored; `neighbours` is the ratio of the numbers of ids alone. Seconds are medians of rounds in which both graphs take
turns: of one iteration for PageRank and HITS, 20 of the same kind on both graphs; of whole runs for the others, from
the same source, the one of eight sampled vertices that reaches most. Incoming rows are at hand on both. Answers are
compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg

ITERATIONS = 20
PER_ITERATION = ("PageRank", "HITS")
FILES = {
    "cnr-2000": ("cnr-2000.graph", {}),
    "web-NotreDame": ("web-NotreDame.tar.gz", {"skip_rows": 1}),
    "soc-Slashdot0902": ("soc-Slashdot0902.txt.gz", {}),
}
SAMPLED_SOURCES = 8


def load(name: str, data: Path | None, scale: int, pages: int) -> tg.Graph:
    """Read or generate a graph."""
    if name == "rmat":
        return tg.generate.rmat(scale, 16, seed=1, duplicates="first", self_loops="drop", runtime="numpy")
    if name == "web":
        return tg.generate.web_like(pages, 16, seed=1, copied_share=0.95, runtime="numpy")
    if data is None:
        raise SystemExit(f"{name} is read from files; say where they are with --data")
    file, options = FILES[name]
    return tg.read(data / name / file, runtime="numpy", **options).relabel(None)


def compression_row(name: str, graph: tg.Graph, rounds: int) -> tuple[list[str], tg.CompressedGraph]:
    """Return a row of the first table, and the compressed graph."""
    seconds = []
    for _ in range(rounds + 1):  # the first one compiles
        started = time.perf_counter()
        small = tg.compress(graph)
        seconds.append(time.perf_counter() - started)
    back, median = small.decompress(), statistics.median(seconds[1:])
    same = all(np.array_equal(*pair) for pair in zip(rows(back), rows(graph), strict=True))
    speed = graph.num_arcs / median / 1e6
    sizes = [f"{graph.num_vertices:,}", f"{graph.num_arcs:,}", f"{small.num_virtual:,}", str(small.depth)]
    ratios = [f"{small.ratio:.2f}", f"{graph.num_arcs / small.num_stored:.2f}"]
    return [name, *sizes, *ratios, f"{median:.2f}", f"{speed:.1f}", "yes" if same else "NO"], small


def rows(graph: tg.Graph) -> tuple[Any, Any]:
    """Return offsets and targets."""
    return graph.adjacency("out").to_numpy()[:2]


def find_source(graph: tg.Graph) -> int:
    """Return the sampled vertex that reaches most."""
    senders = np.flatnonzero(np.asarray(graph.out_degrees()))
    sampled = np.random.default_rng(1).choice(senders, SAMPLED_SOURCES)
    return int(max(sampled, key=lambda vertex: int((tg.bfs(graph, vertex).levels >= 0).sum())))


def runs_of(source: int) -> dict[str, Callable[[tg.Graph], tg.Result]]:
    """Return the algorithms of the second table."""
    return {
        "BFS": lambda graph: tg.bfs(graph, source),
        "SSSP": lambda graph: tg.sssp(graph, source),
        "WCC": tg.wcc,
        "PageRank": lambda graph: tg.pagerank(graph, tol_l1=0, max_iterations=ITERATIONS),
        "HITS": lambda graph: tg.hits(graph, tol_l1=0, max_iterations=ITERATIONS),
        "PageRank to 1e-6": tg.pagerank,
    }


def seconds_of(run: Callable[[tg.Graph], tg.Result], graph: tg.Graph, per_iteration: bool) -> float:
    """Return the seconds of a run, or of one of its iterations, without what comes before them."""
    started = time.perf_counter()
    result = run(graph)
    if per_iteration:
        return float(np.mean([iteration.seconds for iteration in result.trace]))
    return time.perf_counter() - started


def speed_row(name: str, graph: tg.Graph, small: tg.CompressedGraph, rounds: int) -> list[str]:
    """Return a row of the second table: how many times faster each algorithm is on the compressed graph."""
    graph.adjacency("in")
    assert not small.directed or small.turned_rows is not None  # at hand on both
    cells = [name]
    for task, run in runs_of(find_source(graph)).items():
        answers = [run(one).values for one in (graph, small)]
        same = np.allclose(*answers, rtol=0, atol=1e-6) if answers[0].dtype.kind == "f" else np.array_equal(*answers)
        pairs = [[seconds_of(run, one, task in PER_ITERATION) for one in (graph, small)] for _ in range(rounds)]
        before, after = (statistics.median(column) for column in zip(*pairs, strict=True))
        cells.append(f"{before / after:.2f} ({before * 1e3:.1f} / {after * 1e3:.1f})" + ("" if same else " DIFFERS"))
    return cells


def print_row(cells: list[str]) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with a folder for each data set")
    parser.add_argument("--graphs", nargs="+", default=["rmat", "web"], choices=[*FILES, "rmat", "web"])
    parser.add_argument("--scale", type=int, default=20, help="of rmat")
    parser.add_argument("--pages", type=int, default=700_000, help="of web, 16 links each")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found = []
    print_row(
        ["graph", "vertices", "edges", "virtual", "depth", "ratio", "neighbours", "seconds", "M edges/s", "lossless"]
    )
    print_row(["---"] * 10)
    for name in given.graphs:
        graph = load(name, given.data, given.scale, given.pages)
        row, small = compression_row(name, graph, min(given.rounds, 3))
        print_row(row)
        found.append((name, graph, small))
    threads = f"{tg.config.num_threads} threads"
    print(f"\nTimes faster on the compressed graph (milliseconds of graph / compressed), {threads}:\n")
    print_row(["graph", *runs_of(0)])
    print_row(["---"] * (1 + len(runs_of(0))))
    for name, graph, small in found:
        print_row(speed_row(name, graph, small, given.rounds))


if __name__ == "__main__":
    main()
