"""A stream of a graph on a strict fake accelerator: rows come once, batches move nothing, results go back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tgraph as tg
from user_programs import WidestPath

torch = pytest.importorskip("torch", reason="torch is not installed")

if TYPE_CHECKING:
    from fake_accelerator import Counters

KEPT: dict[str, Any] = {
    "sssp": lambda graph: tg.sssp(graph, 0),
    "wcc": tg.wcc,
    "pagerank": lambda graph: tg.pagerank(graph, tol_l1=1e-10, max_iterations=1000),
    "widest": lambda graph: tg.run(WidestPath(0), graph),
}


def near_graph() -> tg.Graph:
    graph = tg.generate.rmat(7, 6, seed=4, weights=(1, 9), runtime="torch").simplify().to("torch", "fake")
    graph.adjacency("in")
    return graph


def keep_all(stream: tg.Stream) -> None:
    stream.keep("sssp", source=0)
    stream.keep("wcc")
    stream.keep("pagerank", tol_l1=1e-10)
    stream.keep(WidestPath(0), name="widest")


def seen(counters: Counters) -> tuple[int, int, int]:
    return counters.to_device_bytes, counters.to_host_bytes, counters.syncs


def rows_bytes(graph: tg.Graph) -> int:
    return sum(
        int(tensor.nbytes)
        for side in ("out", "in")
        for tensor in (graph.adjacency(side).offsets, graph.adjacency(side).neighbors, graph.adjacency(side).weights)
    )


def test_rows_come_to_the_host_once_and_batches_move_nothing(fake_accelerator: Counters) -> None:
    graph = near_graph()
    fake_accelerator.reset()
    stream = tg.stream(graph)
    assert seen(fake_accelerator) == (0, rows_bytes(graph), 6)
    fake_accelerator.reset()
    keep_all(stream)
    generator = np.random.default_rng(2)
    for _ in range(4):
        came = generator.integers(0, graph.num_vertices, (2, 30))
        sources, targets = stream.graph.all_places().edges()[:2]
        gone = generator.integers(0, sources.size, 20)
        stream.apply(insert=(*came, np.ones(30)), delete=(sources[gone], targets[gone]))
    assert seen(fake_accelerator) == (0, 0, 0)


def test_results_are_on_the_device_and_equal_runs_there(fake_accelerator: Counters) -> None:
    stream = tg.stream(near_graph())
    keep_all(stream)
    stream.apply(insert=([0, 3, 5], [90, 91, 92], [1.0, 2.0, 3.0]))
    fake_accelerator.reset()
    snapshot = stream.graph.snapshot()
    assert seen(fake_accelerator) == (rows_bytes(snapshot), 0, 0)
    for name in KEPT:
        fake_accelerator.reset()
        kept = stream.results[name].result()
        assert seen(fake_accelerator) == (sum(field.nbytes for field in kept.fields.values()), 0, 0)
    stream.apply(remove_vertices=[7])
    for name, run in KEPT.items():
        kept, fresh = stream.results[name].result(), run(stream.graph.snapshot())
        assert (fresh.trace.kernel, fresh.values.device.type, kept.values.device.type) == ("plain", "fake", "fake")
        np.testing.assert_allclose(kept.to_numpy(), fresh.to_numpy(), rtol=0, atol=1e-9, err_msg=name)
