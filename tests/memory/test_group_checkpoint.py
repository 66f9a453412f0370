"""Runs of groups that were ended go on where they were, also with another number of ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.algorithms.pagerank import PageRank
from tgraph.errors import InvalidArgumentError, StoreReadError
from tgraph.memory import checkpoint
from thread_group import on_ranks
from user_programs import WidestPath


class KilledError(Exception):
    pass


class DyingPageRank(PageRank):
    """Ends after some iterations, as if the process were killed."""

    lives = 10**9

    def is_done(self, iteration: int, residual: float) -> bool:
        if iteration >= self.lives:
            raise KilledError
        return iteration == 12


@pytest.fixture(autouse=True)
def save_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)


@pytest.fixture
def graph() -> tg.Graph:
    return tg.generate.rmat(7, 8, seed=5, weights=(1, 9))


def run(graph: tg.Graph, folder: Path, lives: int = 10**9, damping: float = 0.85) -> Any:
    program = DyingPageRank(damping, 0.0)
    program.lives = lives
    return tg.run(program, graph, checkpoint=folder)


@pytest.mark.parametrize(("before", "after"), [(2, 2), (4, 3), (1, 4), (3, 1)])
def test_a_run_goes_on_with_any_number_of_ranks(graph: tg.Graph, tmp_path: Path, before: int, after: int) -> None:
    expected = on_ranks(before, lambda: run(graph, tmp_path / "other").gather())[0]
    with pytest.raises(KilledError):
        on_ranks(before, lambda: run(graph, tmp_path, lives=7))
    assert len(json.loads((tmp_path / "DyingPageRank.json").read_text())["parts"]) == before
    for found in on_ranks(after, lambda: run(graph, tmp_path).gather()):
        assert found.iterations == 12
        assert found.trace[5].residual == expected.trace[5].residual  # noted by the run before
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-13)
        if before == after:
            np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other"]  # nothing is left of a run that has ended


def test_monotonic_programs_go_on_too(graph: tg.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tgraph.engine.shard_searches import ShardSearch

    expected = tg.run(WidestPath(), graph).to_numpy()
    record = ShardSearch._record

    def die(self: Any, trace: Any, *rest: Any) -> None:
        record(self, trace, *rest)
        if len(trace) == 2:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(ShardSearch, "_record", die)
        with pytest.raises(KilledError):
            on_ranks(3, lambda: tg.run(WidestPath(), graph, checkpoint=tmp_path))
    for found in on_ranks(2, lambda: tg.run(WidestPath(), graph, checkpoint=tmp_path).gather()):
        assert found.trace[0].active_vertices == 1
        np.testing.assert_array_equal(found.to_numpy(), expected)


def test_what_killed_ranks_left_goes_with_the_checkpoint(graph: tg.Graph, tmp_path: Path) -> None:
    left = ["DyingPageRank-3-2.safetensors", ".DyingPageRank-3-2.safetensors.7.tmp", ".DyingPageRank.json.7.tmp"]
    for name in (*left, "PageRank-3-2.safetensors"):
        (tmp_path / name).write_bytes(b"")
    on_ranks(2, lambda: run(graph, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["PageRank-3-2.safetensors"]


def test_another_run_and_damage_are_noticed(graph: tg.Graph, tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        on_ranks(2, lambda: run(graph, tmp_path, lives=4))
    for other, damping in ((graph, 0.5), (tg.generate.rmat(7, 8, seed=6, weights=(1, 9)), 0.85)):
        with pytest.raises(InvalidArgumentError, match="belongs to another run"):
            on_ranks(2, lambda other=other, damping=damping: run(other, tmp_path, damping=damping))
    part = next(tmp_path.glob("*-1.safetensors"))
    content = bytearray(part.read_bytes())
    content[-5] ^= 1
    part.write_bytes(content)
    with pytest.raises(StoreReadError, match="is damaged"):
        on_ranks(2, lambda: run(graph, tmp_path))
    with pytest.raises(InvalidArgumentError, match="is run in another way"):
        on_ranks(2, lambda: tg.hits(graph, checkpoint=tmp_path / "hits"))


def test_a_kill_while_saving_leaves_the_list_before(
    graph: tg.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tgraph.memory import group_checkpoint

    write, calls = group_checkpoint.write_tensors, []

    def die(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 8:  # one of two ranks, in its fourth saving
            raise KilledError
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(group_checkpoint, "write_tensors", die)
        with pytest.raises(KilledError):
            on_ranks(2, lambda: run(graph, tmp_path))
    listed = json.loads((tmp_path / "DyingPageRank.json").read_text())
    assert len(listed["noted"]["trace"]) == 3
    assert all((tmp_path / part["file"]).exists() for part in listed["parts"])
    found = on_ranks(2, lambda: run(graph, tmp_path).gather())[0]
    np.testing.assert_allclose(found.to_numpy(), tg.run(DyingPageRank(0.85, 0.0), graph).to_numpy(), rtol=1e-12)
