"""A user's program, 30 lines from the class to the check: one answer, however it is run."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tgraph as tg


class WidestPath(tg.Program):
    """How wide is the widest path from the source, if a path is as wide as its narrowest edge?"""

    reduce, monotonic = "max", True

    def __init__(self, source):
        self.source = source

    def init(self, graph):
        widths = graph.full(0.0, "float64", at={self.source: math.inf})
        return {"width": widths}, graph.full(False, "bool", at={self.source: True})

    def message(self, width, weight):
        return tg.minimum(width, weight)

    def update(self, width, incoming):
        return tg.maximum(width, incoming)


@pytest.mark.parametrize("kernel", ["fused", "plain"])
@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_every_way_gives_the_same_answer(runtime_name, kernel, direction):
    graph = tg.generate.rmat(10, 8, seed=2, weights=(1, 30), runtime=runtime_name)
    result = tg.run(WidestPath(3), graph, kernel=kernel, direction=direction)
    assert result.trace.kernel == kernel
    expected = widths_by_threshold(graph, 3)
    assert result.to_numpy().tolist() == expected


def widths_by_threshold(graph, source):
    """Add edges from the widest to the narrowest; a vertex is as wide as the edge that first connects it."""
    sources, targets, weights = graph.to("numpy").edges()
    widths = np.zeros(graph.num_vertices)
    widths[source] = math.inf
    for threshold in np.unique(weights)[::-1]:
        at_least = weights >= threshold
        while True:
            fresh = at_least & (widths[sources] > 0) & (widths[targets] == 0)
            if not fresh.any():
                break
            widths[targets[fresh]] = threshold
        if (widths > 0).all():
            break
    return widths.tolist()
