"""Launch sizes: every candidate of tuning gives the plain answer, the fastest is chosen, and it is found again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from triton.runtime.errors import OutOfResources

import tgraph as tg
from tgraph.bench import launch_sizes
from tgraph.bench.launch_sizes import tune_device, workloads
from tgraph.config import config
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.gpu import launch, tuning
from tgraph.nn import Block, plain, pull

CPU = torch.device("cpu")
SMALL = {"pull_edges": 16, "push_edges": 16, "row_edges": 2}


@pytest.fixture(autouse=True)
def short_workloads_and_sizes_of_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(launch_sizes, "FEATURES", 2)
    monkeypatch.setattr(launch_sizes, "ITERATIONS", 1)
    yield
    launch._in_use.clear()


def small_graph() -> tg.Graph:
    return tg.generate.rmat(6, 8, seed=3, weights=(1, 9), runtime="torch").simplify()


@pytest.mark.parametrize(
    ("sizes", "multiprocessors"),
    [
        *((pulled | pushed, 1) for pulled, pushed in zip(*map(tuning.CANDIDATES.get, ("pull", "push")), strict=True)),
        ({}, 1000),
    ],
    ids=str,
)
def test_every_candidate_gives_the_plain_answer(
    sizes: dict[str, int], multiprocessors: int, on_gpu_kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph()
    launch.use_sizes(CPU, replace(launch.Sizes(), **sizes))
    monkeypatch.setattr(launch, "multiprocessors", lambda device: multiprocessors)
    found = tg.sssp(graph, 0, parents=False, direction="push", kernel="fused")
    expected = tg.sssp(graph, 0, parents=False, direction="push", kernel="plain")
    assert torch.equal(found.values, expected.values)
    fixed: Any = {"tol_l1": 0.0, "max_iterations": 2}
    found, expected = (tg.pagerank(graph, kernel=kernel, **fixed) for kernel in ("fused", "plain"))
    torch.testing.assert_close(found.values, expected.values, rtol=1e-12, atol=0)


@pytest.mark.parametrize("sizes", tuning.CANDIDATES["rows"], ids=str)
def test_every_candidate_adds_rows(sizes: dict[str, int], on_gpu_kernels: None) -> None:
    launch.use_sizes(CPU, replace(launch.Sizes(), **sizes))
    block = Block.of_graph(small_graph())
    embeddings = torch.randn(block.num_sources, 1, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found, expected = pull(block, embeddings), plain.pull(block, embeddings, None, "multiply", "sum")
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def measured_by(fastest: dict[str, int]) -> Any:
    """A clock that says that these sizes are the fastest."""

    def seconds(run: Any, device: torch.device) -> float:
        run()
        sizes = launch.sizes_on(device)
        return 1.0 - 0.1 * sum(getattr(sizes, name) == size for name, size in fastest.items())

    return seconds


def test_the_fastest_is_chosen_for_each_kind_of_kernel(on_gpu_kernels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, name in (("pull", "pull_edges"), ("push", "push_edges"), ("rows", "row_edges")):
        monkeypatch.setitem(tuning.CANDIDATES, kind, [{name: SMALL[name]}, {name: 4}])
    before = launch.sizes_on(CPU)
    found = tuning.tune(CPU, workloads(tg.generate.grid(2, 3, weights=(1, 9), runtime="torch")), 1, measured_by(SMALL))
    assert found.sizes == replace(before, **SMALL) == launch.sizes_on(CPU)
    assert {kind: len(seconds) for kind, seconds in found.seconds.items()} == {"pull": 3, "push": 3, "rows": 2}


def test_noise_changes_nothing_and_what_a_device_has_no_room_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tuning.CANDIDATES, "pull", [{"pull_edges": 2}, {"pull_edges": 16}])
    before = launch.sizes_on(CPU)

    def run() -> None:
        if launch.sizes_on(CPU).pull_edges == 2:
            raise OutOfResources(300, 100, "shared memory")

    found = tuning.tune(CPU, {"pull": run}, 1, lambda run, _: 0.98 if launch.sizes_on(CPU).pull_edges == 16 else 1.0)
    assert found.sizes == before == launch.sizes_on(CPU)
    assert list(found.seconds["pull"].values()) == [1.0, 0.98]


def test_an_interrupted_tuning_leaves_what_was_chosen_so_far() -> None:
    before = launch.sizes_on(CPU)

    def interrupt() -> None:
        if launch.sizes_on(CPU) != before:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuning.tune(CPU, {"pull": interrupt}, 1, lambda run, _: 1.0)
    assert launch.sizes_on(CPU) == before


def test_another_process_finds_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "new"))
    assert launch.read_sizes("a GPU") is None
    sizes = launch.Sizes(pull_edges=512)
    tuning.keep_sizes("a GPU", sizes)
    tuning.keep_sizes("another", launch.Sizes())
    assert launch.read_sizes("a GPU") == sizes
    launch.sizes_file().write_text('{"a GPU": {"size_of_another_version": 3}}')
    assert launch.read_sizes("a GPU") is None
    launch.sizes_file().write_text("{")
    assert launch.read_sizes("a GPU") is None
    tuning.keep_sizes("a GPU", sizes)
    assert launch.read_sizes("a GPU") == sizes


def test_a_gpu_is_launched_with_what_was_kept_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cache_dir", str(tmp_path))
    monkeypatch.setattr(launch, "device_key", lambda device: f"kind {device.index}")
    tuning.keep_sizes("kind 1", launch.Sizes(push_edges=256))
    assert launch.sizes_on(torch.device("cuda", 1)) == launch.Sizes(push_edges=256)
    assert launch.sizes_on(torch.device("cuda", 0)) is launch.DEFAULTS


def test_tuning_a_device_keeps_what_it_finds(
    tmp_path: Path, on_gpu_kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "cache_dir", str(tmp_path))
    monkeypatch.setattr(launch, "device_key", lambda device: "the interpreter")
    monkeypatch.setattr(tuning, "seconds_of", measured_by(SMALL))
    for kind, name in (("pull", "pull_edges"), ("push", "push_edges"), ("rows", "row_edges")):
        monkeypatch.setitem(tuning.CANDIDATES, kind, [{name: SMALL[name]}])
    found = tune_device("cpu", 3, 1)
    assert launch.read_sizes("the interpreter") == found.sizes == replace(launch.DEFAULTS, **SMALL)


def test_devices_without_kernels_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="device='cpu' has no Triton kernels to tune; use cuda or xpu"):
        tune_device("cpu", 5, 1)
