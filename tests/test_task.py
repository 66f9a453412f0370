"""The frame of algorithms that are not programs."""

from __future__ import annotations

import numpy as np
import pytest

import tgraph as tg
from tgraph.errors import InterruptedRunError, InvalidArgumentError
from tgraph.kernels.cpu.watch import STOP, Watch
from tgraph.task import Task, uses_kernels


def test_threads_hold_for_the_length_of_a_task() -> None:
    before = tg.config.num_threads
    with Task("Nothing", tg.from_edges([0], [1]), {"threads": 7}):
        assert tg.config.num_threads == 7
    assert tg.config.num_threads == before


def test_steps_are_traced_with_their_own_seconds() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with Task("Walk", graph, {}) as task:
        task.record("first", 1, 2)
        task.record("second", 3, 4, residual=0.5)
        result = task.result({"ones": np.ones(3)}, residual=0.5)
    assert [row.direction for row in result.trace] == ["first", "second"]
    assert result.iterations == 2
    assert result.residual == 0.5
    assert result.trace.total_edges == 6


def test_a_task_without_steps_has_one() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with Task("Walk", graph, {}) as task:
        result = task.result({"ones": np.ones(3)})
    assert [(row.direction, row.active_vertices, row.active_edges) for row in result.trace] == [("walk", 3, 2)]


def test_results_are_tensors_of_the_graphs_runtime(runtime_name: str) -> None:
    with Task("Ones", tg.from_edges([0], [1]), {"runtime": runtime_name}) as task:
        result = task.result({"ones": np.ones(2)})
    assert result.graph.runtime.name == runtime_name
    assert type(result.ones).__module__.split(".")[0] == runtime_name


def _interrupted_after_one_step(graph: tg.Graph) -> None:
    with Task("Walk", graph, {}) as task:
        task.record("first", 1, 1)
        raise KeyboardInterrupt


def test_an_interrupt_says_how_far_the_task_was() -> None:
    with pytest.raises(InterruptedRunError, match="Walk was interrupted after 1 steps"):
        _interrupted_after_one_step(tg.from_edges([0], [1]))


def test_progress_is_shown_while_a_kernel_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with Task("Walk", tg.from_edges([0], [1]), {"progress": True}) as task:
        task.watch("vertices", 10)._look(25)  # type: ignore[misc]
    assert "Walk: 10 of 10 vertices" in capsys.readouterr().err


def test_the_plain_kernel_is_refused_where_there_is_none() -> None:
    with pytest.raises(InvalidArgumentError, match="kernel='plain' is not there for Walk"):
        Task("Walk", tg.from_edges([0], [1]), {"kernel": "plain"})


def test_unknown_keywords_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'memroy' is not known here"):
        Task("Walk", tg.from_edges([0], [1]), {"memroy": 3})  # type: ignore[typeddict-unknown-key]


def test_kernels_serve_unless_something_else_is_asked_for() -> None:
    graph = tg.from_edges([0], [1])
    assert uses_kernels(graph, {})
    assert not uses_kernels(graph, {"kernel": "plain"})
    assert not uses_kernels(graph, {"direction": "push"})
    assert not uses_kernels(graph, {"device": "meta"})


def test_a_watch_hands_its_workers_fresh_words() -> None:
    seen = []

    def worker(rank: int, size: int, shared: object, number: int) -> None:
        seen.append((rank, size, shared[STOP], number))  # type: ignore[index]

    Watch().run(worker, 2, 5)
    assert sorted(seen) == [(0, 2, 0, 5), (1, 2, 0, 5)]
