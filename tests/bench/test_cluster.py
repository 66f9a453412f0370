"""The model of larger groups: bytes are those that ranks send, ghosts those that a graph has."""

from __future__ import annotations

import numpy as np
import pytest

import tgraph as tg
from tgraph.bench.cluster import Machine, count_loads, expect_loads, measure_machine, predict
from tgraph.graph import hubs
from thread_group import on_ranks

MACHINE = Machine(1e8, 1e8, 1e9, 1e-5)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("directed", [True, False])
def test_counted_bytes_are_those_that_ranks_send(size: int, directed: bool) -> None:
    graph = tg.generate.rmat(9, 8, seed=1, runtime="numpy", directed=directed)
    ranks = on_ranks(size, lambda: tg.pagerank(graph, tol_l1=0.0, max_iterations=3))[0]
    loads = count_loads(graph, size)
    assert predict(loads, MACHINE).sent_bytes == pytest.approx(ranks.trace[-1].moved["sent"], rel=0.02)
    rows = on_ranks(size, lambda: tg.shard(graph).rows("in"))
    assert loads.ghosts.tolist() == [part.ghosts.size for part in rows]
    assert loads.lent.tolist() == [part.lent.size for part in rows]
    assert loads.edges.tolist() == [part.num_arcs for part in rows]


@pytest.mark.parametrize("size", [2, 5])
def test_divided_rows_are_counted(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "FEWEST_EDGES", 20)
    ends = np.random.default_rng(1).integers(0, 700, (2, 4000))
    ends[1, :2000] %= 3
    graph = tg.from_edges(*ends, num_vertices=700, runtime="numpy")
    ranks = on_ranks(size, lambda: tg.pagerank(graph, tol_l1=0.0, max_iterations=3))[0]
    divided = on_ranks(size, lambda: tg.shard(graph).split_rows("in"))
    loads = count_loads(graph, size)
    assert loads.num_hubs == divided[0].pieces.hubs.size > 0
    assert loads.ghosts.tolist() == [part.rows.ghosts.size for part in divided]
    assert loads.edges.tolist() == [part.rows.num_arcs + part.pieces.neighbors.size for part in divided]
    assert predict(loads, MACHINE).sent_bytes == pytest.approx(ranks.trace[1].moved["sent"], rel=0.02)


@pytest.mark.parametrize("size", [2, 8, 64])
def test_expected_ghosts_are_close_to_counted_ones(size: int) -> None:
    graph = tg.generate.rmat(14, 16, seed=2, runtime="numpy")
    counted, expected = count_loads(graph, size), expect_loads(14, size)
    assert expected.ghosts.sum() == pytest.approx(counted.ghosts.sum(), rel=0.01)
    assert expected.edges.max() >= counted.edges.max() * 0.99  # a bound, with the longest row


def test_seconds_follow_from_the_slowest_rank() -> None:
    loads = expect_loads(20, 16)
    taken = predict(loads, MACHINE)
    slower = predict(loads, Machine(1e8, 1e8, 1e9, 1e-5, ranks_per_core=2.0))
    assert taken.compute_seconds == pytest.approx(loads.edges.max() / 1e8)
    assert slower.compute_seconds == pytest.approx(2 * taken.compute_seconds)
    assert slower.network_seconds == taken.network_seconds > loads.lent.max() * 8 / 1e9
    assert predict(expect_loads(20, 1), MACHINE).network_seconds == 0
    assert taken.memory_bytes < predict(expect_loads(20, 4), MACHINE).memory_bytes


def test_a_machine_is_measured() -> None:
    machine = measure_machine(tg.generate.rmat(8, 8, seed=1, runtime="numpy"), 1e9, 1e-5)
    assert machine.edges_per_second > 0
    assert machine.values_per_second > 0
    assert np.isfinite(predict(expect_loads(30, 100), machine).seconds)
