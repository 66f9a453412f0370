"""Programs compiled into the pull kernel: the answer of the plain path, on any number of threads, from any cache."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.algorithms.hits import HITS
from tgraph.algorithms.katz import WeightedKatz
from tgraph.algorithms.pagerank import PageRank
from tgraph.errors import InterruptedRunError, InvalidProgramError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import cuts, pull
from tgraph.kernels.generated import kernel_folder

TOLERANCES = {"rtol": 1e-12, "atol": 0.0}


class Heat(tg.Program):
    """Two fields, weights, ids and a total: everything a message and an update may ask for."""

    reduce, active, tolerance = "sum", "all", 1e-9

    def __init__(self, loss: float = 0.5) -> None:
        self.loss = loss

    def init(self, graph: tg.Graph) -> tuple[Any, None]:
        warm = graph.runtime.astype(graph.runtime.arange(0, graph.num_vertices, "int64"), "float64")
        return {"heat": warm, "seen": graph.full(0, "int64"), "size": graph.full(2.0, "float32")}, None

    def message(self, heat: Any, size: Any, target_heat: Any, weight: Any, source: Any, target: Any) -> Any:
        return tg.where(source != target, (heat - target_heat) * weight / (size + 5000.0), 0.0)

    def total(self, heat: Any) -> Any:
        return heat

    def update(self, heat: Any, seen: Any, incoming: Any, total: Any) -> Any:
        return {"heat": self.loss * (heat + incoming) + 1e-9 * total, "seen": seen + 1}

    def change(self, heat: Any, new_heat: Any) -> Any:
        return tg.absolute(new_heat - heat)


def graph_for(runtime: str, scale: int = 9) -> tg.Graph:
    return tg.generate.rmat(scale, 8, seed=3, weights=(0.0, 1.0), runtime=runtime)


def test_a_program_with_everything_equals_the_plain_path(runtime_name):
    graph = graph_for(runtime_name)
    plain = tg.run(Heat(), graph, kernel="plain", max_iterations=40)
    fused = tg.run(Heat(), graph, kernel="fused", max_iterations=40)
    assert fused.trace.kernel == "fused"
    assert plain.trace.kernel == "plain"
    assert (fused.iterations, fused.converged) == (plain.iterations, plain.converged)
    for name in ("heat", "seen", "size"):
        np.testing.assert_allclose(np.asarray(fused.fields[name]), np.asarray(plain.fields[name]), **TOLERANCES)
    assert [row.residual for row in fused.trace] == pytest.approx([row.residual for row in plain.trace], rel=1e-9)


def test_another_constant_needs_no_other_kernel():
    graph = graph_for("numpy")
    before = len(list(kernel_folder().glob("*.py")))
    tg.run(Heat(), graph, kernel="fused", max_iterations=2)
    between = len(list(kernel_folder().glob("*.py")))
    cold = tg.run(Heat(0.25), graph, kernel="fused", max_iterations=2)
    assert len(list(kernel_folder().glob("*.py"))) == between >= before
    np.testing.assert_allclose(
        cold.values, tg.run(Heat(0.25), graph, kernel="plain", max_iterations=2).values, **TOLERANCES
    )


class AtOnce(Heat):
    """Uses new values in the same sweep."""

    asynchronous = True


MAKERS = {"swaps": Heat, "in place": lambda: PageRank(0.85, 1e-12), "at once": AtOnce}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_asking_for_memory_ahead_changes_no_bit(monkeypatch, make):
    graph = graph_for("numpy")
    monkeypatch.setattr(pull, "BEYOND_CACHE", 0)
    found = set()
    for asks in ("False", "True", "iteration % 2 == 0"):
        monkeypatch.setattr(pull, "ASKS", asks)
        found.add(tg.run(make(), graph, kernel="fused", max_iterations=7).values.tobytes())
    assert len(found) == 1


def test_new_values_along_weighted_edges_are_used_at_once(monkeypatch):
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 64)

    class Later(WeightedKatz):
        asynchronous = False

    graph = graph_for("numpy")
    at_once, later = (tg.run(kind(0.01, 1.0, 1e-9), graph, kernel="fused") for kind in (WeightedKatz, Later))
    assert at_once.converged
    assert at_once.iterations < later.iterations
    np.testing.assert_allclose(at_once.values, later.values, rtol=1e-9)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_threads_change_no_bit(monkeypatch, make):
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 64)
    graph = graph_for("numpy")
    answers = [tg.run(make(), graph, kernel="fused", threads=threads) for threads in (1, 2, 3, 7)]
    for other in answers[1:]:
        assert other.values.tobytes() == answers[0].values.tobytes()
        assert [row.residual for row in other.trace] == [row.residual for row in answers[0].trace]


def test_an_odd_and_an_even_number_of_swaps_and_more_than_one_call(monkeypatch):
    graph = graph_for("numpy")
    for count in (0, 1, 2, 5):
        plain = tg.run(Heat(), graph, kernel="plain", max_iterations=count)
        monkeypatch.setattr("tgraph.engine.fused.ITERATIONS_PER_CALL", 2)
        fused = tg.run(Heat(), graph, kernel="fused", max_iterations=count)
        assert fused.iterations == count
        np.testing.assert_allclose(fused.values, plain.values, **TOLERANCES)


class Forever(Heat):
    """Never done."""

    tolerance = -1.0


def test_ctrl_c_ends_a_kernel_between_iterations():
    graph = graph_for("numpy", scale=12)
    tg.run(Forever(), graph, kernel="fused", max_iterations=1)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(InterruptedRunError, match="Forever was interrupted after") as caught:
        tg.run(Forever(), graph, kernel="fused")
    result = caught.value.result
    assert result.iterations > 0
    assert not result.converged
    repeated = tg.run(Forever(), graph, kernel="fused", max_iterations=result.iterations)
    assert repeated.values.tobytes() == result.values.tobytes()


def test_progress_is_shown_while_the_kernel_runs(capsys):
    tg.run(Forever(), graph_for("numpy", scale=12), kernel="fused", max_iterations=700, progress=True)
    assert "Forever: iteration" in capsys.readouterr().err


class DoneByItself(Heat):
    """Decides with Python when to stop."""

    def is_done(self, iteration: int, residual: float) -> bool:
        return iteration == 3


def test_is_done_is_asked_after_every_iteration():
    result = tg.run(DoneByItself(), graph_for("numpy"), kernel="fused")
    assert (result.iterations, result.converged) == (3, True)


class Unusual(Heat):
    """Uses what no kernel knows."""

    def update(self, heat: Any, seen: Any, incoming: Any, total: Any) -> Any:
        return sum([heat, incoming])


def test_what_cannot_be_compiled_runs_plain_or_says_why():
    graph = graph_for("numpy")
    assert tg.run(Unusual(), graph, max_iterations=2).trace.kernel == "plain"
    with pytest.raises(InvalidProgramError, match="kernel='fused' cannot run Unusual: it uses"):
        tg.run(Unusual(), graph, kernel="fused")
    with pytest.raises(InvalidProgramError, match="it overrides compute"):
        tg.run(HITS(1e-8, False), graph, kernel="fused")


RUN = """
import sys, tgraph as tg
sys.path.insert(0, {here!r})
from test_pull import Heat, graph_for
result = tg.run(Heat(), graph_for("numpy"), kernel="fused", max_iterations=3)
print(result.values.sum(), result.trace.kernel)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    code = RUN.format(here=str(Path(__file__).parent))
    environment = {**os.environ, "TGRAPH_CACHE_DIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)


def test_processes_share_a_cache_and_a_missing_one_does_no_harm(tmp_path):
    together = [start(tmp_path / "cache") for _ in range(2)]
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    answers = {process.communicate()[0] for process in (*together, start(blocked))}
    assert len(answers) == 1
    assert answers.pop().endswith("fused\n")
    kernels = list((tmp_path / "cache" / "kernels").glob("tgraph_kernel_*.py"))
    assert len(kernels) == 1
    assert list((tmp_path / "cache" / "kernels").rglob("*.nbi"))
    assert blocked.read_text() == "not a folder"
