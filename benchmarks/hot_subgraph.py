"""Bytes that batches move from far edges, without and with a hot subgraph (Grapin's Table 5).

    python benchmarks/hot_subgraph.py --cache /tmp/cache --graph rmat20 --near 0.1

A changing graph whose edges are in mapped files takes batches, half insertions and half deletions, and one result is
kept current. The table says how many bytes of rows were read far in all batches (the first computation is not among
them), without a hot subgraph and with one of a part of the bytes of the edges that the result reads. Copies into the
hot subgraph count as read. The batches are the same, and so must be the values at the end.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg
from tgraph.bench.graphs import load, prepare
from tgraph.budget import format_bytes

SIZES = (1_000, 10_000, 100_000)
MEMORY = "4GiB"  # of which a run uses what it needs
SEED = 7

Edges = tuple[Any, Any, Any]


def cut(graph: tg.Graph, num_held: int) -> tuple[tg.Graph, Edges, Edges]:
    """Return the graph without some edges that are chosen at random, those edges, and the others in random order."""
    sources, targets, weights = graph.edges()
    assert weights is not None
    order = np.random.default_rng(SEED).permutation(sources.size)
    held, rest = ((sources[part], targets[part], weights[part]) for part in (order[:num_held], order[num_held:]))
    start = tg.from_edges(
        rest[0], rest[1], rest[2], directed=graph.directed, num_vertices=graph.num_vertices, runtime="numpy"
    )
    return start, held, rest


def follow(
    start: tg.Graph,
    new: Edges,
    old: Edges,
    size: int,
    num_batches: int,
    what: str,
    source: int,
    hot: int,
    folder: Path | None,
) -> tuple[list[int], Any]:
    """Apply batches; return the bytes that each moved and the values at the end."""
    stream = tg.stream(tg.DynamicGraph(start, memory=MEMORY, hot=hot, folder=folder))
    parameters: dict[str, Any] = {} if what == "wcc" else {"source": source}
    stream.keep(what, **parameters)
    moved, half = [], size // 2
    for number in range(num_batches):
        part = slice(number * half, (number + 1) * half)
        update = stream.apply(insert=tuple(c[part] for c in new), delete=tuple(c[part] for c in old[:2]))
        moved.append(update.changes[what].trace.moved_bytes)
    return moved, stream[what].result().to_numpy()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder of the benchmark's graphs")
    parser.add_argument("--graph", default="rmat20")
    parser.add_argument("--version", default="directed", choices=("directed", "undirected"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="mutations per batch")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--near", type=float, default=0.1, help="part of the bytes of the edges")
    parser.add_argument("--results", nargs="+", default=("bfs", "sssp", "wcc"))
    parser.add_argument("--folder", type=Path, help="where far edges are; a temporary folder unless given")
    args = parser.parse_args()
    graph = load(prepare(args.graph, args.cache)[args.version], weighted=True)
    source = int(np.argmax(np.diff(graph.adjacency("out").to_numpy()[0])))
    start, new, old = cut(graph, max(args.sizes) // 2 * args.batches)
    num_rows = start.num_arcs * (2 if graph.directed else 1)
    print(f"{args.graph}, {args.version}, {args.batches} batches, {args.near:.0%} of the edges near", flush=True)
    print("| result | batch | far, no hot subgraph | far, hot subgraph | reduction | by batch |")
    print("|---|---|---|---|---|---|")
    for what in args.results:
        hot = int(args.near * num_rows * (8 if what == "sssp" else 4))
        for size in args.sizes:
            (without, values), (with_hot, same) = (
                follow(start, new, old, size, args.batches, what, source, limit, args.folder) for limit in (0, hot)
            )
            assert np.array_equal(values, same)
            saved = [f"{1 - b / max(a, 1):.0%}" for a, b in zip(without, with_hot, strict=True)]
            total = [format_bytes(sum(each)) for each in (without, with_hot)]
            cells = [what, f"{size:,}", *total, f"{1 - sum(with_hot) / max(sum(without), 1):.0%}", " ".join(saved)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
