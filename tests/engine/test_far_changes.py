"""Linear programs on graphs in files: by their changes, and when sweeps give way to these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from far_graphs import Heat, stored, web_like
from tgraph.algorithms.katz import Katz
from tgraph.engine import far_delta
from tgraph.errors import (
    InvalidArgumentError,
)
from tgraph.memory import FarFile, checkpoint


def test_slow_sweeps_give_way_to_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = web_like()
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    with stored(graph, memory=45 * graph.num_vertices + graph.num_arcs) as far:
        sweep = tg.pagerank(far, schedule="sweep", max_iterations=300)
        auto, again = tg.pagerank(far, max_iterations=300), tg.pagerank(far, max_iterations=300, threads=1)
        assert sweep.converged
        assert auto.converged
        assert [one.direction for one in auto.trace][:6] == ["pull"] * 4 + ["push"] * 2
        assert auto.trace.moved_bytes < sweep.trace.moved_bytes / 2
        assert np.abs(auto.ranks - sweep.ranks).sum() < 1e-5
        assert auto.ranks.tobytes() == again.ranks.tobytes()
        counted = tg.pagerank(far, max_iterations=7)
        assert (counted.iterations, counted.converged) == (7, False)
        count, check_unchanged = iter(range(1000)), FarFile.check_unchanged

        def die(file: FarFile) -> None:
            check_unchanged(file)
            if next(count) == 12:
                raise RuntimeError("the power is gone")

        with monkeypatch.context() as patch:
            patch.setattr(FarFile, "check_unchanged", die)
            with pytest.raises(RuntimeError, match="power"):
                tg.pagerank(far, max_iterations=300, checkpoint=tmp_path)
        resumed = tg.pagerank(far, max_iterations=300, checkpoint=tmp_path)
        assert resumed.ranks.tobytes() == auto.ranks.tobytes()
        assert resumed.iterations == auto.iterations


class Restless(tg.Program):
    """Says that it is linear, but `update` asks for the old value: it cannot be run by its changes."""

    reduce, active, asynchronous, linear, tolerance = "sum", "all", True, True, 1e-6

    def init(self, graph: tg.Graph) -> Any:
        degrees = graph.runtime.astype(graph.out_degrees(), "float64")
        return {"value": graph.full(1.0, "float64"), "degree": degrees}, None

    def message(self, value: Any, degree: Any) -> Any:
        return value / degree

    def update(self, value: Any, incoming: Any) -> Any:
        return 1.0 + 0.1 * value + 0.8 * incoming


def test_who_cannot_change_over_sweeps_to_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = web_like()
    with stored(graph, memory=60 * graph.num_vertices + graph.num_arcs) as far:
        result = tg.run(Restless(), far, max_iterations=500)
        assert result.converged
        assert {one.direction for one in result.trace} == {"pull"}
        np.testing.assert_allclose(result.values, tg.run(Restless(), graph, max_iterations=500).values, rtol=1e-5)
        with pytest.raises(InvalidArgumentError, match="schedule='delta' cannot run Restless: update does more"):
            tg.run(Restless(), far, schedule="delta")
        monkeypatch.setattr(far_delta.BlockDelta, "scratch_bytes", staticmethod(lambda program, count: 1 << 40))
        no_room = tg.pagerank(far, max_iterations=300)
        assert no_room.converged
        assert {one.direction for one in no_room.trace} == {"pull"}


def test_each_technique_moves_fewer_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = web_like()
    with stored(graph, memory=45 * graph.num_vertices + graph.num_arcs) as far:
        everything = tg.pagerank(far, schedule="delta", max_iterations=300).trace.moved_bytes
        for name, value in {"WAITING_PART": 0.0, "TIMES_WHILE_NEAR": 1}.items():
            with monkeypatch.context() as patch:
                patch.setattr(far_delta, name, value)
                without = tg.pagerank(far, schedule="delta", max_iterations=300)
            assert without.converged
            assert without.trace.moved_bytes > everything, name


def test_changes_need_no_incoming_edges(tmp_path: Path) -> None:
    graph = tg.generate.rmat(9, 8, seed=1, runtime="numpy")
    tg.write(graph, tmp_path / "graph.safetensors")
    result = tg.php(tg.open(tmp_path / "graph.safetensors", "1MiB", "numpy"), 0, tol_l1=1e-12)
    np.testing.assert_allclose(result.scores, tg.php(graph, 0, tol_l1=1e-12).scores, atol=1e-11)


def test_who_cannot_send_changes_says_why() -> None:
    graph = tg.generate.rmat(6, 4, seed=1, runtime="numpy")
    with stored(graph) as far:
        with pytest.raises(InvalidArgumentError, match="it counts its iterations"):
            tg.pagerank(far, tol_l1=0, max_iterations=5, schedule="delta")
        with pytest.raises(InvalidArgumentError, match="it does not say that it is linear"):
            tg.run(Heat(), far, schedule="delta")
        with pytest.raises(InvalidArgumentError, match="schedule="):
            tg.pagerank(far, schedule="soon")


def test_values_that_grow_without_end_end() -> None:
    graph = tg.generate.rmat(6, 8, seed=1, runtime="numpy")
    with stored(graph) as far:
        result = tg.run(Katz(1e6, 1.0, 1e-6), far, schedule="delta", max_iterations=2000)
    assert not result.converged
