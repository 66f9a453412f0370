"""Run by every rank of a group: edges that stay in files, within a budget that does not hold them."""

import gc
import sys
from pathlib import Path

import numpy as np

import tgraph as tg
from tgraph.algorithms import BFS
from user_programs import WidestPath

SLACK_BYTES = 1 << 19  # of the allocator, and of pages that the system frees late
RUNS = {
    "power iteration": lambda graph: tg.pagerank(graph, tol_l1=0.0, max_iterations=5),
    "bfs": lambda graph: tg.run(BFS(0), graph),
    "wcc": lambda graph: tg.wcc(graph),
    "widest": lambda graph: tg.run(WidestPath(), graph),
}


def resident_bytes(kind: str) -> int:
    """Return the memory of this process: as it is (`VmRSS`), or the largest since it began anew (`VmHWM`)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith(kind)))


file, memory = sys.argv[1], int(sys.argv[2])
with tg.distributed(timeout_seconds=60) as group:
    for name, run in RUNS.items():
        run(tg.open(file, memory, "numpy"))  # compiles
        gc.collect()
        before = resident_bytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        graph = tg.open(file, memory, "numpy")
        found = run(graph)
        peak = resident_bytes("VmHWM") - before
        print(f"rank {group.rank}: {name} took {peak:,} bytes of {memory:,}", flush=True)
        assert peak <= memory + SLACK_BYTES, (name, peak, memory)
        expected = np.load(Path(file).with_name(f"{name}.npy"))[graph.first : graph.first + graph.num_own]
        # sums of up to some thousand neighbours, added in another order than in memory
        np.testing.assert_allclose(np.asarray(found.values), expected, rtol=1e-12, atol=0)
        del graph, found
    if group.rank == 0:
        print("streamed answers are right on", group.size)
