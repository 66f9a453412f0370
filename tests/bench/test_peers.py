"""What the libraries answer is what the tasks compare: on a small graph all of them agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tgraph.bench import graphs
from tgraph.bench.peers import PEERS, load_peer
from tgraph.bench.tasks import NUM_SOURCES, TASKS

SHARED = sorted(set(load_peer("scipy").algorithms) & set(load_peer("networkx").algorithms))
OWN = sorted(set(load_peer("tgraph").algorithms) & set(load_peer("networkx").algorithms))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return graphs.prepare("rmat7", tmp_path_factory.mktemp("graphs"))


def answer_of(peer_name: str, task_name: str, files: dict[str, Path]) -> tuple[Any, Any, Any]:
    """Return the graph, the parameters and the answer of one library."""
    task, peer = TASKS[task_name], load_peer(peer_name)
    graph = graphs.load(files["directed" if task.directed else "undirected"], task.weighted)
    hubs = graph.runtime.to_numpy(graph.out_degrees()).argsort()[::-1]
    parameters = task.parameters(graph, hubs[:NUM_SOURCES].tolist())[0]
    algorithm, view = peer.algorithms[task_name], peer.convert(graph)
    return graph, parameters, algorithm.answer(algorithm.run(view, parameters), view, parameters)


@pytest.mark.parametrize("task_name", SHARED)
def test_scipy_and_networkx_agree(files: dict[str, Path], task_name: str) -> None:
    graph, parameters, one = answer_of("scipy", task_name, files)
    other = answer_of("networkx", task_name, files)[2]
    verdict = TASKS[task_name].check(graph, one, other, parameters)
    assert verdict.agrees, verdict.note


@pytest.mark.parametrize("task_name", OWN)
def test_tgraph_and_networkx_agree(files: dict[str, Path], task_name: str) -> None:
    graph, parameters, ours = answer_of("tgraph", task_name, files)
    theirs = answer_of("networkx", task_name, files)[2]
    verdict = TASKS[task_name].check(graph, ours, theirs, parameters)
    assert verdict.agrees, verdict.note


@pytest.mark.parametrize("name", ["tgraph", *PEERS])
def test_every_algorithm_of_a_library_is_a_task(name: str) -> None:
    peer = load_peer(name)
    assert set(peer.algorithms) <= set(TASKS)
    assert peer.name == name


def test_a_graph_that_is_too_large_is_left_out() -> None:
    peer = load_peer("networkx")
    assert peer.skips("bfs", 1000) == ""
    assert "not run above" in peer.skips("bfs", 10**9)
