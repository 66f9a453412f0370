"""Batches for training: milliseconds of each stage, and of a whole batch with and without background threads.

    python benchmarks/sampling.py [--scale 20] [--edge-factor 32] [--batches 200] [--rounds 3] [--features 100 602]

Medians over the batches of an R-MAT graph, undirected, that begin at vertices with edges. The stages are those of a
loader without threads (`ahead=0`): drawing edges, numbering vertices, grouping edges by source for gradients, copying
features. A whole batch is the time from one to the next: with an empty loop, and with a training step in it, which is a
dense layer forward and backward on the features, so that there is something to overlap with. Loaders take turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import tgraph as tg
from tgraph.nn import Batch, Loader, Rows

STAGES = ("sample", "reindex", "reverse", "lookup")
HIDDEN = 64


def make_step(width: int) -> Callable[[Batch], None]:
    """Return a training step on a batch."""
    layer = torch.nn.Linear(width, HIDDEN)

    def step(batch: Batch) -> None:
        features = batch.features.gather() if isinstance(batch.features, Rows) else batch.features
        layer.zero_grad()
        layer(features).sum().backward()

    return step


def measure(loader: Loader, step: Callable[[Batch], None] | None) -> tuple[list[float], list[dict[str, float]]]:
    """Return the milliseconds of every batch of an epoch, step included, and the stages' seconds."""
    milliseconds, stages, started = [], [], time.perf_counter()
    for batch in loader:
        if step is not None:
            step(batch)
        stages.append(batch.seconds)
        now = time.perf_counter()
        milliseconds.append((now - started) * 1e3)
        started = now
    return milliseconds, stages


def median_of(values: list[float]) -> str:
    """Format a median, in milliseconds."""
    return f"{statistics.median(values):.2f}"


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--edge-factor", type=int, default=32)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=300)
    parser.add_argument("--fanouts", type=int, nargs="+", default=[10, 15])
    parser.add_argument("--features", type=int, nargs="+", default=[100, 602])
    parser.add_argument("--torch-threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.torch_threads)
    graph = tg.generate.rmat(args.scale, args.edge_factor, seed=1, directed=False)
    candidates = np.flatnonzero(graph.out_degrees().numpy())
    seeds = np.random.default_rng(0).choice(candidates, args.batches * args.batch_size)
    print(f"{graph}, {tg.config.num_threads} threads, batches of {args.batch_size}, fan-outs {args.fanouts}\n")
    wholes = ("batch, ahead=0", "batch, ahead=2", "with a step, ahead=0", "with a step, ahead=2")
    columns = ["features", "lookup", *STAGES, *wholes]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for width in args.features:
        features = torch.rand(graph.num_vertices, width)
        for lookup in ("copy", "through"):
            print_row(graph, seeds, args, features, lookup)


def print_row(graph: tg.Graph, seeds: Any, args: argparse.Namespace, features: torch.Tensor, lookup: str) -> None:
    """Print one row of the table."""
    loaders = {}
    for ahead in (0, 2):
        options = {"features": features, "lookup": lookup, "ahead": ahead, "reverse": True}
        loaders[ahead] = Loader(graph, seeds, args.fanouts, args.batch_size, **options)
        measure(loaders[ahead], None)
    step = make_step(features.shape[1])
    seconds: list[dict[str, float]] = []
    times: dict[tuple[bool, int], list[float]] = {
        (has_step, ahead): [] for has_step in (False, True) for ahead in loaders
    }
    for _ in range(args.rounds):
        for (has_step, ahead), kept in times.items():
            milliseconds, stages = measure(loaders[ahead], step if has_step else None)
            kept += milliseconds
            if not ahead and not has_step:
                seconds += stages
    cells = [median_of([one[stage] * 1e3 for one in seconds]) for stage in STAGES]
    cells += [median_of(kept) for kept in times.values()]
    print("| " + " | ".join([str(features.shape[1]), lookup, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
