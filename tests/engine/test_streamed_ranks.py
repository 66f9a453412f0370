"""Ranks whose edges stay in files of their own: the answers of one machine, within each rank's budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from far_graphs import Heat
from small_graphs import SmallGraph, small_graphs
from tgraph.algorithms import BFS
from tgraph.engine.shard_runs import ShardRun
from tgraph.errors import DeclaredGapError, InvalidArgumentError, MemoryBudgetError
from tgraph.memory import checkpoint, far_shard
from thread_group import on_ranks
from user_programs import WidestPath

SIZES = (1, 2, 3, 8)
EXACT: dict[str, Any] = {
    "bfs": lambda graph: tg.bfs(graph, 0),
    "bfs of whole blocks": lambda graph: tg.bfs(graph, 0, transfer="filter"),
    "bfs of rows": lambda graph: tg.bfs(graph, 0, transfer="compact"),
    "sssp": lambda graph: tg.sssp(graph, 0),
    "wcc": lambda graph: tg.wcc(graph),
    "widest": lambda graph: tg.run(WidestPath(), graph),
}
CLOSE: dict[str, Any] = {
    "pagerank": lambda graph: tg.pagerank(graph, tol_l1=1e-11, max_iterations=300),
    "power iteration": lambda graph: tg.pagerank(graph, tol_l1=0.0, max_iterations=8),
    "katz": lambda graph: tg.katz(graph, tol_l1=1e-11, max_iterations=300),
    "means": lambda graph: tg.run(Heat(), graph, max_iterations=5),
}


@contextmanager
def in_file(graph: tg.Graph, memory: int | str = "1MiB", **how: Any) -> Iterator[Callable[[], tg.Graph]]:
    """Write a graph, and give what every rank calls to open its part."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.safetensors")
        tg.write(graph, path, **{"reverse": True, **how})
        yield lambda: tg.open(path, memory, "numpy")


@settings(max_examples=60, deadline=None)
@given(case=small_graphs(("none", "small", "large")), kind=st.sampled_from(sorted(EXACT)), size=st.sampled_from(SIZES))
def test_exact_answers_are_those_of_one_machine(case: SmallGraph, kind: str, size: int) -> None:
    graph = case.build()
    if not graph.num_vertices:
        return
    expected = EXACT[kind](graph)
    with in_file(graph) as opened:
        for found in on_ranks(size, lambda: EXACT[kind](opened()).gather()):
            for field, tensor in expected.fields.items():
                np.testing.assert_array_equal(np.asarray(found.fields[field]), np.asarray(tensor))


@settings(max_examples=30, deadline=None)
@given(case=small_graphs(("none", "float")), kind=st.sampled_from(sorted(CLOSE)), size=st.sampled_from(SIZES))
def test_sums_are_those_of_one_machine_up_to_rounding(case: SmallGraph, kind: str, size: int) -> None:
    graph = case.build()
    if not graph.num_vertices:
        return
    expected = CLOSE[kind](graph)
    with in_file(graph) as opened:
        for found in on_ranks(size, lambda: CLOSE[kind](opened()).gather()):
            np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("neighbors", ["plain", "coded"])
@pytest.mark.parametrize("directed", [True, False])
def test_blocks_that_pass_by_give_the_same_answers(
    directed: bool, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(far_shard, "MOST_EDGES", 1000)
    graph = tg.generate.rmat(12, 24, seed=1, weights=(1, 9), runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    with in_file(graph, "400KiB", neighbors=neighbors) as opened:
        for kind, run in {**EXACT, "power iteration": CLOSE["power iteration"]}.items():
            expected = run(graph)
            for found in on_ranks(2, lambda run=run: run(opened())):
                own = slice(found.graph.first, found.graph.first + found.graph.num_own)
                for field, tensor in expected.fields.items():
                    np.testing.assert_allclose(found.fields[field], tensor[own], rtol=1e-14, err_msg=kind)
                if kind == "power iteration":  # more than is near goes by in every iteration, and some stays
                    reads = [iteration.moved["read"] for iteration in found.trace]
                    assert graph.num_arcs * 4 == reads[0] > reads[1] == reads[-1] > graph.num_arcs
                    assert all(one.moved["sent"] == one.moved["modelled"] for one in found.trace)


def test_vertices_that_nobody_reached_are_not_read() -> None:
    graph = tg.generate.grid(200, 200, runtime="numpy")
    with in_file(graph, "1MiB") as opened:
        found = on_ranks(2, lambda: tg.run(BFS(0), opened(), transfer="filter"))[0]
    first = found.trace[0].moved["read"]
    assert 0 < first < graph.num_arcs * 4


@pytest.mark.parametrize(
    "graph",
    [
        tg.from_edges([], [], num_vertices=5),
        tg.from_edges([0], [0]),
        tg.generate.star(40),
        tg.from_edges([0, 0, 0, 5], [1, 1, 1, 5], num_vertices=9),
    ],
    ids=["no edges", "a loop", "a hub", "duplicates"],
)
def test_odd_graphs(graph: tg.Graph) -> None:
    with in_file(graph) as opened:
        for run in (EXACT["wcc"], CLOSE["pagerank"]):
            for found in on_ranks(3, lambda run=run: run(opened()).gather()):
                np.testing.assert_allclose(found.to_numpy(), run(graph).to_numpy(), rtol=0, atol=1e-9)


def test_ids_and_turned_graphs() -> None:
    graph = tg.from_edges(list("abca"), list("bcde"), [3, 1, 4, 1], runtime="numpy")
    with in_file(graph) as opened:
        found = on_ranks(2, lambda: tg.sssp(opened().reverse(), "d").gather())[1]
        assert found["a"] == tg.sssp(graph.reverse(), "d")["a"] == 8
        assert on_ranks(2, lambda: opened().weight_range) == [(1, 4, 0)] * 2


def test_a_file_that_does_not_say_how_large_weights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.rmat(6, 4, seed=1, weights=(1, 9), runtime="numpy")
    with in_file(graph) as opened:
        given_range = far_shard.map_parts
        monkeypatch.setattr(far_shard, "map_parts", lambda *_: given_range(*_)._replace(weight_range=None))
        assert on_ranks(3, lambda: opened().weight_range) == [graph.weight_range] * 3


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    graph = tg.generate.rmat(8, 8, seed=1, runtime="numpy")
    expected = tg.pagerank(graph, tol_l1=0.0, max_iterations=9).to_numpy()

    def run(size: int, limit: int, opened: Callable[[], tg.Graph]) -> Any:
        how = {"tol_l1": 0.0, "max_iterations": limit, "checkpoint": tmp_path}
        return on_ranks(size, lambda: tg.pagerank(opened(), **how).gather())[0]

    with in_file(graph) as opened:
        monkeypatch.setattr(ShardRun, "forget", lambda _: None)  # as if it had been killed after its last iteration
        run(3, 5, opened)
        monkeypatch.undo()
        found = run(2, 9, opened)
    assert found.iterations == 9
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-13, atol=0)  # sums in another order than in memory


def test_what_is_not_streamed_says_so() -> None:
    graph = tg.generate.rmat(6, 4, seed=1, weights=(1, 9))
    with in_file(graph) as opened:
        for run, why in {
            (lambda: tg.hits(opened())): "it overrides compute",
            (lambda: tg.cdlp(opened())): "it overrides compute",
            (lambda: tg.bfs(opened(), 0, max_iterations=1)): "iterations are counted",
            (lambda: tg.bfs(opened(), 0, direction="pull")): "only pushed along",
            (lambda: tg.bfs(opened(), 0, transfer="zero_copy")): "has nothing to read from",
            (lambda: tg.run(BFS(0), opened(), kernel="plain")): "kernel='plain' was asked for",
            (lambda: opened().num_self_loops): "needs the edges of a rank in its memory",
            (lambda: tg.pagerank(opened(), weighted=True)): "needs the edges of a rank in its memory",
        }.items():
            with pytest.raises(DeclaredGapError, match=why):
                on_ranks(2, run)
        with pytest.raises(InvalidArgumentError, match="both directions of a directed graph"):
            on_ranks(2, lambda: tg.wcc(opened(), direction="push"))
    with in_file(graph, reverse=False) as opened:
        with pytest.raises(InvalidArgumentError, match="reverse=True"):
            on_ranks(2, lambda: tg.pagerank(opened()))
        np.testing.assert_array_equal(
            on_ranks(2, lambda: tg.wcc(opened()).gather())[0].to_numpy(), tg.wcc(graph).labels
        )


def test_all_ranks_hear_that_memory_is_too_small_on_one() -> None:
    graph = tg.from_edges(np.zeros(20_000, np.int64), np.arange(20_000), num_vertices=20_000, runtime="numpy")

    def heard(opened: Callable[[], tg.Graph], run: Callable[[tg.Graph], Any]) -> str:
        with pytest.raises(MemoryBudgetError) as caught:
            run(opened())
        return str(caught.value)

    for memory, run in {(60_000, tg.wcc), (200_000, tg.wcc), (140_000, CLOSE["power iteration"])}:
        with in_file(graph, memory) as opened:
            messages = on_ranks(2, lambda opened=opened, run=run: heard(opened, run))
            assert all("too small" in message for message in messages)
            assert any("give at least memory=" in message for message in messages)


def test_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "graph.safetensors"
    tg.write(tg.generate.rmat(8, 8, seed=1), path, reverse=True)

    def files_while_running() -> list[str]:
        graph = tg.open(path, "1MiB", "numpy")
        tg.pagerank(graph)
        return [file.name for file in tmp_path.iterdir()]

    assert on_ranks(2, files_while_running) == [["graph.safetensors"]] * 2
