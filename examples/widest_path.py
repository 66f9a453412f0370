"""An algorithm of one's own: how wide is the widest path from a vertex to every other?

A path is as wide as its narrowest edge. Ten lines say what travels and how it meets; any engine runs them.
"""

from __future__ import annotations

import math
from typing import Any

import tgraph as tg


class WidestPath(tg.Program):
    """The width of the widest path from `source` (a vertex number); 0 = not reached."""

    reduce, monotonic = "max", True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        width = graph.full(0.0, "float64", at={self.source: math.inf})
        return width, graph.full(False, "bool", at={self.source: True})

    def message(self, value: Any, weight: Any) -> Any:
        return tg.minimum(value, weight)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


if __name__ == "__main__":
    city = tg.from_edges(["a", "a", "b", "c"], ["b", "c", "d", "d"], weights=[5.0, 2.0, 3.0, 9.0])
    print(tg.run(WidestPath(city.vertex_of("a")), city).to_pandas())
