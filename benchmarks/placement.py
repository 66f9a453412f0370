"""Aggregating first, combining first, and the order that a placement chooses: one layer, forward and backward.

    python benchmarks/placement.py

Sampled blocks have many more sources than targets, a whole graph has as many. The first layer's embeddings need no
gradient. Orders take turns, each on the same blocks; ms are medians of the forward and backward pass together.
"""

from __future__ import annotations

import torch
from measure import interleave
from napa import random_block

import tgraph as tg
from tgraph.nn import Block, Placement, aggregate_and_combine

ROUNDS = 9
CASES = {  # targets, edges, in, out, whether a whole graph, whether the first layer
    "sampled, 602 to 64, first layer": (6_000, 60_000, 602, 64, False, True),
    "sampled, 64 to 64": (1_000, 10_000, 64, 64, False, False),
    "sampled, 602 to 64": (6_000, 60_000, 602, 64, False, False),
    "whole graph, 1,433 to 16, first layer": (2_708, 10_556, 1_433, 16, True, True),
    "whole graph, 256 to 64": (20_000, 300_000, 256, 64, True, False),
    "whole graph, 64 to 256": (20_000, 300_000, 64, 256, True, False),
}


def main() -> None:
    """Measure and print a table."""
    torch.set_num_threads(tg.config.num_threads)
    print("| layer | aggregate first | combine first | auto | chosen forward, backward |\n|---|---|---|---|---|")
    for name, (num_targets, num_edges, in_width, out_width, is_whole, is_first) in CASES.items():
        block = random_block(num_targets, num_edges)
        if is_whole:
            block = Block(block.offsets, block.sources % num_targets, num_targets)
        _ = block.reverse
        x = torch.randn(block.num_sources, in_width, requires_grad=not is_first)
        weight = torch.randn(out_width, in_width, requires_grad=True)
        placements = {order: Placement(order) for order in ("aggregate_first", "combine_first", "auto")}

        def step(
            placement: Placement, block: Block = block, x: torch.Tensor = x, weight: torch.Tensor = weight
        ) -> None:
            aggregate_and_combine(block, x, weight, f="mean", placement=placement).sum().backward()

        for _ in range(3 * placements["auto"].trials):
            step(placements["auto"])
        timings = interleave({order: lambda p=p: step(p) for order, p in placements.items()}, ROUNDS)
        chosen = [placements["auto"].trace[k].order for k in (-2, -1)]
        cells = [f"{1e3 * timing.median:.1f}" for timing in timings.values()]
        print(f"| {name} | " + " | ".join(cells) + f" | {chosen[0]}, {chosen[1]} |", flush=True)


if __name__ == "__main__":
    main()
