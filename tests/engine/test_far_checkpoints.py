"""Runs on graphs in files that were ended go on from their checkpoints."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tgraph as tg
from far_graphs import ALGORITHMS, SCORES, Degrees, stored, web_like
from tgraph.errors import (
    InvalidArgumentError,
)
from tgraph.memory import FarFile, checkpoint
from user_programs import WidestPath


@pytest.mark.parametrize("name", ["pagerank", "pagerank_delta", "pagerank_20", "sssp", "widest"])
def test_a_run_that_died_goes_on_with_the_same_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    graph = tg.generate.rmat(11, 8, seed=2, weights=(1, 100), runtime="numpy").symmetrize()
    run = {**ALGORITHMS, **SCORES}[name]
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    looks = iter(range(10_000))
    check_unchanged = FarFile.check_unchanged

    def die_once(file: FarFile) -> None:
        check_unchanged(file)
        if next(looks) == 4:
            raise RuntimeError("the power is gone")

    with stored(graph, memory=70 * graph.num_vertices + graph.num_arcs) as far:
        expected = run(far)
        with monkeypatch.context() as patch:
            patch.setattr(FarFile, "check_unchanged", die_once)
            with pytest.raises(RuntimeError, match="power"):
                run(far, checkpoint=tmp_path)
        assert len(list(tmp_path.iterdir())) == 1
        result = run(far, checkpoint=tmp_path)
        assert result.to_numpy().tobytes() == expected.to_numpy().tobytes()
        assert [one.active_edges for one in result.trace][:4] == [one.active_edges for one in expected.trace][:4]
        assert result.iterations == expected.iterations
        assert list(tmp_path.iterdir()) == []


def test_a_killed_process_goes_on(tmp_path: Path) -> None:
    graph = tg.generate.rmat(12, 8, seed=2, runtime="numpy").symmetrize()
    tg.write(graph, tmp_path / "graph.safetensors")
    folder = tmp_path / "notes"
    script = f"""
import os, signal, tgraph as tg
from tgraph.memory import FarFile, checkpoint
checkpoint.SECONDS_BETWEEN = 0.0
count = 0
def kill(file):
    global count
    count += 1
    if count == 6:
        os.kill(os.getpid(), signal.SIGKILL)
FarFile.check_unchanged = kill
far = tg.open({str(tmp_path / "graph.safetensors")!r}, "1MiB", "numpy")
tg.pagerank(far, tol_l1=1e-9, checkpoint={str(folder)!r})
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    far = tg.open(tmp_path / "graph.safetensors", "1MiB", "numpy")
    fresh = tg.pagerank(far, tol_l1=1e-9)
    result = tg.pagerank(far, tol_l1=1e-9, checkpoint=folder)
    assert result.ranks.tobytes() == fresh.ranks.tobytes()
    assert result.iterations == fresh.iterations > 6


def test_checkpoints_of_other_runs_and_where_there_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    graph = tg.generate.rmat(8, 8, seed=2, runtime="numpy")
    with stored(graph) as far:
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint.Checkpoint, "remove", lambda self: None)
            tg.pagerank(far, checkpoint=tmp_path)
        with pytest.raises(InvalidArgumentError, match="belongs to another run"):
            tg.pagerank(far, damping=0.5, checkpoint=tmp_path)
        for run in (tg.hits, tg.wcc, lambda graph, **how: tg.run(Degrees(), graph, **how)):
            with pytest.raises(InvalidArgumentError, match="checkpoint="):
                run(far, checkpoint=tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"tgraph\.open"):
        tg.run(WidestPath(0), graph, checkpoint=tmp_path)


def test_a_checkpoint_is_of_the_schedule_that_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoint.Checkpoint, "remove", lambda self: None)
    graph = web_like()
    with stored(graph, memory=60 * graph.num_vertices + graph.num_arcs) as far:
        tg.pagerank(far, max_iterations=300, checkpoint=tmp_path)
        with pytest.raises(InvalidArgumentError, match="belongs to another run"):
            tg.pagerank(far, max_iterations=300, checkpoint=tmp_path, schedule="sweep")
