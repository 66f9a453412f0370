"""Verbs on a Ray cluster of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tgraph as tg
from launch import ROOT

LOST_ONCE = """
import os, signal, sys
from pathlib import Path
from tgraph.algorithms.pagerank import PageRank
from tgraph.memory import checkpoint

checkpoint.SECONDS_BETWEEN = 0.0

def is_done(self, iteration, residual):
    first = os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"
    if first and iteration == 5 and os.environ.get("RANK") == "1":
        Path(__file__).with_name("lost").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return residual <= self.tolerance

if os.environ.get("TGRAPH_TEST_LOSES_A_RANK"):
    PageRank.is_done = is_done
"""


def submit(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    variables["PYTHONPATH"] = os.pathsep.join([*environment.get("PYTHONPATH", "").split(os.pathsep), *paths]).strip(":")
    arguments = [sys.executable, "-m", "tgraph", "submit", "--ray", "local", *map(str, command)]
    return subprocess.run(arguments, env=variables, capture_output=True, text=True, timeout=600, check=False)


def check_ranks(folder: Path, graph: tg.Graph) -> None:
    parts = sorted(folder.iterdir())
    assert len(parts) == 2
    found = pl.concat([pl.read_parquet(part) for part in parts])
    np.testing.assert_allclose(found["ranks"].to_numpy(), tg.pagerank(graph, tol_l1=1e-10).to_numpy(), atol=1e-9)


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from tgraph.cli.ray_group import run_on_ray
    from tgraph.errors import MissingDependencyError

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"tgraph\[distributed\]"):
        run_on_ray("local", ["pagerank"], 2, 1, 0)


@pytest.mark.parametrize("loses_a_rank", [False, True])
def test_a_group_of_actors(tmp_path: Path, loses_a_rank: bool) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    graph = tg.generate.rmat(7, 4, seed=3)
    file, out = tmp_path / "edges.parquet", tmp_path / "ranks"
    tg.write(graph, file)
    (tmp_path / "sitecustomize.py").write_text(LOST_ONCE if loses_a_rank else "")
    options = ("--tol-l1", "1e-10", "--checkpoint", tmp_path / "notes", "--top", 3, "--out", out)
    environment = {"PYTHONPATH": str(tmp_path), "TGRAPH_TEST_LOSES_A_RANK": "1" if loses_a_rank else ""}
    done = submit("--ranks", 2, "pagerank", file, *options, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 ranks" in " ".join(done.stdout.split())
    assert (tmp_path / "lost").exists() == loses_a_rank
    check_ranks(out, tg.read(file))


def test_failures_are_told() -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    done = submit("--ranks", 2, "--max-restarts", 0, "pagerank", "nowhere.parquet")
    assert done.returncode == 2
    assert "pagerank failed 1 times on 2 ranks of Ray; attempt 0: rank" in done.stderr
    assert "nowhere.parquet" in done.stderr
