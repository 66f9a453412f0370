"""Aggregating first, combining first, and the order that a placement chooses: one layer, forward and backward.

    python benchmarks/placement.py

Sampled blocks have many more sources than targets, a whole graph has as many. The first layer's embeddings need no
gradient. Orders take turns in any order, each on the same three blocks of different sizes; ms are medians of the
forward and backward pass together, per block. The error of estimates is the mean of |estimated - measured| / measured
over all passes after the trials, forward and backward each on its own.
"""

from __future__ import annotations

import statistics

import torch
from measure import interleave
from napa import random_block

import tgraph as tg
from tgraph.nn import Block, Placement, aggregate_and_combine

ROUNDS = 25
SHARES = (0.7, 1.0, 1.3)  # of the sizes below, which the three blocks have
CASES = {  # targets, edges, in, out, whether a whole graph, whether the first layer
    "sampled, 602 to 64, first layer": (6_000, 60_000, 602, 64, False, True),
    "sampled, 64 to 64": (1_000, 10_000, 64, 64, False, False),
    "sampled, 602 to 64": (6_000, 60_000, 602, 64, False, False),
    "whole graph, 1,433 to 16, first layer": (2_708, 10_556, 1_433, 16, True, True),
    "whole graph, 256 to 64": (20_000, 300_000, 256, 64, True, False),
    "whole graph, 64 to 256": (20_000, 300_000, 64, 256, True, False),
}


def build_block(num_targets: int, num_edges: int, is_whole: bool) -> Block:
    """Return a block with its reverse."""
    block = random_block(num_targets, num_edges)
    if is_whole:
        block = Block(block.offsets, block.sources % num_targets, num_targets)
    _ = block.reverse
    return block


class Layer:
    """A layer on blocks of several sizes, which take turns."""

    def __init__(self, sizes: tuple[int, int], widths: tuple[int, int], is_whole: bool, is_first: bool) -> None:
        self.blocks = [build_block(*(int(share * size) for size in sizes), is_whole) for share in SHARES]
        needs_gradient = not is_first
        self.embeddings = [torch.randn(b.num_sources, widths[0], requires_grad=needs_gradient) for b in self.blocks]
        self.weight = torch.randn(widths[1], widths[0], requires_grad=True)

    def run(self, placement: Placement) -> None:
        """Go forward and backward on every block."""
        for block, x in zip(self.blocks, self.embeddings, strict=True):
            aggregate_and_combine(block, x, self.weight, f="mean", placement=placement).sum().backward()


def estimate_error(placement: Placement) -> float:
    """Return by how much estimates differ from what was measured, on average, as a part of what was measured."""
    entries = [entry for entry in placement.trace if entry.reason == "estimate"]
    errors = [abs(entry.estimated_seconds - entry.measured_seconds) / entry.measured_seconds for entry in entries]
    return statistics.mean(errors)


def main() -> None:
    """Measure and print a table."""
    torch.set_num_threads(tg.config.num_threads)
    columns = ["layer", "aggregate first", "combine first", "auto", "chosen forward, backward", "error of estimates"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    all_errors = []
    for name, (num_targets, num_edges, in_width, out_width, is_whole, is_first) in CASES.items():
        layer = Layer((num_targets, num_edges), (in_width, out_width), is_whole, is_first)
        placements = {order: Placement(order) for order in ("aggregate_first", "combine_first", "auto")}
        for _ in range(3 * placements["auto"].trials):
            layer.run(placements["auto"])
        timings = interleave({order: lambda p=p, layer=layer: layer.run(p) for order, p in placements.items()}, ROUNDS)
        chosen = [placements["auto"].trace[k].order for k in (-2, -1)]
        all_errors.append(estimate_error(placements["auto"]))
        cells = [f"{1e3 * timing.median / len(SHARES):.2f}" for timing in timings.values()]
        print(f"| {name} | {' | '.join(cells)} | {chosen[0]}, {chosen[1]} | {all_errors[-1]:.0%} |", flush=True)
    print(f"\nEstimates differ from what was measured by {statistics.mean(all_errors):.0%} on average.")


if __name__ == "__main__":
    main()
