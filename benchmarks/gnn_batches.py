"""Training on batches, end to end and by stage, against PyTorch Geometric and DGL.

    python benchmarks/gnn_batches.py --pyg ENVIRONMENT/bin/python --dgl ENVIRONMENT/bin/python

Graphs are R-MAT, made to look like those of GraphTensor: features and mean degree of products (100 features), reddit2
(602) and wiki-talk (4,353, a ninth of its vertices, since its features are 42 GB). Batches of 300 seeds, fan-outs 10
and 15, two layers, hidden width 64, see `gnn_worker.py`. Every candidate is a process of its own; they take turns, one
epoch at a time, after an epoch that does not count. Milliseconds per batch are medians of the epochs, stages medians of
all batches, `peak` the memory that an epoch needs beyond what was resident before it, at the most.

Peers are run with `MALLOC_MMAP_MAX_=0` and no trimming, which makes them up to twice as fast here as they are when they
are installed (`--allocator as_installed` leaves that out); tgraph always runs as it is installed.

With `--part 0.1` the table of features stays in its file, and every candidate is in a memory cgroup (version 1, root)
that has room for a tenth of it beside the memory of its own that an epoch needs: most rows come from the disk whenever
they are used.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg

SHAPES = {  # scale, edge factor, directed, features, classes
    "products": (20, 25, False, 100, 47),
    "reddit2": (18, 50, False, 602, 41),
    "wiki-talk": (18, 2, True, 4353, 2),
}
BATCH_SIZE = 300
STAGES = ("sample", "reindex", "reverse", "ask", "lookup", "forward", "backward", "update")
QUIET = {"PYTHONWARNINGS": "ignore", "DGLBACKEND": "pytorch"}
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
OURS = ("tgraph", "tgraph_ahead", "tgraph_auto", "tgraph_copy", "tgraph_copy_ahead")
ONLY = {"pyg_fused": "gcn"}
CGROUPS = Path("/sys/fs/cgroup/memory")


@dataclass
class Candidate:
    """A process, and what it measured."""

    name: str
    process: subprocess.Popen[str]
    milliseconds: list[float] = field(default_factory=list)
    stages: list[dict[str, float]] = field(default_factory=list)
    peak_bytes: int = 0
    group: Path | None = None  # that limits its memory

    @classmethod
    def start(
        cls, name: str, python: str, folder: Path, model: str, environment: dict[str, str], part: float
    ) -> Candidate:
        """Start the process and wait until it holds the graph, and the features if it has room for all of them."""
        where = "memory" if part == 1 else "file"
        command = [python, str(Path(__file__).with_name("gnn_worker.py")), name, str(folder), model, where]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        candidate = cls(name, subprocess.Popen(command, env={**os.environ, **QUIET, **environment}, **pipes))
        if part < 1:
            candidate.group = CGROUPS / f"tgraph-{candidate.process.pid}"
            candidate.group.mkdir()
            (candidate.group / "cgroup.procs").write_text(str(candidate.process.pid))
        candidate._read()
        return candidate

    def limit(self, room_bytes: int) -> None:
        """Leave room for so many bytes of pages from now on; the process keeps what memory of its own it has."""
        assert self.group is not None
        lines = (self.group / "memory.stat").read_text().splitlines()
        own_bytes = next(int(line.split()[1]) for line in lines if line.startswith("rss "))
        (self.group / "memory.limit_in_bytes").write_text(str(own_bytes + room_bytes))

    def run(self, num_batches: int, counts: bool) -> None:
        """Train for an epoch; the peak of memory counts from the first one on."""
        assert self.process.stdin is not None
        print("", file=self.process.stdin, flush=True)
        answer = self._read()
        self.peak_bytes = max(self.peak_bytes, answer["peak_bytes"])
        if counts:
            self.milliseconds.append(answer["seconds"] * 1e3 / num_batches)
            self.stages += answer["stages"]

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended; see what it printed above")
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        if self.group is not None:
            self.group.rmdir()

    @property
    def median(self) -> float:
        """Milliseconds per batch."""
        return statistics.median(self.milliseconds)

    def row(self, base: float) -> str:
        """Return a row of the table."""
        cells = [self.name, f"{self.median:.1f}", f"{self.median / base:.2f}"]
        for stage in STAGES:
            found = [one[stage] * 1e3 for one in self.stages if stage in one]
            cells.append(f"{statistics.median(found):.1f}" if found else "-")
        return "| " + " | ".join([*cells, f"{self.peak_bytes / 2**20:.0f}"]) + " |"


def write_data(name: str, folder: Path, num_batches: int) -> str:
    """Write the graph, its features, labels and seeds; return what it is."""
    scale, edge_factor, directed, width, num_classes = SHAPES[name]
    graph = tg.generate.rmat(scale, edge_factor, seed=1, directed=directed, runtime="numpy")
    offsets, sources, _ = graph.adjacency("in").to_numpy()
    random = np.random.default_rng(0)
    candidates = np.flatnonzero(np.diff(offsets))
    arrays = {
        "offsets": offsets,
        "sources": sources.astype(np.int32, copy=False),
        "labels": random.integers(0, num_classes, graph.num_vertices),
        "seeds": random.choice(candidates, (num_batches, BATCH_SIZE), replace=False),
    }
    for kind, array in arrays.items():
        np.save(folder / f"{kind}.npy", array)
    shape = (graph.num_vertices, width)
    features = np.lib.format.open_memmap(folder / "features.npy", mode="w+", dtype=np.float32, shape=shape)
    for first in range(0, graph.num_vertices, 1 << 14):
        random.standard_normal(out=features[first : first + (1 << 14)], dtype=np.float32)
    features.flush()
    del features  # pages that someone maps are not forgotten
    with (folder / "features.npy").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return f"{graph.num_vertices:,} vertices, {sources.size:,} edges in rows, {width:,} features"


def measure(name: str, model: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Print the table of one graph and model."""
    tuned = TUNED if arguments.allocator == "tuned" else {}
    pythons = {"tgraph": (sys.executable, {}), "pyg": (arguments.pyg, tuned), "dgl": (arguments.dgl, tuned)}
    candidates = []
    for who in arguments.candidates:
        python, environment = pythons[who.split("_")[0]]
        if python is not None and ONLY.get(who, model) == model:
            candidates.append(Candidate.start(who, python, folder, model, environment, arguments.part))
    try:
        for number in range(arguments.rounds + 1):
            for candidate in candidates:
                candidate.run(arguments.batches, counts=number > 0)
                if number == 0 and arguments.part < 1:
                    candidate.limit(int(arguments.part * (folder / "features.npy").stat().st_size))
        for candidate in candidates:
            print(candidate.row(candidates[0].median), flush=True)
    finally:
        for candidate in candidates:
            candidate.end()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--models", nargs="+", choices=("gcn", "ngcf"), default=["gcn", "ngcf"])
    parser.add_argument("--candidates", nargs="+", default=[*OURS, "pyg", "pyg_fused", "dgl"])
    parser.add_argument("--pyg", help="an interpreter with torch_geometric")
    parser.add_argument("--dgl", help="an interpreter with dgl")
    parser.add_argument("--allocator", choices=("tuned", "as_installed"), default="tuned")
    parser.add_argument("--batches", type=int, default=100, help="in an epoch: its first ones are slow for everyone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", type=float, default=1.0, help="of the features' bytes that memory has room for")
    arguments = parser.parse_args()
    for name in arguments.graphs:
        with tempfile.TemporaryDirectory() as folder:
            described = write_data(name, Path(folder), arguments.batches)
            for model in arguments.models:
                print(f"\n### {name}-like, {model}: {described}, peers' allocator {arguments.allocator}\n")
                columns = ["candidate", "ms", "to the first", *STAGES, "peak, MiB"]
                print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)
                measure(name, model, Path(folder), arguments)


if __name__ == "__main__":
    main()
