from __future__ import annotations

from typing import Any

import pytest

import tgraph as tg
from tgraph.config import config
from tgraph.errors import InvalidArgumentError


class Watching(tg.Program):
    """One iteration that notes how it is run."""

    reduce, active = "sum", "all"

    def init(self, graph: tg.Graph) -> tuple[Any, None]:
        self.threads, self.place = config.num_threads, (graph.runtime.name, graph.runtime.device)
        return graph.full(1.0, "float64"), None

    def message(self, value: Any) -> Any:
        return value

    def update(self, incoming: Any) -> Any:
        return incoming

    def is_done(self, iteration: int, residual: float) -> bool:
        return True


GRAPH = tg.from_edges([0, 1, 2], [1, 2, 0], runtime="numpy")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"speed": "high"}, "'speed' is not known here; a run takes engine, direction, kernel, transfer"),
        ({"engine": "steam"}, "engine='steam' is not known; use one of 'in_memory'"),
        ({"direction": "sideways"}, "direction='sideways' is not known; use one of 'auto', 'push', 'pull'"),
        ({"max_iterations": -1}, "max_iterations=-1 must be a whole number, 0 or more, or None"),
        ({"max_iterations": 2.5}, "max_iterations=2.5 must be a whole number"),
        ({"max_iterations": True}, "max_iterations=True must be a whole number"),
        ({"max_iterations": "7"}, "max_iterations='7' must be a whole number"),
        ({"kernel": "popcorn"}, "kernel='popcorn' is not known; use one of 'auto', 'fused', 'plain'"),
        ({"progress": "loud"}, "progress='loud' is not known; use one of 'auto', 'on', 'off'"),
        ({"threads": 0}, "threads=0 must be a whole number from 1 to 1024"),
        ({"runtime": "abacus"}, "runtime='abacus' is not known"),
        ({"runtime": "numpy", "device": "cuda"}, "device='cuda' is not known to the numpy runtime"),
    ],
)
def test_wrong_keywords(how: dict[str, Any], message: str) -> None:
    before = config.num_threads
    with pytest.raises(InvalidArgumentError, match=message):
        tg.run(Watching(), GRAPH, **how)
    assert config.num_threads == before


def test_algorithms_pass_unknown_keywords_on() -> None:
    with pytest.raises(InvalidArgumentError, match="'sped' is not known"):
        tg.pagerank(GRAPH, sped=3)  # type: ignore[call-arg]


def test_threads_hold_for_the_run_only() -> None:
    before = config.num_threads
    program = Watching()
    tg.run(program, GRAPH, threads=before + 3)
    assert program.threads == before + 3
    assert config.num_threads == before


def test_threads_are_restored_after_an_error() -> None:
    class Failing(Watching):
        def update(self, incoming: Any) -> Any:
            raise ZeroDivisionError

    before = config.num_threads
    program = Failing()
    with pytest.raises(ZeroDivisionError):
        tg.run(program, GRAPH, threads=before + 1)
    assert program.threads == before + 1
    assert config.num_threads == before


def test_without_threads_the_setting_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "num_threads", 7)
    program = Watching()
    tg.run(program, GRAPH)
    assert program.threads == 7


def test_the_graph_stays_where_it_is_unless_told(runtime_name: str) -> None:
    program = Watching()
    assert tg.run(program, GRAPH.to(runtime_name)).graph.runtime.name == runtime_name
    assert program.place == (runtime_name, "cpu")


def test_runtime_moves_the_graph(runtime_name: str) -> None:
    program = Watching()
    result = tg.run(program, GRAPH, runtime=runtime_name)
    assert program.place == (runtime_name, "cpu")
    assert result.graph.runtime.name == runtime_name
    assert type(result.values).__module__.partition(".")[0] == runtime_name
    assert GRAPH.runtime.name == "numpy"


def test_device_alone_keeps_the_runtime(runtime_name: str) -> None:
    program = Watching()
    tg.run(program, GRAPH.to(runtime_name), device="cpu")
    assert program.place == (runtime_name, "cpu")


def test_none_means_not_given() -> None:
    result = tg.run(Watching(), GRAPH, runtime=None, device=None, threads=None, max_iterations=None)
    assert result.values.tolist() == [1.0, 1.0, 1.0]
    assert result.converged


def test_progress_comes_from_the_settings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(config, "progress", "on")
    tg.run(Watching(), GRAPH)
    assert "Watching: iteration 1" in capsys.readouterr().err


def test_engine_by_name() -> None:
    assert tg.run(Watching(), GRAPH, engine="in_memory").trace.engine == "in_memory"
