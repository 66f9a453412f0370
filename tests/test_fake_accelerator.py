"""The fake accelerator is strict: otherwise what runs on it proves nothing."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.elementwise import where
from tgraph.engine.in_memory import Run
from tgraph.runtime import get, is_tensor, of
from user_programs import WidestPath

torch = pytest.importorskip("torch")
from fake_accelerator import MixedDevicesError, view_of_host  # noqa: E402 - needs torch

if TYPE_CHECKING:
    from fake_accelerator import Counters

HOST, HOST_IDS = torch.arange(10.0), torch.tensor([1, 3, 3])


def near() -> tuple[Any, Any]:
    return HOST.to("fake"), HOST_IDS.to("fake")


@pytest.mark.parametrize(
    "mix",
    [
        lambda d, i: HOST + d,
        lambda d, i: d.add_(HOST),
        lambda d, i: torch.index_select(HOST, 0, i),
        lambda d, i: torch.index_select(d, 0, HOST_IDS),
        lambda d, i: d[HOST_IDS],
        lambda d, i: HOST[d > 3],
        lambda d, i: torch.cat([HOST, d]),
        lambda d, i: torch.where(d > 3, d, HOST),
        lambda d, i: torch.searchsorted(HOST, d),
        lambda d, i: HOST.clone().scatter_reduce_(0, i, d[:3], "amin"),
        lambda d, i: d.scatter_add_(0, HOST_IDS, HOST[:3]),
        lambda d, i: d.numpy(),
        lambda d, i: np.asarray(d),
        lambda d, i: np.from_dlpack(d),
        lambda d, i: d.data_ptr(),
    ],
)
def test_mixing_is_refused(fake_accelerator: Counters, mix: Callable[[Any, Any], Any]) -> None:
    with pytest.raises((MixedDevicesError, RuntimeError, TypeError, BufferError)):
        mix(*near())


@pytest.mark.parametrize(
    "function",
    [
        lambda values, ids: values * 2 + 1,
        lambda values, ids: values[ids],
        lambda values, ids: values[values > 4],
        lambda values, ids: values.cumsum(0),
        lambda values, ids: values.flip(0).sort()[0],
        lambda values, ids: torch.unique(ids),
        lambda values, ids: torch.repeat_interleave(values[:3], ids),
        lambda values, ids: torch.segment_reduce(values, "min", lengths=ids[:2] * 3 - 1),
        lambda values, ids: values.clone().scatter_reduce(0, ids, values[:3], "amax"),
        lambda values, ids: values.view(2, 5)[1].clone().fill_(0),
        lambda values, ids: values.view(torch.int32),
        lambda values, ids: torch.where(values > 3, values, 0),
    ],
)
def test_operators_give_what_the_host_gives(fake_accelerator: Counters, function: Callable[[Any, Any], Any]) -> None:
    found = function(*near())
    assert found.device == torch.device("fake", 0)
    assert torch.equal(found.cpu(), function(HOST, HOST_IDS))


def test_bytes_copies_and_waits_are_counted(fake_accelerator: Counters) -> None:
    values, ids = near()
    assert (fake_accelerator.to_device_bytes, fake_accelerator.copies_to_device) == (10 * 4 + 3 * 8, 2)
    doubled = values + values  # on the device alone
    torch.repeat_interleave(values[:3], ids, output_size=7)  # its size is known
    assert (fake_accelerator.syncs, fake_accelerator.to_host_bytes) == (0, 0)
    for number, wait in enumerate(
        (
            lambda: doubled.cpu(),
            lambda: doubled.sum().item(),
            lambda: torch.nonzero(doubled > 3),
            lambda: doubled[doubled > 3],
            lambda: torch.unique(ids),
            lambda: torch.repeat_interleave(values[:3], ids),
            lambda: bool((doubled > 3).any()),
        ),
        1,
    ):
        wait()
        assert fake_accelerator.syncs == number
    assert fake_accelerator.to_host_bytes == 40


def test_the_budget_is_kept_and_the_peak_is_noted(fake_accelerator: Counters) -> None:
    before = fake_accelerator.live_bytes
    fake_accelerator.budget_bytes = before + (10 << 20)
    values = torch.zeros(1 << 20, device="fake")  # 4 MiB
    view = values[::2]
    assert fake_accelerator.live_bytes == before + (4 << 20)
    copied = view.clone()
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        torch.zeros(2 << 20, device="fake")
    assert fake_accelerator.live_bytes == fake_accelerator.peak_bytes == before + (6 << 20)
    del values, view, copied
    gc.collect()
    assert fake_accelerator.live_bytes == before
    assert fake_accelerator.peak_bytes == before + (6 << 20)


def test_reads_of_host_memory_are_counted_and_cost_no_memory(fake_accelerator: Counters) -> None:
    before = fake_accelerator.live_bytes
    view = view_of_host(HOST)
    assert fake_accelerator.live_bytes == before
    ids = HOST_IDS.to("fake")
    assert torch.index_select(view, 0, ids).tolist() == [1.0, 3.0, 3.0]
    assert fake_accelerator.host_read_bytes == 3 * 4
    _ = view[2:5] + 1
    assert fake_accelerator.host_read_bytes == 6 * 4


# --- the torch runtime and the in-memory engine on it --------------------------------------------------------------
def test_the_runtime_knows_the_device(fake_accelerator: Counters) -> None:
    runtime = get("torch", "fake")
    tensor = runtime.full(3, 7, "int32")
    assert is_tensor(tensor)
    assert of(tensor) is runtime
    assert get("torch", "fake:0") is runtime
    assert runtime.device == "fake:0"


def test_scalars_are_made_on_the_device(fake_accelerator: Counters) -> None:
    """A scalar that travels makes the host wait on a real device."""
    runtime = get("torch", "fake")
    values = runtime.arange(0, 5, "int64")
    found = where(values > 2, runtime.maximum(values, 1.5), 0)
    found = runtime.index_put(found, runtime.arange(0, 2, "int64"), 9.0)
    runtime.reduce(found, "count")
    runtime.reduce(found[:0], "min")
    assert (fake_accelerator.to_device_bytes, fake_accelerator.syncs) == (0, 0)
    assert found.tolist() == [9.0, 9.0, 0.0, 3.0, 4.0]


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_graphs_in_memory_run_on_the_device(fake_accelerator: Counters, direction: str) -> None:
    graph = tg.generate.rmat(8, 8, seed=3, weights=(1, 40), runtime="torch")
    for run in (
        lambda graph, **how: tg.bfs(graph, 0, **how),
        lambda graph, **how: tg.sssp(graph, 0, **how),
        tg.wcc,
        lambda graph, **how: tg.pagerank(graph, tol_l1=0, max_iterations=15, **how),
        lambda graph, **how: tg.pagerank(graph, tol_l1=1e-10, weighted=True, **how),
        lambda graph, **how: tg.hits(graph, max_iterations=10, **how),
    ):
        expected = run(graph, kernel="plain", direction=direction)
        result = run(graph, device="fake", direction=direction)
        assert result.values.device.type == "fake"
        assert result.trace.kernel == "plain"
        for name in expected.fields:
            np.testing.assert_array_equal(result.column(name), expected.column(name), err_msg=name)


def test_an_iteration_moves_nothing(fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits once per iteration, for the residual."""
    graph = tg.generate.rmat(8, 8, seed=3, runtime="torch").to("torch", "fake")
    graph.adjacency("in")
    seen, iterate = [], Run.iterate

    def watch(run: Run) -> Any:
        fake_accelerator.reset()
        done = iterate(run)
        seen.append((fake_accelerator.to_device_bytes, fake_accelerator.to_host_bytes, fake_accelerator.syncs))
        return done

    monkeypatch.setattr(Run, "iterate", watch)
    tg.pagerank(graph, tol_l1=0, max_iterations=5)
    assert seen == [(0, 0, 1)] * 5
    seen.clear()
    tg.hits(graph, tol_l1=0, max_iterations=3)
    assert seen == [(0, 0, 1)] * 3
    seen.clear()
    tg.run(WidestPath(), graph, direction="push")
    assert len(seen) > 1
    for to_device, to_host, syncs in seen:
        assert (to_device, to_host) == (0, 0)
        assert syncs <= 5  # sizes of the frontier, of its edges, of the receivers, and of the next frontier


def test_a_run_that_needs_more_than_the_budget_raises(fake_accelerator: Counters) -> None:
    graph = tg.generate.rmat(10, 8, seed=3, runtime="torch").to("torch", "fake")
    graph.adjacency("in")
    fake_accelerator.budget_bytes = fake_accelerator.live_bytes + 20_000
    with pytest.raises(torch.OutOfMemoryError, match="more than the budget"):
        tg.pagerank(graph)
    fake_accelerator.budget_bytes = fake_accelerator.live_bytes + (1 << 20)
    assert tg.pagerank(graph).converged
