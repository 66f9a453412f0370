"""Longer steps on undirected graphs: fewer iterations, the same fixed point, the same bits on any number of threads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.algorithms.katz import Katz, WeightedKatz
from tgraph.algorithms.pagerank import PageRank
from tgraph.algorithms.php import PHP
from tgraph.errors import InterruptedRunError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import momentum, pull
from tgraph.verify.katz import check_katz
from tgraph.verify.php import check_php


def grid(runtime: str = "numpy") -> tg.Graph:
    """Return a graph on which values settle slowly."""
    return tg.generate.grid(30, 40, seed=1, weights=(1.0, 2.0), runtime=runtime)


def plainly(program: Any) -> Any:
    """Return the program with plain iterations only."""
    program.asynchronous = False
    return program


MAKERS = {
    "per vertex": lambda: Katz(0.24, 1.0, 1e-9),
    "per edge": lambda: WeightedKatz(0.13, 1.0, 1e-9),
    "with a source": lambda: PHP(50, 0.9, 1e-9),
    "with a total": lambda: PageRank(0.95, 1e-9, settles=True),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_fewer_iterations_and_the_same_values(make, runtime_name):
    longer = tg.run(make(), grid(runtime_name))
    plain = tg.run(plainly(make()), grid(), kernel="fused")
    assert longer.converged
    if longer.trace.kernel == "fused":
        assert longer.iterations < 0.5 * plain.iterations
    np.testing.assert_allclose(longer.to_numpy(), plain.to_numpy(), rtol=1e-7, atol=1e-9)


def test_the_last_iteration_is_a_plain_one():
    graph = grid()
    katz = tg.run(Katz(0.24, 1.0, 1e-6), graph)
    check_katz(graph, katz.scores, 0.24, 1.0, 1e-6)
    php = tg.run(PHP(50, 0.9, 1e-6), graph)
    check_php(graph, 50, php.scores, 0.9, 1e-6)
    for limit in (5, 6):  # also where the limit ends it
        ended = tg.run(Katz(0.24, 1.0, 1e-6), graph, max_iterations=limit).values
        after = tg.run(Katz(0.24, 1.0, 1e-6), graph, max_iterations=limit + 20)
        assert np.abs(ended - after.values).sum() > after.residual


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_threads_change_no_bit(monkeypatch, make):
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    answers = [tg.run(make(), grid(), kernel="fused", threads=threads) for threads in (1, 2, 5)]
    for other in answers[1:]:
        assert other.values.tobytes() == answers[0].values.tobytes()
        assert [row.residual for row in other.trace] == [row.residual for row in answers[0].trace]


class Swinging(tg.Program):
    """Messages of every other vertex change their sign, so that eigenvalues are imaginary."""

    reduce, active, asynchronous, linear, tolerance = "sum", "all", True, True, 1e-9

    def init(self, graph: tg.Graph) -> Any:
        rows, columns = np.divmod(np.arange(graph.num_vertices), 40)
        signs = np.where((rows + columns) % 2, 1.0, -1.0)
        return {"heat": graph.full(1.0, "float64"), "signs": graph.runtime.asarray(signs)}, None

    def message(self, heat: Any, signs: Any) -> Any:
        return heat * signs

    def update(self, incoming: Any) -> Any:
        return 0.24 * incoming + 1.0


def test_where_longer_steps_do_not_serve_plain_ones_do():
    swinging = tg.run(Swinging(), grid(), kernel="fused", max_iterations=3000)
    plain = tg.run(plainly(Swinging()), grid(), kernel="fused")
    assert swinging.converged
    np.testing.assert_allclose(swinging.values, plain.values, rtol=1e-7, atol=1e-8)


def test_steps_become_longer_where_new_values_at_once_become_slow(monkeypatch):
    kernels = []
    make = pull._Sweeps
    monkeypatch.setattr(pull, "_Sweeps", lambda *parts: kernels.append(parts[-1]) or make(*parts))
    result = tg.pagerank(grid(), 0.95, 1e-9)
    assert kernels == ["until_slow", "accelerated"]
    residuals = [row.residual for row in result.trace]
    slow = next(i for i in range(1, len(residuals)) if residuals[i] > momentum.TOO_SLOW * residuals[i - 1])
    for limit in (slow, slow + 1, slow + 2):  # iterations before and after the change are counted alike
        ended = tg.pagerank(grid(), 0.95, 1e-9, max_iterations=limit)
        assert (ended.iterations, ended.converged) == (limit, False)
        assert [row.residual for row in ended.trace][:-1] == residuals[: limit - 1]
    kernels.clear()
    fast = tg.generate.erdos_renyi(500, 20_000, seed=1, directed=False, runtime="numpy")
    assert tg.pagerank(fast).converged
    assert kernels == ["until_slow"]


@pytest.mark.parametrize("stage", [0, 1])
def test_an_interrupted_run_has_the_iterations_of_both_kernels(monkeypatch, stage):
    made = []
    advance = pull._Sweeps.advance

    def interrupted(self, limit, *others):
        made.append(self)
        residuals, ticks, _ = advance(self, min(limit, 3) if len(made) > stage else limit, *others)
        return residuals, ticks, len(made) > stage

    monkeypatch.setattr(pull._Sweeps, "advance", interrupted)
    with pytest.raises(InterruptedRunError) as caught:
        tg.pagerank(grid(), 0.95, 1e-9)
    trace = caught.value.result.trace
    assert len(made) == stage + 1
    assert len(trace) > 3 * stage


def test_a_directed_graph_keeps_to_new_values_at_once():
    source, target = np.arange(300), (np.arange(300) + 1) % 300
    result = tg.katz(tg.from_edges(source, target, runtime="numpy"), 0.9, tol_l1=1e-9, normalized=False)
    assert result.converged
    np.testing.assert_allclose(result.scores, 10.0, rtol=1e-8)


def test_omega_goes_to_its_limit():
    course = momentum.new_course()
    assert momentum.next_omega(course, 1.0, 0.0, False) == 1.0
    omegas = [momentum.next_omega(course, 0.8 * 0.5**step, 0.0, False) for step in range(20)]
    assert omegas[0] == pytest.approx(1.0 / (1.0 - 0.64 / 2.0))
    assert omegas[-1] == pytest.approx(2.0 / (1.0 + np.sqrt(1.0 - 0.64)))
    assert momentum.next_omega(course, 1e-9, 1e-6, False) == 1.0  # below the tolerance


def test_a_residual_that_is_small_by_chance_ends_no_run():
    edges = [0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 5, 2]
    graph = tg.from_edges(*edges, directed=False, num_vertices=10, runtime="numpy")
    result = tg.php(graph, 5, tol_l1=1e-13)
    residuals = [row.residual for row in result.trace]
    assert any(after > 2 * before for before, after in itertools.pairwise(residuals))
    assert result.converged
    assert result.iterations < 100


def test_residuals_that_fall_fast_or_grow_are_left_alone():
    for factor in (0.1, 1.5):
        course = momentum.new_course()
        assert {momentum.next_omega(course, factor**step, 0.0, False) for step in range(9)} == {1.0}
