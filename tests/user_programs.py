"""Programs as users write them, for tests of several engines."""

from __future__ import annotations

import math
from typing import Any

import tgraph as tg


class WidestPath(tg.Program):
    """The widest path from a source: no built-in algorithm is like it."""

    reduce, monotonic = "max", True

    def __init__(self, source: int = 0) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> Any:
        widths = graph.full(0.0, "float64", at={self.source: math.inf})
        return {"width": widths}, graph.full(False, "bool", at={self.source: True})

    def message(self, width: Any, weight: Any) -> Any:
        return tg.minimum(width, weight)

    def update(self, width: Any, incoming: Any) -> Any:
        return tg.maximum(width, incoming)
