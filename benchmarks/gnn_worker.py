"""One system that trains on batches, in a process of its own: it answers orders that come line by line.

    python benchmarks/gnn_worker.py NAME FOLDER gcn|ngcf memory|file

`gnn_batches.py` starts it, with the interpreter of an environment in which the system is installed. The folder holds
the graph's incoming rows, a table of features and labels, which every system maps or holds in its own form. A system is
a file of its own, `gnn_SYSTEM.py`, whose `TRAINERS` has a class for each name; `run()` of its objects trains for an
epoch, which is a batch for each row of `data.seeds`, and returns the seconds of each stage, one entry per batch.

Both models have two layers and a hidden width of 64 and are trained with Adam (torch's fused one, for all):

- `gcn`: the mean of the neighbours, a dense layer, ReLU between layers.
- `ngcf`: the mean of x_j + x_i * x_j over the neighbours j, a dense layer, leaky ReLU between layers (GraphTensor's).
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

BATCH_SIZE, FANOUTS, HIDDEN, SLOPE, LEARNING_RATE = 300, (10, 15), 64, 0.2, 0.003
THREADS = 2
WARM_UP, WARM_UP_BATCHES = 1_000, 12  # vertices and batches of the graph that is trained on before all measuring


@dataclass
class Data:
    """A graph's incoming rows, with a row of features and a class for each vertex."""

    offsets: Any  # [V+1] int64
    sources: Any  # [E] int32
    features: torch.Tensor  # [V, F] float32
    labels: torch.Tensor  # [V] int64
    num_classes: int
    seeds: Any  # [batches, BATCH_SIZE] int64

    @classmethod
    def read(cls, folder: Path, where: str) -> Data:
        """Map the files of a folder; features that are to be in memory are touched once: later no page is missing."""
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="c") for name in ("features", "labels")}
        if where == "memory":
            arrays["features"].sum()
        offsets, sources, seeds = (np.load(folder / f"{name}.npy") for name in ("offsets", "sources", "seeds"))
        features, labels = (torch.from_numpy(arrays[name]) for name in ("features", "labels"))
        return cls(offsets, sources, features, labels, int(labels.max()) + 1, seeds)

    def small(self) -> Data:
        """Return a small graph of the same types and widths: a ring with the features of the first vertices."""
        count = min(WARM_UP, len(self.labels))
        ring = (np.arange(count, dtype=np.int32) + 1) % count
        features, labels = self.features[:count], self.labels[:count]
        seeds = np.arange(WARM_UP_BATCHES * BATCH_SIZE).reshape(-1, BATCH_SIZE) % count
        return Data(np.arange(count + 1), ring, features, labels, self.num_classes, seeds)


def resident_bytes(field: str) -> int:
    """Return `VmRSS` or `VmHWM`, the highest resident memory since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


def give_back() -> None:
    """Give free memory of the allocator back to the system, so that what is needed next is counted."""
    ctypes.CDLL(None).malloc_trim(0)


def forget_peak() -> None:
    """Let the highest resident memory be counted from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Prepare, then answer."""
    name, folder, model, where = sys.argv[1:]
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    make = importlib.import_module("gnn_" + name.split("_")[0]).TRAINERS[name]
    data = Data.read(Path(folder), where)
    make(data.small(), model).run()
    started = time.perf_counter()
    trainer = make(data, model)
    give_back()
    print(json.dumps({"prepared": time.perf_counter() - started}), flush=True)
    for _ in sys.stdin:
        forget_peak()
        before, started = resident_bytes("VmRSS"), time.perf_counter()
        stages = trainer.run()
        seconds = time.perf_counter() - started
        peak = resident_bytes("VmHWM") - before
        print(json.dumps({"seconds": seconds, "stages": stages, "peak_bytes": peak}), flush=True)


if __name__ == "__main__":
    main()
