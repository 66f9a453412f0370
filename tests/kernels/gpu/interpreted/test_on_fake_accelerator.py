"""The launches of programs on the strict fake accelerator: what they allocate, move and wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

import tgraph as tg
from fake_accelerator import MixedDevicesError
from tgraph.kernels import registry
from tgraph.kernels.gpu import operators
from tgraph.kernels.gpu.fused.frontier import FrontierRun
from tgraph.kernels.gpu.fused.sweep import AHEAD, SweepRun
from user_programs import WidestPath

if TYPE_CHECKING:
    from fake_accelerator import Counters


@pytest.fixture(autouse=True)
def kernels_on_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KERNELS, "fake", "gpu")


def near_graph() -> tg.Graph:
    graph = tg.generate.grid(3, 4, weights=(1, 9), runtime="torch").symmetrize().to("torch", "fake")
    graph.adjacency("in")
    return graph


def test_a_sweep_moves_nothing_and_waits_once_for_many_iterations(
    fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, seen, iterate = near_graph(), [], SweepRun._iterate

    def watch(run: SweepRun, *args: object) -> None:
        before = (fake_accelerator.to_device_bytes, fake_accelerator.to_host_bytes, fake_accelerator.syncs)
        iterate(run, *args)
        after = (fake_accelerator.to_device_bytes, fake_accelerator.to_host_bytes, fake_accelerator.syncs)
        seen.append(tuple(one - other for one, other in zip(after, before, strict=True)))

    monkeypatch.setattr(SweepRun, "_iterate", watch)
    advance = SweepRun.advance
    waits = []

    def watch_all(run: SweepRun, *args: object) -> object:
        before, bytes_before = fake_accelerator.syncs, fake_accelerator.to_host_bytes
        done = advance(run, *args)
        waits.append((fake_accelerator.syncs - before, fake_accelerator.to_host_bytes - bytes_before))
        return done

    monkeypatch.setattr(SweepRun, "advance", watch_all)
    result = tg.pagerank(graph, tol_l1=0, max_iterations=AHEAD + 2, kernel="fused")
    assert result.trace.kernel == "fused"
    assert seen == [(0, 0, 0)] * (AHEAD + 2)
    assert waits == [(2, 8 * (AHEAD + 2))]  # the residuals
    expected = tg.pagerank(graph.to("torch", "cpu"), tol_l1=0, max_iterations=AHEAD + 2, kernel="plain")
    torch.testing.assert_close(result.values.cpu(), expected.values, rtol=1e-12, atol=0)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_frontier_waits_once_per_iteration_for_two_numbers(
    fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    graph, seen, iterate = near_graph(), [], FrontierRun._iterate

    def watch(run: FrontierRun, pulls: bool) -> None:
        fake_accelerator.reset()
        iterate(run, pulls)
        seen.append((fake_accelerator.to_device_bytes, fake_accelerator.to_host_bytes, fake_accelerator.syncs))

    monkeypatch.setattr(FrontierRun, "_iterate", watch)
    result = tg.run(WidestPath(0), graph, direction=direction, kernel="fused")
    assert len(seen) > 1
    assert seen == [(0, 16, 1)] * len(seen)
    expected = tg.run(WidestPath(0), graph.to("torch", "cpu"), kernel="plain")
    assert torch.equal(result.values.cpu(), expected.values)


def test_an_operator_with_a_tensor_of_the_host_is_refused(fake_accelerator: Counters) -> None:
    values, offsets = torch.ones(4), torch.tensor([0, 2, 4])
    assert operators.segment_reduce(values.to("fake"), offsets.to("fake"), "sum").cpu().tolist() == [2.0, 2.0]
    with pytest.raises(MixedDevicesError):
        operators.segment_reduce(values.to("fake"), offsets, "sum")
