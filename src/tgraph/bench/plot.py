"""The plot of a benchmark run: one panel per graph, bars of our time over theirs on a logarithmic scale."""

from __future__ import annotations

import importlib
import importlib.util
import math
from pathlib import Path
from typing import Any

from tgraph.bench.report import ratio_of
from tgraph.bench.run import Outcomes

COLUMNS = {"gap": ("GAP", "#4c72b0"), "best": ("best pip package", "#dd8452")}
BAR_HEIGHT = 0.38


def draw_plot(path: Path, outcomes: Outcomes) -> bool:
    """Draw the ratios to GAP and to the best pip package as SVG; return whether matplotlib is there to do so."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tgraph"
    pyplot = importlib.import_module("matplotlib.pyplot")
    panels = {name: _bars(outcomes, name) for name in outcomes.graphs}
    panels = {name: bars for name, bars in panels.items() if bars}
    if not panels:
        return False
    heights = [len(bars) for bars in panels.values()]
    size = (8, 0.34 * sum(heights) + 1.1 * len(heights) + 0.6)
    figure, axes = pyplot.subplots(len(panels), 1, figsize=size, squeeze=False, height_ratios=heights, sharex=True)
    for axis, (name, bars) in zip(axes[:, 0], panels.items(), strict=True):
        _draw_panel(axis, name, bars)
    axes[-1, 0].set_xlabel("our time / their time (left of 1: tgraph is faster)")
    axes[0, 0].legend(loc="best", fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def _bars(outcomes: Outcomes, name: str) -> list[tuple[str, dict[str, float]]]:
    rows = [row for row in outcomes.rows if row.graph == name]
    found = [(row.task, {column: ratio_of(row, column) for column in COLUMNS}) for row in rows]
    return [(task, values) for task, values in found if not all(math.isnan(value) for value in values.values())]


def _draw_panel(axis: Any, name: str, bars: list[tuple[str, dict[str, float]]]) -> None:
    places = list(range(len(bars)))
    for number, (column, (title, color)) in enumerate(COLUMNS.items()):
        widths = [values[column] for _, values in bars]
        shifted = [place + (number - 0.5) * BAR_HEIGHT for place in places]
        lefts = [1.0] * len(bars)
        axis.barh(shifted, [w - 1.0 for w in widths], BAR_HEIGHT, left=lefts, color=color, label=title)
    axis.set_xscale("log")
    axis.set_yticks(places, [task for task, _ in bars], fontsize=8)
    axis.invert_yaxis()
    axis.axvline(1.0, color="black", linewidth=0.8)
    axis.grid(axis="x", alpha=0.3)
    axis.set_title(name, loc="left", fontsize=10)
