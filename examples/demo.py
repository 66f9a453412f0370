"""Five algorithms on a generated graph of a million edges, and a program of one's own."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table
from widest_path import WidestPath

import tgraph as tg


def main() -> None:
    """Generate a graph, run everything once, and show it."""
    console = Console()
    started = time.perf_counter()
    graph = tg.generate.rmat(scale=16, edge_factor=16, seed=1, weights=(1, 256)).relabel(
        lambda number: f"user-{number:05d}"
    )
    console.print(f"{graph} in {time.perf_counter() - started:.2f} s")
    hub = tg.pagerank(graph).top(1)[0][0]

    table = Table("algorithm", "answer", "iterations", "seconds")
    runs = {
        "bfs": lambda: tg.bfs(graph, hub),
        "sssp": lambda: tg.sssp(graph, hub),
        "wcc": lambda: tg.wcc(graph),
        "pagerank": lambda: tg.pagerank(graph),
        "hits": lambda: tg.hits(graph),
        "widest path (yours)": lambda: tg.run(WidestPath(graph.vertex_of(hub)), graph),
    }
    for name, run in runs.items():
        started = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - started
        table.add_row(name, describe(result), str(result.iterations), f"{seconds:.3f}")
    console.print(table)

    console.print("top 10 by PageRank:")
    ranking = Table("user", "rank", "edges from the first")
    levels = tg.bfs(graph, hub)
    for user, rank in tg.pagerank(graph).top(10):
        ranking.add_row(user, f"{rank:.6f}", str(levels[user]))
    console.print(ranking)


def describe(result: tg.Result) -> str:
    """Say what came out, in a few words."""
    values = result.to_numpy()
    match result.name:
        case "BFS":
            return f"{(values >= 0).sum():,} reached, {values.max()} levels"
        case "SSSP":
            reached = values[values < float("inf")]
            return f"{reached.size:,} reached, longest distance {reached.max():.0f}"
        case "WCC":
            return f"{len(set(values.tolist())):,} components"
        case "WidestPath":
            return f"{(values > 0).sum():,} reached"
        case _:
            return "converged" if result.converged else f"residual {result.residual:.2g}"


if __name__ == "__main__":
    main()
