"""Graphs in host memory beside a device: the answer of memory, within the budget, on a strict fake accelerator."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tgraph as tg
from far_graphs import Heat
from small_graphs import SmallGraph, small_graphs
from tgraph.engine import device_edges
from tgraph.engine.device_edges import DeviceEdges
from tgraph.engine.in_memory import Run
from tgraph.errors import (
    DeclaredGapError,
    InterruptedRunError,
    InvalidArgumentError,
    InvalidProgramError,
    MemoryBudgetError,
)
from tgraph.memory import DeviceLink, OffloadedGraph
from tgraph.memory.device_loader import DeviceLoader, cut_rows
from tgraph.memory.host_edges import HostEdges
from user_programs import WidestPath

torch = pytest.importorskip("torch")
from fake_accelerator import view_of_host  # noqa: E402 - needs torch
from tgraph.runtime.torch import device as torch_device  # noqa: E402

if TYPE_CHECKING:
    from fake_accelerator import Counters

WAYS = ("filter", "compact", "zero_copy", "hybrid")
FAST_HOST = DeviceLink(1e9, 1e-6, 1e-5, 0.0, 1e10)  # figures of a link, so that runs do not depend on the machine


class ReadingDevice(torch_device.TorchDevice):
    """The fake accelerator with a counted way to read host memory in place."""

    def pin(self, array: np.ndarray) -> object:
        return object()

    def map_host(self, array: np.ndarray) -> Any:
        return view_of_host(torch.from_numpy(array))


@pytest.fixture
def reads_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(torch_device.KINDS, "fake", ReadingDevice)


@pytest.fixture
def known_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """No measurement, which would move bytes too."""
    monkeypatch.setattr(HostEdges, "link", lambda self, near_bytes: FAST_HOST)


class HeatOfAll(Heat):
    """A sweep with a total."""

    def total(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any, total: Any) -> Any:
        return 0.5 * value + 0.25 * incoming + 1e-6 * total


class Counted(tg.Program):
    """A frontier that is not monotonic: who is not active must not send."""

    reduce = "sum"

    def init(self, graph: tg.Graph) -> Any:
        active = graph.full(False, "bool", at={0: True})
        return graph.full(1, "int64"), active

    def message(self, value: Any, source: Any, target: Any) -> Any:
        return value + (source + target) % 3

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value + incoming + 1, 1000)  # who received nothing keeps its value all the same


class HalfCounted(Counted):
    """Most vertices are active: blocks are full of rows that are chosen one by one."""

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(1, "int64"), graph.runtime.arange(0, graph.num_vertices, "int64") % 16 > 0


RUNS: dict[str, Callable[..., Any]] = {
    "bfs": lambda graph, **how: tg.bfs(graph, 0, **how),
    "sssp": lambda graph, **how: tg.sssp(graph, 0, **how),
    "wcc": tg.wcc,
    "pagerank": lambda graph, **how: tg.pagerank(graph, tol_l1=1e-9, max_iterations=3, **how),
    "weighted pagerank": lambda graph, **how: tg.pagerank(graph, max_iterations=3, weighted=True, **how),
    "hits": lambda graph, **how: tg.hits(graph, max_iterations=2, **how),
    "widest": lambda graph, **how: tg.run(WidestPath(), graph, **how),
    "heat": lambda graph, **how: tg.run(HeatOfAll(), graph, max_iterations=3, **how),
    "counted": lambda graph, **how: tg.run(Counted(), graph, max_iterations=3, **how),
}
FRONTIERS = ("bfs", "sssp", "widest", "counted")


def assert_same(expected: Any, found: Any, kind: str = "") -> None:
    """Integers and extremes are equal; sums of floats may meet in another order where a row comes in pieces."""
    assert found.trace.engine == "out_of_memory"
    assert (found.converged, found.iterations) == (expected.converged, expected.iterations)
    for name in expected.fields:
        assert found.fields[name].device.type == "fake"
        arrays = (result.graph.runtime.to_numpy(result.fields[name]) for result in (found, expected))
        np.testing.assert_allclose(*arrays, rtol=1e-12, err_msg=f"{kind} {name}")


@contextmanager
def offloaded(graph: tg.Graph, memory: int, counters: Counters) -> Iterator[OffloadedGraph]:
    """Offload a graph, with a device that has no byte more than the budget."""
    far = tg.offload(graph, memory, "fake")
    counters.budget_bytes = counters.live_bytes + memory
    yield far
    counters.budget_bytes = math.inf


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch, counters: Counters) -> Iterator[list[tuple[Any, int, int]]]:
    """Collect every iteration with the bytes that the device got and the waits of the host."""
    seen, iterate = [], Run.iterate

    def watch(run: Run) -> Any:
        bytes_before = counters.to_device_bytes + counters.host_read_bytes
        syncs_before = counters.syncs
        done = iterate(run)
        moved = counters.to_device_bytes + counters.host_read_bytes - bytes_before
        seen.append((done, moved, counters.syncs - syncs_before))
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Run, "iterate", watch)
        yield seen


def dense_graph(num_edges: int, directed: bool) -> tg.Graph:
    """Few vertices and many edges, some of them twice."""
    ends = np.random.default_rng(5).integers(0, 256, (2, num_edges if directed else num_edges // 2)) ** 2 // 256
    weights = np.random.default_rng(6).integers(1, 4, ends.shape[1])
    return tg.from_edges(*ends, weights, directed, 256, labels=None, runtime="torch")


@pytest.mark.usefixtures("known_link")
@pytest.mark.parametrize(("name", "directed"), [*((name, name != "wcc") for name in RUNS), ("pagerank", False)])
def test_edges_larger_than_the_device(
    fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch, name: str, directed: bool
) -> None:
    graph = dense_graph(90_000, directed)
    left, cut = [], DeviceEdges._cut

    def watch_cut(edges: DeviceEdges) -> None:
        cut(edges)
        left.append(sum(edges.budget.parts[part] for part in ("buffers", "temporaries", "kept blocks")))

    monkeypatch.setattr(DeviceEdges, "_cut", watch_cut)
    how: Any = {"parents": False} if name in ("bfs", "sssp") else {}
    expected = RUNS[name](graph, kernel="plain", **how)
    edge_bytes = graph.num_arcs * (4 if name in ("bfs", "wcc", "pagerank", "hits", "counted") else 8)
    memory = edge_bytes // 4
    with offloaded(graph, memory, fake_accelerator) as far, watched(monkeypatch, fake_accelerator) as seen:
        fake_accelerator.reset()
        before = fake_accelerator.live_bytes
        result = RUNS[name](far, **how)
        assert_same(expected, result)
    assert all(4 * some <= edge_bytes <= 8 * some for some in left)
    assert fake_accelerator.peak_bytes - before <= memory
    for done, moved, syncs in seen:
        assert sum(done.moved.values()) == moved
        assert syncs <= (2 if name == "bfs" and done.direction == "pull" else 1)
    assert result.trace.moved_bytes > 0


@pytest.mark.usefixtures("reads_host_memory", "known_link")
@pytest.mark.parametrize("transfer", WAYS)
@pytest.mark.parametrize("name", FRONTIERS)
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_every_transfer_has_the_same_answer(
    fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch, name: str, transfer: str, direction: str
) -> None:
    graph = dense_graph(2500, directed=True)
    expected = RUNS[name](graph, kernel="plain", direction=direction)
    assert expected.iterations > 2  # the search does not end where it begins
    with (
        offloaded(graph, 70_000, fake_accelerator) as far,
        watched(monkeypatch, fake_accelerator) as seen,
    ):
        result = RUNS[name](far, transfer=transfer, direction=direction)
        assert_same(expected, result)
    used = {way for done in result.trace for way in done.moved}
    assert used
    if direction == "push":
        assert used <= (set(WAYS) if transfer == "hybrid" else {transfer})
    assert all(sum(done.moved.values()) == moved for done, moved, _ in seen)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_tensors_of_a_block_take_what_the_rehearsal_said(
    fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    monkeypatch.setattr(DeviceLoader, "_choose_kept", lambda loader, kept_bytes: set())
    taken, send = [], DeviceEdges.send

    def watch(edges: DeviceEdges, plan: Any, fields: Any, *others: Any) -> Any:
        edges.prepare(plan, fields, direction)
        before = fake_accelerator.live_bytes
        fake_accelerator.reset()
        sent = send(edges, plan, fields, *others)
        taken.append((fake_accelerator.peak_bytes - before - sent.nbytes) / edges.temporary_bytes)
        return sent

    monkeypatch.setattr(DeviceEdges, "send", watch)
    ring = np.arange(4000), np.arange(1, 4001) % 4000  # as many rows as edges, as in the rehearsal
    tg.run(
        HalfCounted(),
        tg.offload(tg.from_edges(*ring, runtime="torch"), 250_000, "fake"),
        transfer="filter",
        direction=direction,
        max_iterations=2,
    )
    assert max(taken) <= 1
    assert max(taken) > (0.85 if direction == "push" else 0.3)  # pull uses whole blocks here, which take less


@pytest.mark.usefixtures("reads_host_memory")
def test_the_cheapest_way_is_taken(fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.grid(8, 8, runtime="torch")
    links = {
        "filter": DeviceLink(1e12, 1e-12, 100.0, 0.0, 1e3),
        "compact": DeviceLink(1e3, 1e-9, 100.0, 0.0, 1e12),
        "zero_copy": DeviceLink(1e3, 1.0, 1e-12, 0.0, 1e3),
    }
    for way, link in links.items():
        monkeypatch.setattr(HostEdges, "link", lambda self, near_bytes, link=link: link)
        far = tg.offload(graph, "1MiB", "fake")
        monkeypatch.setattr(device_edges, "LARGEST_BLOCK", 64)
        result = tg.bfs(far, 0, parents=False, direction="push")
        assert {used for done in result.trace for used in done.moved} == {way}


def test_devices_that_cannot_read_host_memory(fake_accelerator: Counters) -> None:
    graph = tg.generate.rmat(8, 8, seed=1, runtime="torch")
    far = tg.offload(graph, "1MiB", "fake")
    with pytest.raises(InvalidArgumentError, match=r"transfer='zero_copy' needs pinned memory that fake:0"):
        tg.bfs(far, 0, transfer="zero_copy")
    link = far.host_edges.link(1 << 20)
    assert link.seconds_per_fault == math.inf
    assert 0 < link.seconds_per_request < math.inf
    assert 0 < link.bytes_per_second < math.inf
    assert far.host_edges.link(1 << 10) is link  # measured once
    used = {way for done in tg.bfs(far, 0).trace for way in done.moved}
    assert used <= {"filter", "compact"}


@pytest.mark.usefixtures("reads_host_memory")
def test_the_link_stays_within_its_memory(fake_accelerator: Counters) -> None:
    far = tg.offload(tg.generate.grid(3, 3, runtime="torch"), "1MiB", "fake")
    fake_accelerator.reset()
    fake_accelerator.budget_bytes = fake_accelerator.live_bytes + 100_000
    assert far.host_edges.link(100_000).seconds_per_fault < math.inf


@pytest.mark.usefixtures("reads_host_memory", "known_link")
@pytest.mark.parametrize("name", RUNS)
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=small_graphs(("none", "small", "float")), transfer=st.sampled_from(WAYS))
def test_small_graphs_have_the_answer_of_memory(
    fake_accelerator: Counters, name: str, case: SmallGraph, transfer: str
) -> None:
    assume(case.weights is not None or name != "weighted pagerank")
    graph = case.build().to("torch", "cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_edges, "LARGEST_BLOCK", 3)
        patch.setattr(device_edges, "SMALLEST_BLOCK", 2)
        assert_same(RUNS[name](graph, kernel="plain"), RUNS[name](tg.offload(graph, 70_000, "fake"), transfer=transfer))


@pytest.mark.parametrize("name", RUNS)
def test_odd_graphs(fake_accelerator: Counters, name: str) -> None:
    star = np.zeros(700, np.int64), np.arange(1, 701), np.ones(700)
    graphs = {
        "one vertex": tg.from_edges([], [], np.empty(0), num_vertices=1, runtime="torch"),
        "self-loop": tg.from_edges([0], [0], [2.0], runtime="torch"),
        "isolated": tg.from_edges([0], [1], [2.0], num_vertices=900, runtime="torch"),
        "hub": tg.from_edges(*star, directed=False, runtime="torch"),
        "hub that receives": tg.from_edges(*star, runtime="torch").reverse(),
    }
    for kind, graph in graphs.items():
        expected = RUNS[name](graph, kernel="plain")
        with offloaded(graph, 64 * graph.num_vertices + 75_000, fake_accelerator) as far:
            assert_same(expected, RUNS[name](far), kind)


def test_an_empty_graph(fake_accelerator: Counters) -> None:
    far = tg.offload(tg.from_edges([], [], runtime="torch"), "1KiB", "fake")
    assert tg.pagerank(far).ranks.shape == (0,)
    assert tg.wcc(far).labels.shape == (0,)


def test_blocks_that_stay_near_are_moved_once(fake_accelerator: Counters) -> None:
    graph = tg.generate.rmat(8, 16, seed=1, runtime="torch").symmetrize()
    far = tg.offload(graph, "4MiB", "fake")
    moved = [done.moved.get("filter", 0) for done in tg.pagerank(far, tol_l1=0, max_iterations=4).trace]
    assert moved[0] >= graph.num_arcs * 4
    assert moved[1:] == [0, 0, 0]


def test_a_budget_that_is_too_small_says_how_much_is_needed(fake_accelerator: Counters) -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="torch")
    for memory in (1000, 20_000, 60_000):
        fake_accelerator.reset()
        with pytest.raises(MemoryBudgetError, match=r"too small.*give at least memory=\d+"):
            tg.pagerank(tg.offload(graph, memory, "fake"))


def test_results_that_are_kept_count_in_the_budget(fake_accelerator: Counters) -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="torch")
    far = tg.offload(graph, 150_000, "fake")
    kept = tg.pagerank(far, max_iterations=1)
    others = [kept.ranks.clone() for _ in range(12)]
    with pytest.raises(MemoryBudgetError, match=r"other tensors on the device \d+"):
        tg.pagerank(far, max_iterations=1)
    del others
    tg.pagerank(far, max_iterations=1)


def test_a_file_beside_a_device(fake_accelerator: Counters, tmp_path: Path) -> None:
    graph = tg.generate.rmat(8, 16, seed=1, weights=(1, 9), runtime="torch").relabel([f"v{i}" for i in range(256)])
    tg.write(graph, tmp_path / "graph.safetensors")
    far = tg.open(tmp_path / "graph.safetensors", "120KB", device="fake")
    assert isinstance(far, OffloadedGraph)
    assert "torch on fake:0, edges in host memory, 117.2 KiB near" in repr(far)
    for run in (partial(tg.sssp, source="v0"), partial(tg.pagerank, max_iterations=5, tol_l1=0)):
        assert_same(run(graph, kernel="plain"), run(far))


def test_graphs_made_from_it_and_what_cannot_be(fake_accelerator: Counters, tmp_path: Path) -> None:
    graph = tg.generate.rmat(6, 4, seed=1, runtime="torch")
    far = tg.offload(graph, "1MiB", "fake")
    assert far.to("torch", "fake") is far
    assert not far.to("torch", "cpu").is_far
    for made in (far.reverse(), far.relabel(lambda label: label + 5), pickle.loads(pickle.dumps(far))):
        assert isinstance(made, OffloadedGraph)
        assert made.memory == far.memory
    assert tg.bfs(far.reverse(), 0).levels.tolist() == tg.bfs(graph.reverse(), 0).levels.tolist()
    for run in (tg.triangles, tg.louvain):
        with pytest.raises(DeclaredGapError, match=r"tgraph\.read"):
            run(far)
    for make in (OffloadedGraph.symmetrize, OffloadedGraph.simplify):
        with pytest.raises(InvalidArgumentError, match=r"tgraph\.read"):
            make(far)
    with pytest.raises(InvalidArgumentError, match="checkpoint"):
        tg.pagerank(far, checkpoint=tmp_path)
    with pytest.raises(InvalidProgramError, match="kernel='fused'"):
        tg.pagerank(far, kernel="fused")
    tg.write(graph, tmp_path / "graph.safetensors")
    with pytest.raises(InvalidArgumentError, match=r"tgraph\.open"):
        tg.offload(tg.open(tmp_path / "graph.safetensors", "1MiB"), "1MiB", "fake")


class Mixed(tg.Program):
    """Sums of several types by turns, along functions that are made anew in every iteration."""

    active = "all"

    def init(self, graph: tg.Graph) -> Any:
        return {"score": graph.full(1.0, "float64"), "count": graph.full(1, "int32")}, None

    def compute(self, state: Any, edges: Any) -> Any:
        fields = state.fields
        counts = edges.aggregate(fields["count"], "min", message=lambda value: value + 1)
        scores = edges.aggregate(fields["score"], "mean", along="in", message=lambda value, weight: value / weight)
        fields["count"] = tg.minimum(counts, 100)
        fields["score"] = 0.5 * scores + 0.1
        return edges.graph.runtime.reduce(scores, "sum")


def test_a_program_that_aggregates_in_several_ways(fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = dense_graph(2000, directed=True)
    cuts, cut = [], DeviceEdges._cut
    monkeypatch.setattr(DeviceEdges, "_cut", lambda edges: (cuts.append(1), cut(edges)))
    expected = tg.run(Mixed(), graph, max_iterations=4, kernel="plain")
    with offloaded(graph, 130_000, fake_accelerator) as far:
        assert_same(expected, tg.run(Mixed(), far, max_iterations=4))
    assert len(cuts) == 2  # for the first kind of message, and again for the second


def test_edge_data_is_a_declared_gap(fake_accelerator: Counters) -> None:
    class Priced(WidestPath):
        def edge_data(self, graph: tg.Graph) -> Any:
            return {"price": graph.out_targets}

        def message(self, width: Any, price: Any) -> Any:  # type: ignore[override]
            return tg.minimum(width, price)

    with pytest.raises(InvalidProgramError, match="edge_data is not there"):
        tg.run(Priced(), tg.offload(tg.generate.grid(3, 3, runtime="torch"), "1MiB", "fake"))


def test_an_interrupted_run_gives_what_it_has(fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, send = iter(range(100)), DeviceEdges.send

    def interrupt_later(edges: DeviceEdges, *args: Any) -> Any:
        if next(sent) == 3:
            raise KeyboardInterrupt
        return send(edges, *args)

    monkeypatch.setattr(DeviceEdges, "send", interrupt_later)
    far = tg.offload(tg.generate.rmat(8, 8, seed=1, runtime="torch"), "1MiB", "fake")
    with pytest.raises(InterruptedRunError, match="after 3 iterations") as caught:
        tg.pagerank(far, tol_l1=0, max_iterations=10)
    assert caught.value.result.iterations == 3


def test_blocks_have_few_rows_and_few_edges() -> None:
    offsets = np.concatenate([np.zeros(50, np.int64), [40, 40, 41, 60], np.full(30, 60)])
    blocks = cut_rows(offsets, 7)
    assert all(block.num_edges <= 7 and block.last_row - block.first_row <= 7 for block in blocks)
    assert sum(block.num_edges for block in blocks) == 60
    assert {row for block in blocks for row in range(block.first_row, block.last_row)} == set(range(offsets.size - 1))
