"""What an order of the vertices is worth: edges between parts, and bytes that searches out of memory move.

    python benchmarks/orders.py graph.safetensors another.safetensors --parts 64 --near 0.25

The first table compares `tgraph.partition` by connection with consecutive rows. Its seconds are medians, with the
incoming edges of a directed graph at hand; processor seconds say what a machine with nothing else to do would need.
The second table writes the graph in every order and searches it from the vertex with most edges, within a budget that
holds vertex data and a part of the bytes of the edges: bytes moved, as multiples of the bytes of all edges. Blocks are
moved whole (`transfer="filter"`), so that the figures do not depend on the disk. Every answer is compared with that of
memory.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg
from tgraph.layout.reorder import ORDERS

BYTES_PER_VERTEX = 10  # offsets and activity, beside what is found
SLACK = 16 / 15  # what the engine leaves free
SEARCHES: dict[str, Callable[..., tg.Result]] = {"bfs": tg.bfs, "sssp": tg.sssp}


def load(path: Path) -> tg.Graph:
    """Read a graph into memory of its own."""
    mapped = tg.read(path, runtime="numpy")
    rows = [None if array is None else array.copy() for array in mapped.adjacency("out").to_numpy()]
    return tg.from_csr(*rows, directed=mapped.directed, runtime="numpy")


def measure_partition(graph: tg.Graph, num_parts: int, rounds: int) -> tuple[tg.Partition, float, float]:
    """Return the parts, and the median of seconds and of processor seconds."""
    graph.adjacency("in")
    seconds, processor_seconds = [], []
    for _ in range(rounds + 1):  # the first one compiles
        started, processor_started = time.perf_counter(), time.process_time()
        found = tg.partition(graph, num_parts)
        seconds.append(time.perf_counter() - started)
        processor_seconds.append(time.process_time() - processor_started)
    return found, statistics.median(seconds[1:]), statistics.median(processor_seconds[1:])


def partition_row(name: str, graph: tg.Graph, num_parts: int, rounds: int) -> list[str]:
    """Return one row of the first table."""
    by_edges = tg.partition(graph, num_parts, by="edges")
    found, seconds, processor_seconds = measure_partition(graph, num_parts, rounds)
    shares = [f"{one.num_cut_edges / graph.num_edges:.1%}" for one in (by_edges, found)]
    largest = found.num_arcs.max() * num_parts / graph.num_arcs
    speeds = [f"{graph.num_arcs / one / 1e6:.0f}" for one in (seconds, processor_seconds)]
    return [name, f"{graph.num_arcs:,}", *shares, f"{largest:.2f}", f"{seconds:.2f}", *speeds]


def orders_of(graph: tg.Graph) -> dict[str, Callable[[], tg.Graph]]:
    """Return how to make the graph in each order; each is made when its turn comes."""
    shuffled = np.random.default_rng(1).permutation(graph.num_vertices)
    made: dict[str, Callable[[], tg.Graph]] = {"as it is": lambda: graph, "shuffled": lambda: graph.subgraph(shuffled)}
    return made | {by: lambda by=by: tg.reorder(graph, by) for by in ORDERS}  # type: ignore[misc]


def moved_row(
    name: str, graph: tg.Graph, expected: dict[str, Any], source: int, near: float, folder: Path
) -> list[str]:
    """Return one row of the second table."""
    path = folder / "ordered.safetensors"
    tg.write(graph, path, reverse=True)
    cells = []
    for task, search in SEARCHES.items():
        id_bytes, weight_bytes = graph.out_targets.itemsize, graph.weights.itemsize
        edge_bytes = graph.num_arcs * (id_bytes + (weight_bytes if task == "sssp" else 0))
        vertex_bytes = (expected[task].itemsize + BYTES_PER_VERTEX) * graph.num_vertices
        far = tg.open(path, int((vertex_bytes + edge_bytes * near) * SLACK), "numpy")
        result = search(far, source, parents=False, transfer="filter")
        same = np.array_equal(result.to_numpy()[np.argsort(result.vertex_ids())], expected[task])
        cells.append(f"{result.trace.moved_bytes / edge_bytes:.2f}" + ("" if same else " DIFFERS"))
    return [name, *cells]


def print_row(cells: list[str]) -> None:
    """Print one row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="weighted graphs in native files")
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--near", type=float, default=0.25, help="the part of the edges' bytes that the budget has")
    parser.add_argument("--folder", type=Path, help="where graphs are written, on a fast disk; a temporary one if none")
    given = parser.parse_args()
    tg.config.progress = "off"
    graphs = {path.stem: load(path) for path in given.paths}
    speeds = ["M edges/s", "M edges per processor second"]
    print_row(["graph", "edges", "cut by edges", "cut by connection", "largest part / share", "seconds", *speeds])
    print_row(["---"] * 8)
    for name, graph in graphs.items():
        print_row(partition_row(name, graph, given.parts, given.rounds))
    print()
    print_row(["graph", "order", *SEARCHES])
    print_row(["---"] * (2 + len(SEARCHES)))
    for name, graph in graphs.items():
        source = int(np.argmax(graph.out_degrees()))
        expected = {task: search(graph, source, parents=False).to_numpy() for task, search in SEARCHES.items()}
        for order, make in orders_of(graph).items():
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                row = moved_row(order, make(), expected, source, given.near, Path(folder))
            print_row([name if order == "as it is" else "", *row])


if __name__ == "__main__":
    main()
