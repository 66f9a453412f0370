"""Drawings of a run for notebooks, from its trace: `result.plot`. A page of its own is a report (`results.report`).

| kind | what it shows, iteration by iteration |
|---|---|
| `iterations` | active edges and seconds |
| `transfers` | bytes from far memory, by way of transfer: the execution path of HyTGraph's figure 5 |
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from tgraph.errors import InvalidArgumentError, MissingDependencyError, check_choice
from tgraph.results.trace import Trace

KINDS = ("iterations", "transfers")
_COLORS = {"filter": "#4c72b0", "compact": "#dd8452", "zero_copy": "#55a868"}


def draw(trace: Trace, kind: str, title: str) -> Any:
    """Return a matplotlib figure."""
    check_choice("kind", kind, KINDS)
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependencyError("matplotlib", "plot", "plots")
    if kind == "transfers" and not any(iteration.moved for iteration in trace):
        raise InvalidArgumentError("kind='transfers' shows what came from far memory; here all edges were near")
    figure_module = importlib.import_module("matplotlib.figure")
    figure = figure_module.Figure(figsize=(8, 4), layout="constrained")
    axis = figure.subplots()
    numbers = range(1, len(trace) + 1)
    if kind == "transfers":
        bottoms = [0.0] * len(trace)
        for way, color in _COLORS.items():
            heights = [(iteration.moved or {}).get(way, 0) / 2**20 for iteration in trace]
            if any(heights):
                axis.bar(numbers, heights, bottom=bottoms, label=way, color=color)
                bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
        axis.set_ylabel("MiB moved")
    else:
        axis.bar(numbers, [iteration.seconds for iteration in trace], color="#b0b0b0", label="seconds")
        axis.set_ylabel("seconds")
    other = axis.twinx()
    other.plot(numbers, [iteration.active_edges for iteration in trace], "k.-", linewidth=0.8, label="active edges")
    other.set_ylabel("active edges")
    axis.set_xlabel("iteration")
    axis.set_title(title, loc="left", fontsize=10)
    figure.legend(loc="outside upper right", ncols=4, fontsize=8)
    return figure
