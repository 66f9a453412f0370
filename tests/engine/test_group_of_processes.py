"""Groups of real processes, joined by gloo. Few and small: a launch takes seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tgraph as tg
from launch import ROOT, launch
from tgraph.algorithms import BFS
from user_programs import WidestPath

RANKS = ROOT / "tests" / "ranks"
BENCHMARKS = ROOT / "benchmarks"


def run_benchmark(*command: object) -> subprocess.CompletedProcess[str]:
    """Run a script that starts groups by itself."""
    arguments = [sys.executable, *map(str, command)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.parametrize("size", [2, 4])
def test_answers_are_those_of_one_process(size: int) -> None:
    done = launch(size, str(RANKS / "answers.py"))
    assert done.returncode == 0, done.stderr
    assert f"all answers are right on {size}" in done.stdout


def test_ranks_that_stream_stay_within_their_budgets(tmp_path: Path) -> None:
    """A rank has 19 MB of edges and weights in each direction, of which 5 MB are near at most."""
    graph, file, memory = (
        tg.generate.rmat(15, 96, seed=1, weights=(1, 9), runtime="numpy"),
        tmp_path / "g.safetensors",
        5_000_000,
    )
    tg.write(graph, file, reverse=True)
    ranks = tg.pagerank(graph, tol_l1=0.0, max_iterations=5)
    expected = {"power iteration": ranks, "bfs": tg.run(BFS(0), graph), "wcc": tg.wcc(graph)}
    for name, result in {**expected, "widest": tg.run(WidestPath(), graph)}.items():
        np.save(tmp_path / f"{name}.npy", np.asarray(result.values))
    done = launch(2, str(RANKS / "streamed.py"), str(file), str(memory))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "streamed answers are right on 2" in done.stdout
    options = ("--memory", "5MB", "--out", str(tmp_path / "labels"))
    done = launch(2, "-m", "tgraph", "wcc", str(file), *options)
    assert done.returncode == 0, done.stderr
    labels = pl.concat([pl.read_parquet(part) for part in sorted((tmp_path / "labels").iterdir())])
    assert labels["labels"].to_list() == expected["wcc"].labels.tolist()


def test_a_silent_rank_is_named() -> None:
    done = launch(3, str(RANKS / "lost.py"), "hangs", timeout_seconds=60)
    assert done.returncode != 0
    assert "waited in vain for rank 2 of 3" in done.stdout, done.stderr


def test_a_rank_that_ends_is_the_end_of_the_group() -> None:
    done = launch(3, str(RANKS / "lost.py"), "ends", timeout_seconds=60)
    assert done.returncode != 0
    assert "Root Cause" in done.stderr  # torchrun names it, and ends the others


def test_a_process_that_nobody_launched_is_alone() -> None:
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "PATH": ""}
    done = subprocess.run([sys.executable, RANKS / "answers.py"], env=environment, capture_output=True, text=True)
    assert "all answers are right on 1" in done.stdout, done.stderr


def test_the_command_line_writes_a_part_per_rank(tmp_path: Path) -> None:
    graph = tg.generate.rmat(8, 6, seed=3)
    edges = tmp_path / "edges.parquet"
    tg.write(graph, edges)
    expected = tg.pagerank(tg.read(edges), tol_l1=1e-10)
    options = ("--tol-l1", "1e-10", "--top", "3", "--out", str(tmp_path / "ranks"), "--trace", str(tmp_path / "t.json"))
    done = launch(2, "-m", "tgraph", "pagerank", str(edges), *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("PageRank") == 1  # rank 0 speaks for all
    assert "2 ranks" in " ".join(done.stdout.split())
    parts = sorted((tmp_path / "ranks").iterdir())
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet"]
    frame = pl.concat([pl.read_parquet(part) for part in parts])
    assert frame["vertex"].to_list() == expected.vertex_ids().tolist()
    np.testing.assert_allclose(frame["ranks"].to_numpy(), expected.to_numpy(), atol=1e-9)
    assert json.loads((tmp_path / "t.json").read_text())["iterations"][0]["moved"]["sent"] > 0


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    done = launch(2, str(RANKS / "killed.py"), str(tmp_path), max_restarts=1)
    assert done.returncode == 0, done.stderr
    assert "attempt 1 ended with 12 iterations" in done.stdout
    assert not list(tmp_path.iterdir())


def test_answers_in_network_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`benchmarks/group_answers.py` does the same on R-MAT 20 and real graphs."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from network_namespaces import obstacle

    if (reason := obstacle()) is not None:
        pytest.skip(reason)
    options = ("--graphs", "rmat7", "--sizes", 2, "--namespaces", "--cache", tmp_path)
    done = run_benchmark(BENCHMARKS / "group_answers.py", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| rmat7 | 2 | equal | equal | equal | equal | equal |" in done.stdout


def test_ranks_that_are_killed_at_random() -> None:
    """`benchmarks/group_kills.py --kills 50` does the same at length."""
    done = run_benchmark(BENCHMARKS / "group_kills.py", "--kills", 3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 groups were hurt, none hung, no answer was wrong" in done.stdout
