"""Are the answers of a group of processes those of one? On R-MAT and real graphs, on 1, 2, 4 and 8 processes.

    python benchmarks/group_answers.py --graphs rmat20 wiki-Vote web-NotreDame --data FOLDER --sizes 1 2 4 8
    python benchmarks/group_answers.py --graphs rmat20 --sizes 4 --namespaces
    python benchmarks/group_answers.py --graphs rmat20 --sizes 2 4 --memory 48MiB

One process finds every answer first and writes it down. Then groups read the same file, run the same algorithms, and
every rank compares the values of its own vertices. BFS, SSSP, WCC, CDLP and the user's program must be equal, bit by
bit; PageRank and HITS, which sum in another order, within the limit of the table. With `--namespaces` every rank runs
in a network namespace of its own, with its own address (Linux, root, `ip`). With `--memory` every rank leaves its edges
in a file and streams them within that budget, and what is not streamed is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from network_namespaces import INTERFACE, namespaces, obstacle

import tgraph as tg
from tgraph.bench.graphs import prepare

PORT = 29577
SECONDS_FOR_A_GROUP = 1200


class WidestPath(tg.Program):
    """What a user might write: the widest path from a vertex."""

    reduce, monotonic = "max", True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> Any:
        widths = graph.full(0.0, "float64", at={self.source: math.inf})
        return {"width": widths}, graph.full(False, "bool", at={self.source: True})

    def message(self, width: Any, weight: Any) -> Any:
        return tg.minimum(width, weight)

    def update(self, width: Any, incoming: Any) -> Any:
        return tg.maximum(width, incoming)


RUNS: dict[str, tuple[float, Callable[[tg.Graph, int], tg.Result]]] = {  # the largest difference that is allowed
    "BFS": (0.0, lambda graph, hub: tg.bfs(graph, hub)),
    "SSSP": (0.0, lambda graph, hub: tg.sssp(graph, hub)),
    "WCC": (0.0, lambda graph, hub: tg.wcc(graph)),
    "CDLP": (0.0, lambda graph, hub: tg.cdlp(graph, max_iterations=5)),
    "user's program": (0.0, lambda graph, hub: tg.run(WidestPath(hub), graph)),
    "PageRank": (1e-9, lambda graph, hub: tg.pagerank(graph, tol_l1=1e-9)),
    "power iteration": (1e-15, lambda graph, hub: tg.pagerank(graph, tol_l1=0.0, max_iterations=20)),
    "HITS": (1e-14, lambda graph, hub: tg.hits(graph, tol_l1=0, max_iterations=20)),
}


NOT_STREAMED = ("CDLP", "HITS")


def write_answers(file: Path, folder: Path) -> None:
    """Let this process find all answers alone."""
    graph = tg.read(file, runtime="numpy")
    hub = int(np.argmax(graph.out_degrees()))
    (folder / "hub").write_text(str(hub))
    for name, (_, run) in RUNS.items():
        for field, tensor in run(graph, hub).fields.items():
            np.save(folder / f"{name}-{field}.npy", np.asarray(tensor))


def runs(memory: str | None) -> dict[str, tuple[float, Callable[[tg.Graph, int], tg.Result]]]:
    """Return what is run: all, or what streams edges."""
    return {name: run for name, run in RUNS.items() if memory is None or name not in NOT_STREAMED}


def compare(file: Path, folder: Path, memory: str | None) -> None:
    """Be a rank: find all answers with the others, and write how far the own part is from that of one process."""
    hub = int((folder / "hub").read_text())
    with tg.distributed() as group:
        graph = tg.read(file, runtime="numpy") if memory is None else tg.open(file, memory, "numpy")
        own = slice(graph.first, graph.first + graph.num_own)
        differences = {}
        for name, (_, run) in runs(memory).items():
            found, largest = run(graph, hub), 0.0
            for field, tensor in found.fields.items():
                expected = np.load(folder / f"{name}-{field}.npy", mmap_mode="r")[own]
                largest = max(largest, difference(np.asarray(tensor), expected))
            differences[name] = float(group.share(np.array([largest])).max())
        if group.rank == 0:
            (folder / "differences.json").write_text(json.dumps(differences))


def difference(found: Any, expected: Any) -> float:
    """Return the largest absolute difference; equal infinities have none."""
    unequal = found != expected
    if not unequal.any():
        return 0.0
    return float(np.abs(found[unequal].astype(np.float64) - expected[unequal].astype(np.float64)).max())


def start_group(size: int, in_namespaces: bool, command: list[str]) -> None:
    """Run a command on every rank of a new group, and wait for it."""
    environment = {**os.environ, "TGRAPH_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if not in_namespaces:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
        subprocess.run([*launcher, *command], env=environment, check=True, timeout=SECONDS_FOR_A_GROUP)
        return
    with namespaces(size) as places:
        shared = {"WORLD_SIZE": str(size), "MASTER_ADDR": places[0][1], "MASTER_PORT": str(PORT)}
        environment |= {**shared, "GLOO_SOCKET_IFNAME": INTERFACE}
        ranks = [
            subprocess.Popen(
                ["ip", "netns", "exec", name, sys.executable, *command], env={**environment, "RANK": str(rank)}
            )
            for rank, (name, _) in enumerate(places)
        ]
        try:
            codes = [rank.wait(SECONDS_FOR_A_GROUP) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        if any(codes):
            raise SystemExit(f"ranks ended with {codes}")


def show(name: str, size: int, seconds: float, differences: dict[str, float]) -> bool:
    """Print a line of the table; return whether all answers are right."""
    wrong = [run for run, found in differences.items() if not found <= RUNS[run][0]]
    shown = " | ".join("equal" if value == 0 else f"{value:.1e}" for value in differences.values())
    print(f"| {name} | {size} | {shown} | {seconds:.0f} |" + (f" WRONG: {wrong}" if wrong else ""), flush=True)
    return not wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat20"])
    parser.add_argument("--data", type=Path, default=None, help="the folder of real graphs")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "tgraph-benchmarks"))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--namespaces", action="store_true", help="every rank in a network namespace of its own")
    parser.add_argument("--memory", default=None, help="the budget of a rank, whose edges stay in a file")
    parser.add_argument("--compare", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compare is not None:
        compare(*arguments.compare, arguments.memory)
        return
    if arguments.namespaces and (reason := obstacle()) is not None:
        raise SystemExit(reason)
    names = runs(arguments.memory)
    print(f"| graph | processes | {' | '.join(names)} | seconds |\n|{'---|' * (len(names) + 3)}")
    more = [] if arguments.memory is None else ["--memory", arguments.memory]
    all_right = True
    for name in arguments.graphs:
        files = prepare(name, arguments.cache, arguments.data)
        file = files.get("directed", files["undirected"])
        with tempfile.TemporaryDirectory() as folder:
            write_answers(file, Path(folder))
            for size in arguments.sizes:
                started = time.perf_counter()
                start_group(size, arguments.namespaces, [__file__, "--compare", str(file), folder, *more])
                differences = json.loads(Path(folder, "differences.json").read_text())
                all_right &= show(name, size, time.perf_counter() - started, differences)
    raise SystemExit(0 if all_right else "some answers differ")


if __name__ == "__main__":
    main()
