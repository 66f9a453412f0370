from __future__ import annotations

import json

import numpy as np
import pytest

import tgraph as tg
from tgraph.results import Iteration, Trace


@pytest.fixture
def trace() -> Trace:
    trace = Trace("in_memory", seconds={"init": 0.5})
    trace.add(Iteration("push", 1, 3, 0.25))
    trace.add(Iteration("pull", 20, 3000, 0.5, residual=0.125))
    trace.add(Iteration("push", 2, 4, 0.25))
    return trace


def test_a_trace_is_a_sequence_of_iterations(trace: Trace) -> None:
    assert len(trace) == 3
    assert trace[1] == Iteration("pull", 20, 3000, 0.5, 0.125)
    assert [iteration.direction for iteration in trace] == ["push", "pull", "push"]


def test_totals(trace: Trace) -> None:
    assert trace.total_edges == 3007
    assert trace.total_seconds == 1.0
    assert Trace("in_memory").total_edges == 0


def test_to_dicts(trace: Trace) -> None:
    first, second, _ = trace.to_dicts()
    assert first == {
        "iteration": 1,
        "direction": "push",
        "active_vertices": 1,
        "active_edges": 3,
        "seconds": 0.25,
        "residual": None,
        "moved": None,
        "blocks": None,
    }
    assert (second["iteration"], second["residual"]) == (2, 0.125)


def test_to_json(trace: Trace) -> None:
    trace.parameters["source"] = np.int64(3)
    read = json.loads(trace.to_json())
    parts = {"engine": "in_memory", "kernel": "plain", "parameters": {"source": "3"}, "seconds": {"init": 0.5}}
    assert read == {**parts, "iterations": trace.to_dicts()}


def test_to_pandas(trace: Trace) -> None:
    frame = trace.to_pandas()
    assert frame["active_edges"].tolist() == [3, 3000, 4]
    assert frame["iteration"].tolist() == [1, 2, 3]


def test_repr(trace: Trace) -> None:
    assert repr(trace) == "Trace(in_memory, plain: 3 iterations (2 push, 1 pull), 3,007 active edges, 1.000 s)"
    assert repr(Trace("in_memory")) == "Trace(in_memory, plain: 0 iterations (none), 0 active edges, 0.000 s)"


def test_the_trace_of_a_search_on_a_path(runtime_name: str) -> None:
    graph = tg.generate.path(6, directed=True, runtime=runtime_name)
    trace = tg.bfs(graph, 0, direction="push").trace
    assert [iteration.active_vertices for iteration in trace] == [1] * 6
    assert [iteration.active_edges for iteration in trace] == [1, 1, 1, 1, 1, 0]
    assert trace.total_edges == 5
    assert all(iteration.seconds >= 0 for iteration in trace)
    assert trace.engine == "in_memory"
    assert set(trace.seconds) == {"init", "parents"}
