"""Kernels of whole algorithms end when the stop word is set, on any number of threads, with nobody left waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.config import config
from tgraph.kernels.cpu import nearest_source, scc, separate_searches, team
from tgraph.kernels.cpu.coloring import first_fit_colors, largest_first_order
from tgraph.kernels.cpu.k_core import core_numbers
from tgraph.kernels.cpu.katz import KatzRun
from tgraph.kernels.cpu.lanczos import LanczosRun
from tgraph.kernels.cpu.mis import first_independent, random_order
from tgraph.kernels.cpu.mst import minimum_spanning_forest
from tgraph.kernels.cpu.multi_source import levels_from_sources, reach_of_sources, reach_of_vertices
from tgraph.kernels.cpu.team import watch_team
from tgraph.kernels.cpu.watch import STOP, Watch, new_shared


class StoppedWatch(Watch):
    """Runs workers that are told to stop before they begin."""

    def run(self, worker: Callable[..., None], size: int, *args: Any) -> Any:
        shared = new_shared(size)
        shared[STOP] = 1
        watch_team(worker, size, (shared, *args))
        return shared


def _rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    graph = tg.generate.rmat(10, 8, seed=1, weights=(1, 9), runtime="numpy").symmetrize()
    return graph.adjacency("out").to_numpy()


def _color(offsets: np.ndarray, targets: np.ndarray, _: np.ndarray, watch: Watch) -> Any:
    return first_fit_colors(((offsets, targets),), largest_first_order(np.diff(offsets), 0), watch)


SOURCES = np.arange(5)
KERNELS: dict[str, Callable[..., Any]] = {
    "scc": lambda offsets, targets, _, watch: scc.smallest_strongly_connected(offsets, targets, watch),
    "k_core": lambda offsets, targets, _, watch: core_numbers((offsets, targets), None, True, watch),
    "katz": lambda offsets, targets, _, watch: KatzRun((offsets, targets), 0.001, 1.0).advance(50, 0.0, watch),
    "lanczos": lambda *rows_and_watch: LanczosRun(rows_and_watch[:3]).advance(50, 0.0, rows_and_watch[3]),
    "nearest_source": lambda offsets, targets, _, watch: nearest_source.nearest_sources(
        (offsets, targets), (offsets, targets), SOURCES, watch
    ),
    "reach_of_sources": lambda offsets, targets, _, watch: reach_of_sources(
        (offsets, targets), (offsets, targets), SOURCES, watch
    ),
    "reach_of_vertices": lambda offsets, targets, _, watch: reach_of_vertices(
        (offsets, targets), (offsets, targets), SOURCES, watch
    ),
    "levels_from_sources": lambda offsets, targets, _, watch: levels_from_sources(
        (offsets, targets), (offsets, targets), SOURCES, watch
    ),
    "mst": lambda *rows_and_watch: minimum_spanning_forest(*rows_and_watch[:3], True, rows_and_watch[3]),
    "mis": lambda offsets, targets, _, watch: first_independent(
        ((offsets, targets),), random_order(offsets.size - 1, 0), watch
    ),
    "coloring": _color,
}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("deep_levels", [0, separate_searches.DEEP_LEVELS])
@pytest.mark.parametrize("name", KERNELS)
def test_a_stopped_kernel_ends(monkeypatch: pytest.MonkeyPatch, name: str, threads: int, deep_levels: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(config, "num_threads", threads)
    monkeypatch.setattr(scc, "SMALL", 0)
    monkeypatch.setattr(nearest_source, "FEW_EDGES", 0)
    monkeypatch.setattr(separate_searches, "DEEP_LEVELS", deep_levels)
    assert KERNELS[name](*_rows(), StoppedWatch()) is not None
    assert KERNELS[name](*_rows(), Watch()) is not None
