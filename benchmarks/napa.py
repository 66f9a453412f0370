"""Edge weighting and aggregation along edges, forward and backward, against plain torch and embedding_bag.

    python benchmarks/napa.py --sizes small large wide

Blocks are random: every target has on average as many edges, sources are four times the targets, some are read much
more often. Candidates take turns; the table has the medians in ms and how many times the peer takes.
`plain` is `tgraph.nn.plain`, which makes edges x features; `bag` is torch's embedding_bag with torch's own gradient.
The reverse of the block is made before: a sampler makes it once per batch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measure import interleave
from torch.nn import functional

import tgraph as tg
from tgraph.nn import Block, EdgeProduct, neighbor_apply, plain, pull

SIZES = {"small": (4_000, 50_000, 100), "large": (50_000, 770_000, 100), "wide": (50_000, 770_000, 602)}
LARGEST_PLAIN = 10**8  # edges x features; above it plain torch needs more memory than a small machine has
SLOPE = 0.2

Function = Callable[..., Any]
Task = tuple[list[Any], dict[str, Function]]  # tensors that get gradients, and who computes with them


def random_block(num_targets: int, num_edges: int) -> Block:
    """Return a block with some sources that many edges come from."""
    generator = np.random.default_rng(0)
    counts = np.bincount(generator.integers(0, num_targets, num_edges), minlength=num_targets)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    sources = (generator.power(2, num_edges) * 4 * num_targets).astype(np.int32)
    return Block(torch.from_numpy(offsets), torch.from_numpy(sources), 4 * num_targets)


def bag(block: Block, mode: str) -> Function:
    """Return torch's embedding_bag on the rows of the block."""
    ids, offsets = block.sources, block.offsets.int()

    def run(x: Any, weights: Any = None) -> Any:
        return functional.embedding_bag(
            ids, x, offsets, mode=mode, per_sample_weights=weights, include_last_offset=True
        )

    return run


def tasks(block: Block, width: int, dtype: Any) -> dict[str, Task]:
    """Return what is measured: tensors, and each candidate as a function of them."""
    x, y = (torch.randn(count, width, dtype=dtype) for count in (block.num_sources, block.num_targets))
    weights, attention = torch.rand(block.num_edges, dtype=dtype), torch.randn(width, dtype=dtype)

    def pulling(*leaves: Any, h: str = "multiply", f: str = "sum", mode: str | None = None) -> Task:
        runs: dict[str, Function] = {
            "tgraph": lambda x, w=None: pull(block, x, w, h, f),
            "plain": lambda x, w=None: plain.pull(block, x, w, h, f),
        }
        if mode is not None:
            runs["bag"] = bag(block, mode)
        return list(leaves), runs

    def scoring(g: str, *more: Any) -> Task:
        return [x, y, *more], {
            "tgraph": lambda x, y, *more: neighbor_apply(block, x, y, g, *more),
            "plain": lambda x, y, *more: plain.score(block, x, y, g, *more),
        }

    ngcf: dict[str, Function] = {
        "tgraph": lambda x, y: pull(block, x, EdgeProduct(x, y), "add", "mean"),
        "plain": lambda x, y: plain.pull(block, x, plain.score(block, x, y, "product"), "add", "mean"),
    }
    return {
        "pull sum": pulling(x, mode="sum"),
        "pull mean": pulling(x, f="mean", mode="mean"),
        "pull weighted": pulling(x, weights, mode="sum"),
        "pull softmax": pulling(x, weights, f="softmax"),
        "pull max": pulling(x, f="max"),
        "NGCF: product, add, mean": ([x, y], ngcf),
        "dot": scoring("dot"),
        "cosine": scoring("cosine"),
        "additive (GATv2)": scoring("additive", attention),
    }


def measure(task: Task, with_plain: bool, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median ms of each candidate, forward and backward."""
    leaves = [leaf.detach().clone().requires_grad_() for leaf in task[0]]
    runs = {name: run for name, run in task[1].items() if with_plain or name != "plain"}
    forward = interleave({name: lambda run=run: run(*leaves) for name, run in runs.items()}, rounds)
    backward = {}
    for name, run in runs.items():
        answer = run(*leaves)
        gradients = torch.ones_like(answer)
        backward[name] = lambda answer=answer, gradients=gradients: torch.autograd.grad(
            answer, leaves, gradients, retain_graph=True
        )
    timings = interleave(backward, rounds)
    return tuple({name: 1e3 * one.median for name, one in part.items()} for part in (forward, timings))  # type: ignore[return-value]


def main() -> None:
    """Measure and print a table per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--only", default="", help="only functions whose name has this in it")
    parser.add_argument("--dtype", choices=("float32", "float64", "bfloat16"), default="float32")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(tg.config.num_threads)
    for size in arguments.sizes:
        num_targets, num_edges, width = SIZES[size]
        block = random_block(num_targets, num_edges)
        _ = block.reverse
        print(f"\n### {num_targets:,} targets, {num_edges:,} edges, {width} features, {arguments.dtype}, ms\n")
        print("| function | forward | plain | bag | backward | plain | bag |\n|---|---|---|---|---|---|---|")
        for name, task in tasks(block, width, getattr(torch, arguments.dtype)).items():
            if arguments.only in name:
                parts = measure(task, num_edges * width <= LARGEST_PLAIN, arguments.rounds)
                cells = [
                    f"{part[who]:.1f}" if who in part else "-" for part in parts for who in ("tgraph", "plain", "bag")
                ]
                print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
