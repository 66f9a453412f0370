"""Building and changing graphs, against what SciPy, NumPy and pandas users have today.

    python benchmarks/building.py [--scale 20] [--rounds 5]

Candidates of a row take turns in one process on the same arrays. Peak memory is that of a process of its own, what the
call adds over its inputs, as a multiple of the bytes of the result: 1 means nothing beside the result. SciPy merges
duplicate entries in `tocsr`, which takes part of its time; it has no graph without values, so its values are float32
where ours has no weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
from measure import interleave, peak_bytes

import tgraph as tg
from tgraph.kernels.cpu.csr import rows_from_edges, transpose
from tgraph.kernels.cpu.degree_order import degree_order
from tgraph.kernels.cpu.rmat import rmat_edges
from tgraph.kernels.cpu.vertex_ids import number_ids

PROBABILITIES = (0.57, 0.19, 0.19, 0.05)

SETUP = """
import numpy as np, tgraph as tg
from tgraph.kernels.cpu.csr import rows_from_edges, transpose
from tgraph.kernels.cpu.degree_order import degree_order
from tgraph.kernels.cpu.rmat import rmat_edges
from tgraph.kernels.cpu.vertex_ids import number_ids

def make(scale):
    size = 1 << scale
    sources, targets = rmat_edges(scale, 16 << scale, {probabilities}, 1)
    {inputs}
    return locals()

def run(inputs):
    return {statement}

run(make(12)), run(make(16))  # compiled, and pages of the allocator warm
inputs = make({scale})
"""


@dataclass(frozen=True)
class Task:
    """One row of the table: ours and the peer's call, and our call as text for a process of its own."""

    name: str
    ours: Callable[[], object]
    peer_name: str
    peer: Callable[[], object]
    inputs: str  # statements that make what `statement` needs from sources, targets and size
    statement: str  # reads its arguments from a dictionary named inputs


def main() -> None:
    """Measure every task and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    options = parser.parse_args()
    print("| task | tgraph s | peer | peer s | times faster | noise | peak / result |")
    print("|---|---|---|---|---|---|---|")
    for task in make_tasks(options.scale):
        if options.only in task.name:
            print(measure(task, options.scale, options.rounds), flush=True)


def measure(task: Task, scale: int, rounds: int) -> str:
    """Return one row of the table."""
    times = interleave({"ours": task.ours, "peer": task.peer}, rounds)
    ours, peer = times["ours"], times["peer"]
    result_bytes = bytes_of(task.ours())
    setup = SETUP.format(probabilities=PROBABILITIES, inputs=task.inputs, statement=task.statement, scale=scale)
    peak = peak_bytes(setup, "result = run(inputs)") / result_bytes
    cells = [task.name, f"{ours.median:.3f}", task.peer_name, f"{peer.median:.3f}", f"{peer.median / ours.median:.1f}"]
    return "| " + " | ".join([*cells, f"{ours.noise:.0%}, {peer.noise:.0%}", f"{peak:.2f}"]) + " |"


def bytes_of(result: object) -> int:
    """Return the bytes of all arrays of a result."""
    if isinstance(result, tg.Graph):
        return result.memory_bytes
    if isinstance(result, (tuple, list)):
        return sum(bytes_of(one) for one in result)
    return result.nbytes if isinstance(result, np.ndarray) else 0


def make_tasks(scale: int) -> list[Task]:
    """Return all tasks on one R-MAT graph."""
    sources, targets = rmat_edges(scale, 16 << scale, PROBABILITIES, 1)
    return [*edge_tasks(sources, targets, 1 << scale), *graph_tasks(sources, targets, 1 << scale)]


def edge_tasks(sources: np.ndarray, targets: np.ndarray, size: int) -> list[Task]:
    """Return the tasks that begin with columns of ids."""
    tasks = []
    single, double = np.ones(sources.size, np.float32), np.ones(sources.size)
    for kind, weights, values in (("no", None, single), ("float32", single, single), ("float64", double, double)):
        inputs = f"weights = {None if weights is None else f'np.ones(sources.size, np.{kind})'}"
        tasks.append(
            Task(
                f"rows_from_edges, {kind} weights",
                lambda weights=weights: rows_from_edges(sources, targets, weights, size),
                "scipy coo.tocsr",
                lambda values=values: sp.coo_matrix((values, (sources, targets)), shape=(size, size)).tocsr(),
                inputs,
                "rows_from_edges(inputs['sources'], inputs['targets'], inputs['weights'], inputs['size'])",
            )
        )
    wide_sources, wide_targets = sources.astype(np.int64), targets.astype(np.int64)
    build = "tg.from_edges(inputs['sources'], inputs['targets'], {}runtime='numpy')"
    for kind, one, other, numbers in (
        ("int32 ids", sources, targets, size),
        ("int64 ids", wide_sources, wide_targets, size),
        ("int64 ids, vertices unknown", wide_sources, wide_targets, None),
    ):
        tasks.append(
            Task(
                f"from_edges, {kind}",
                lambda one=one, other=other, n=numbers: tg.from_edges(one, other, num_vertices=n, runtime="numpy"),
                "scipy coo.tocsr",
                lambda one=one, other=other: sp.coo_matrix((single, (one, other)), shape=(size, size)).tocsr(),
                "pass" if one is sources else "sources, targets = sources.astype(np.int64), targets.astype(np.int64)",
                build.format("" if numbers is None else "num_vertices=inputs['size'], "),
            )
        )
    labels = np.random.default_rng(1).integers(0, 2**62, size)
    columns = [labels[sources], labels[targets]]
    tasks.append(
        Task(
            "number_ids, sparse 64-bit ids",
            lambda: number_ids(columns),
            "pandas factorize(sort=True)",
            lambda: pd.factorize(np.concatenate(columns), sort=True),
            "labels = np.random.default_rng(1).integers(0, 2**62, size)\n"
            "    columns = [labels[sources], labels[targets]]\n    del sources, targets",
            "number_ids(inputs['columns'])",
        )
    )
    return tasks


def graph_tasks(sources: np.ndarray, targets: np.ndarray, size: int) -> list[Task]:
    """Return the tasks that begin with a graph."""
    graph = tg.from_edges(sources, targets, num_vertices=size, runtime="numpy")
    matrix = sp.csr_matrix((np.ones(graph.num_edges, np.float32), graph.out_targets, graph.out_offsets), (size, size))
    half = np.sort(np.random.default_rng(2).permutation(size)[: size // 2])
    inputs = (
        "graph = tg.from_edges(sources, targets, num_vertices=size, runtime='numpy')\n    rows = graph._out.to_numpy()"
    )
    chosen = f"{inputs}\n    half = np.sort(np.random.default_rng(2).permutation(size)[: size // 2])"
    rows = graph.adjacency("out").to_numpy()
    names = np.random.default_rng(3).permutation(size) * 7
    return [
        Task(
            "transpose",
            lambda: transpose(*rows, size),
            "scipy csr.tocsc",
            matrix.tocsc,
            inputs,
            "transpose(*inputs['rows'], inputs['size'])",
        ),
        Task(
            "symmetrize",
            graph.symmetrize,
            "scipy A.maximum(A.T)",
            lambda: matrix.maximum(matrix.T.tocsr()),
            inputs,
            "inputs['graph'].symmetrize()",
        ),
        Task(
            "simplify",
            graph.simplify,
            "scipy sum_duplicates",
            lambda: _summed(matrix),
            inputs,
            "inputs['graph'].simplify()",
        ),
        Task(
            "subgraph of half the vertices",
            lambda: graph.subgraph(half),
            "scipy A[v][:, v]",
            lambda: matrix[half][:, half],
            chosen,
            "inputs['graph'].subgraph(inputs['half'])",
        ),
        Task(
            "degree_order",
            lambda: degree_order(rows[0]),
            "numpy argsort(kind=stable)",
            lambda: np.argsort(-np.diff(rows[0]), kind="stable"),
            inputs,
            "degree_order(inputs['rows'][0])",
        ),
        Task(
            "relabel",
            lambda: graph.relabel(names),
            "pandas Index.is_unique",
            lambda: pd.Index(names).is_unique,
            inputs,
            "inputs['graph'].relabel(np.random.default_rng(3).permutation(inputs['size']) * 7)",
        ),
    ]


def _summed(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """Return a matrix whose duplicate entries are added up; SciPy works in place, on a copy that knows nothing."""
    fresh = sp.csr_matrix((matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()), matrix.shape)
    fresh.sum_duplicates()
    return fresh


if __name__ == "__main__":
    main()
