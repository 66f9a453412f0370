"""How fast any sweep can be here: sums of one number per neighbour, and nothing else.

    python benchmarks/bare_sweeps.py

A sweep of PageRank, HITS or the like has to make these sums, so 20 of them are less than 20 iterations of anybody who
sums the same numbers in the same order of vertices. Vertices in the order of their degrees show what that order is
worth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from measure import interleave
from numba import njit

import tgraph as tg
from tgraph.kernels.cpu.csr import row_part
from tgraph.kernels.cpu.neighbor_sums import lengths_vary, sum_row
from tgraph.kernels.cpu.team import JIT, as_unsigned, run_team, team_size

ONE = np.uint64(1)


@njit(**JIT)
def sum_all(rank, size, varies, offsets, neighbors, sent, sums):
    """Writes the sums of the thread's rows."""
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        sums[row] = sum_row(varies, np.float64, offsets[row], offsets[row + ONE], neighbors, sent)


def sweep_of(graph: tg.Graph, dtype: str) -> Callable[[], None]:
    """Return a function that makes one sweep."""
    offsets, neighbors, _ = graph.adjacency("in").to_numpy()
    sent, sums = np.random.default_rng(1).random(graph.num_vertices).astype(dtype), np.empty(graph.num_vertices)
    size, rows = team_size(graph.num_arcs), (as_unsigned(offsets), as_unsigned(neighbors))
    return lambda: run_team(sum_all, size, lengths_vary(offsets), *rows, sent, sums)


def main() -> None:
    """Measure a grid and an R-MAT graph in both orders."""
    graphs = {
        "grid1000": tg.generate.grid(1000, 1000, runtime="numpy"),
        "rmat20": tg.generate.rmat(20, 16, seed=1, directed=False, runtime="numpy").simplify(),
    }
    for name, graph in graphs.items():
        orders = {"as it is": graph, "by degree": tg.reorder(graph, "degree")}
        kinds = [(order, dtype) for order in orders for dtype in ("float64", "float32")]
        sweeps = {", ".join(kind): sweep_of(orders[kind[0]], kind[1]) for kind in kinds}
        for what, timing in interleave(sweeps, rounds=15).items():
            print(f"{name}, {what}: {timing.median * 1e3:.2f} ms (noise {timing.noise:.0%})")


if __name__ == "__main__":
    main()
