"""The graph of seven vertices from the documentation of `tgraph.operators`, on every runtime."""

from __future__ import annotations

import pytest

import tgraph as tg

SOURCES = [0, 0, 1, 2, 2, 2, 3, 4, 5, 5]
TARGETS = [1, 2, 3, 3, 4, 5, 6, 6, 0, 6]


@pytest.fixture
def example(runtime_name: str) -> tg.Graph:
    return tg.from_edges(SOURCES, TARGETS, [float(10 * edge) for edge in range(10)], runtime=runtime_name)
