"""Loaders: the same batches with and without threads, and no thread that outlives its work."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.stats import chisquare

import tgraph as tg
from tgraph.config import config
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.kernels.cpu import team
from tgraph.nn import Batch, Block, LinkLoader, Loader, Rows, open_table
from tgraph.nn import lookup as lookups
from tgraph.nn.buffers import BufferPool
from tgraph.nn.stages import IN_TURN, Choice, Staged, Tried, Unstaged


@pytest.fixture(scope="module")
def graph() -> Graph:
    return tg.generate.rmat(9, 8, seed=3)


@pytest.fixture(scope="module")
def features(graph: Graph) -> torch.Tensor:
    return torch.rand(graph.num_vertices, 7, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert not stage_threads()


def stage_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("tgraph-stage")]


def content(value: Any) -> Any:
    """Return a batch as lists, so that all of it can be compared; without seconds."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, Rows):
        return value.gather().tolist()
    if isinstance(value, dict):
        return {name: content(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [content(one) for one in value]
    if isinstance(value, Block):
        return [content(getattr(value, name)) for name in ("offsets", "sources", "weights", "edges")]
    if hasattr(value, "blocks"):
        return {one.name: content(getattr(value, one.name)) for one in fields(value) if one.name != "seconds"}
    return value


def all_content(loader: Any) -> list[Any]:
    return [content(batch) for batch in loader]


# --- content ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lookup", ["copy", "through"])
def test_threads_change_nothing(graph: Graph, features: torch.Tensor, lookup: str) -> None:
    def load(ahead: int) -> list[Any]:
        labels = torch.arange(graph.num_vertices)
        with Loader(graph, None, (3, 4), 100, features=features, labels=labels, ahead=ahead, lookup=lookup) as loader:
            return all_content(loader) + all_content(loader)

    without = load(0)
    assert len(without) == 2 * 6
    assert all(load(ahead) == without for ahead in (1, 2, 5))


@pytest.mark.parametrize("is_faster", [False, True])
def test_the_faster_way_is_found_and_kept(is_faster: bool) -> None:
    choice, begun = Choice(), []

    def begin(items: Any, has_threads: bool) -> Unstaged:
        begun.append((len(items), has_threads))
        seconds = 0.002 * (has_threads != is_faster)
        return Unstaged(items, [lambda item, hand_on: time.sleep(seconds) or hand_on(item)])

    assert list(Tried(range(100), begin, choice)) == list(range(100))
    assert begun[:4] == [(IN_TURN, False), (IN_TURN, True)] * 2
    assert begun[4:] == [(100 - 4 * IN_TURN, is_faster)]
    assert list(Tried(range(7), begin, choice)) == list(range(7))
    assert begun[5:] == [(7, is_faster)]


def test_trying_both_ways_changes_nothing(graph: Graph, features: torch.Tensor) -> None:
    def load(ahead: Any) -> list[Any]:
        loader = Loader(graph, None, (3, 4), 10, features=features, ahead=ahead)
        return all_content(loader) + all_content(loader)

    assert load("auto") == load(0)


def test_the_number_of_threads_changes_nothing(
    graph: Graph, features: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    results = []
    for num_threads in (1, 2, 4):
        monkeypatch.setattr(config, "num_threads", num_threads)
        results.append(all_content(Loader(graph, None, (3, 4), 100, features=features, ahead=2)))
    assert results[0] == results[1] == results[2]


def test_batches_hold_what_belongs_to_their_vertices(graph: Graph, features: torch.Tensor) -> None:
    labels = np.arange(graph.num_vertices) * 3
    tables = {"a": features, "b": features.to(torch.bfloat16)[:, :3].contiguous(), "c": labels.astype(np.int16)}
    seen = []
    for batch in Loader(graph, None, (3, 4), 100, features=tables, labels=labels):
        assert isinstance(batch, Batch)
        assert isinstance(batch.features, dict)
        for name, table in tables.items():
            expected = torch.as_tensor(table)[batch.vertices]
            assert batch.features[name].dtype == expected.dtype
            assert torch.equal(batch.features[name], expected)
        assert torch.equal(batch.targets, batch.vertices[: batch.blocks[-1].num_targets])
        assert torch.equal(batch.labels, batch.targets * 3)
        assert {"sample", "reindex", "lookup"} <= set(batch.seconds)
        seen += batch.targets.tolist()
    assert sorted(seen) == list(range(graph.num_vertices))


def test_epochs_have_orders_of_their_own(graph: Graph) -> None:
    loader = Loader(graph, None, (2,), 64, seed=4)
    first, second = all_content(loader), all_content(loader)
    assert first != second
    assert all_content(Loader(graph, None, (2,), 64, seed=4)) == first
    loader.set_epoch(0)
    assert all_content(loader) == first
    assert all_content(Loader(graph, None, (2,), 64, seed=5)) != first


def test_two_epochs_at_the_same_time(graph: Graph) -> None:
    one_by_one = all_content(loader := Loader(graph, None, (2, 2), 64)) + all_content(loader)
    loader.set_epoch(0)
    both = [(content(left), content(right)) for left, right in zip(iter(loader), iter(loader), strict=True)]
    assert [left for left, _ in both] + [right for _, right in both] == one_by_one


def test_last_batches(graph: Graph) -> None:
    seeds = range(10, 35)
    loader = Loader(graph, seeds, (2,), 10, shuffle=False)
    assert len(loader) == 3
    assert [batch.targets.tolist() for batch in loader] == [[*range(10, 20)], [*range(20, 30)], [*range(30, 35)]]
    dropping = Loader(graph, seeds, (2,), 10, drop_last=True)
    assert len(dropping) == len(list(dropping)) == 2
    assert list(Loader(graph, [], (2,), 10)) == []


def test_seeds_are_ids_of_the_user_and_may_repeat() -> None:
    graph = tg.from_edges(["b", "c", "a"], ["a", "a", "d"])
    (batch,) = Loader(graph, ["d", "a", "d"], (-1,), 10, shuffle=False, edge_numbers=True)
    assert graph.labels_of(batch.targets).tolist() == ["d", "a"]
    assert batch.positions.tolist() == [0, 1, 0]
    assert batch.blocks[0].edges is not None


def test_times(graph: Graph) -> None:
    times = np.arange(graph.num_edges) / 7
    loader = Loader(graph, range(50), (3, 3), 10, times=times, seed_times=np.arange(50) * 10.0)
    for batch in loader:
        assert torch.equal(batch.times[: batch.targets.numel()], batch.targets * 10.0)
    with pytest.raises(InvalidArgumentError, match="one for each seed"):
        Loader(graph, range(50), (3, 3), 10, times=times, seed_times=[1.0])


def test_batches_are_not_written_over_while_held(graph: Graph, features: torch.Tensor) -> None:
    wide = features.repeat(1, 100)
    kept = list(Loader(graph, None, (3, 4), 20, features=wide))
    assert [content(batch) for batch in kept] == all_content(Loader(graph, None, (3, 4), 20, features=wide))


def test_memory_is_used_again(graph: Graph) -> None:
    wide = torch.rand(graph.num_vertices, 500)  # 64 KiB and more per batch
    loader = Loader(graph, None, (3, 4), 20, features=wide, ahead=0)
    pool = loader.sampler._pool
    for _ in loader:
        pass
    after_one = pool.num_bytes
    assert after_one > 0
    for _ in range(5):
        for _ in loader:
            pass
    assert pool.num_bytes <= 2 * after_one


def test_a_pool_sees_views_and_tensors() -> None:
    pool = BufferPool()
    part = torch.from_numpy(pool.take(20_000, np.float32)[100:200]).reshape(10, 10)[2]
    part.fill_(7)
    for _ in range(10):
        pool.take(20_000, np.float32)[:] = 1
    assert part.tolist() == [7] * 10
    before = pool.num_bytes
    del part
    held = [pool.take(20_000, np.float32) for _ in range(2)]
    assert pool.num_bytes == before
    assert held[0].ctypes.data != held[1].ctypes.data
    held += [pool.take(20_000, np.float32) for _ in range(200)]
    assert len({one.ctypes.data for one in held}) == 202
    assert pool.num_bytes == 64 * (1 << 17)


# --- tables ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (16,), (2, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.float16, torch.complex64])
def test_rows_of_any_type(graph: Graph, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    table = (torch.rand(graph.num_vertices, *shape) * 10).to(dtype)
    for lookup in ("copy", "through"):
        batch = next(iter(Loader(graph, None, (2,), 50, features=table, lookup=lookup, ahead=0)))
        found = batch.features.gather() if isinstance(batch.features, Rows) else batch.features
        assert found.dtype == dtype
        assert torch.equal(found, table[batch.vertices])
        assert batch.features.shape == found.shape


def test_mapped_tables(graph: Graph, features: torch.Tensor, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", features.numpy())
    save_file({"x": features, "y": features[:, :2].contiguous()}, tmp_path / "features.safetensors")
    expected = all_content(Loader(graph, None, (3, 4), 100, features=features))
    for table in (
        np.load(tmp_path / "features.npy", mmap_mode="r"),
        open_table(tmp_path / "features.npy"),
        open_table(tmp_path / "features.safetensors", "x"),
    ):
        for lookup in ("copy", "through"):
            assert all_content(Loader(graph, None, (3, 4), 100, features=table, lookup=lookup)) == expected
    with pytest.raises(InvalidArgumentError, match="it has x, y"):
        open_table(tmp_path / "features.safetensors")


@pytest.mark.parametrize("lookup", ["copy", "through"])
@pytest.mark.parametrize("ahead", [0, 2])
def test_rows_in_files_are_asked_for_once(
    graph: Graph, features: torch.Tensor, tmp_path: Path, lookup: str, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("pages are asked for on Linux alone")
    np.save(tmp_path / "features.npy", features.numpy())
    asked: list[int] = []
    monkeypatch.setattr(lookups, "ask_for_rows", lambda table, rows: asked.extend(rows.tolist()))
    options: dict[str, Any] = {"lookup": lookup, "ahead": ahead, "shuffle": False}
    tables = {"x": open_table(tmp_path / "features.npy"), "y": features}
    batches = list(Loader(graph, None, (3, 4), 100, features=tables, **options))
    assert asked == [vertex for batch in batches for vertex in batch.vertices.tolist()]


def test_gradients_reach_a_table_that_is_read_in_place(graph: Graph) -> None:
    table = torch.zeros(graph.num_vertices, 2, requires_grad=True)
    batch = next(iter(Loader(graph, None, (2,), 50, features=table, lookup="through", ahead=0)))
    assert isinstance(batch.features, Rows)
    batch.features.gather().sum().backward()
    assert table.grad is not None
    assert table.grad.sum() == 2 * batch.vertices.numel()


def test_wrong_arguments_are_refused(graph: Graph, features: torch.Tensor) -> None:
    for options, words in [
        ({"features": features[:5]}, "one row for each of the 512 vertices"),
        ({"features": features.t().contiguous().t()}, "not contiguous"),
        ({"features": [1, 2]}, "is a list"),
        ({"labels": torch.zeros(3)}, "labels has the shape"),
        ({"lookup": "slow"}, "lookup='slow'"),
        ({"ahead": -1}, "ahead=-1"),
        ({"ahead": "never"}, "ahead='never' must be a whole number, from 0 to 1024 .or 'auto'."),
        ({"batch_size": 0}, "batch_size=0"),
    ]:
        with pytest.raises(InvalidArgumentError, match=words):
            Loader(graph, **options)
    with pytest.raises(TypeError, match="fanout"):
        Loader(graph, fanout=3)  # type: ignore[call-arg]


def test_another_device(graph: Graph, features: torch.Tensor, fake_accelerator: Any) -> None:
    options: dict[str, Any] = {"features": {"x": features}, "labels": features, "reverse": True}
    here = all_content(Loader(graph, None, (3, 4), 200, **options))
    for number, batch in enumerate(Loader(graph, None, (3, 4), 200, device="fake", **options)):
        assert batch.vertices.device.type == batch.labels.device.type == "fake"
        assert batch.features["x"].device.type == "fake"
        assert batch.blocks[0].sources.device.type == batch.blocks[0].reverse.edges.device.type == "fake"
        assert batch.vertices.cpu().tolist() == here[number]["vertices"]
        assert batch.seconds["transfer"] > 0


# --- the end of threads ----------------------------------------------------------------------------------------------
def test_leaving_early(graph: Graph) -> None:
    for _ in Loader(graph, None, (3, 4), 20, ahead=2):
        assert len(stage_threads()) == 2
        break
    gc.collect()
    assert not stage_threads()
    for ahead in (2, "auto"):
        with Loader(graph, None, (3, 4), 20, ahead=ahead) as loader:
            running = iter(loader)
            for _ in range(IN_TURN + 1):
                next(running)
            assert len(stage_threads()) == 2
        assert not stage_threads()
        assert list(running) == []


def test_no_more_than_ahead_is_made(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = Loader(graph, None, (3, 4), 20, ahead=3)
    made = []
    seeds = loader._seeds
    monkeypatch.setattr(loader, "_seeds", lambda chosen, key: made.append(key) or seeds(chosen, key))
    running = iter(loader)
    next(running)
    time.sleep(0.3)
    assert len(made) == 1 + 3
    running.close()


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize("stage", ["sample", "lookup"])
def test_errors_are_raised_where_batches_are_taken(
    graph: Graph, features: torch.Tensor, ahead: int, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = Loader(graph, None, (3, 4), 100, features=features, ahead=ahead)
    owner, name = (loader.sampler, "expand") if stage == "sample" else (loader._lookup, "finish")
    working, calls = getattr(owner, name), []

    def break_down(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise OSError("the disk is gone")
        return working(*args)

    monkeypatch.setattr(owner, name, break_down)
    taken: list[Any] = []
    with pytest.raises(OSError, match="the disk is gone") as failure:
        taken.extend(loader)
    assert len(taken) == 2
    assert any(entry.name == "break_down" for entry in failure.traceback)
    del failure
    assert not stage_threads()
    assert len(list(loader)) == len(loader)  # an epoch after it is whole


SCRIPT = """
import threading, time
import tgraph as tg
from tgraph.nn import Loader

def consume(where):
    loader = Loader(tg.generate.rmat(9, 8, seed=3), None, (3, 4), 10, ahead=2)
    make_seeds, numbers = loader._seeds, iter(range(1000))
    if where == "next":  # nothing comes after the first batches, so that the loop waits
        loader._seeds = lambda *args: time.sleep(next(numbers) // 4) or make_seeds(*args)
    for number, batch in enumerate(loader):
        if number == 2:
            print("ready", flush=True)
            time.sleep(60 * (where == "loop"))

try:
    consume({where!r})
except KeyboardInterrupt:
    print([thread.name for thread in threading.enumerate() if thread.name.startswith("tgraph-stage")])
"""


@pytest.mark.parametrize("where", ["loop", "next"])
def test_ctrl_c(where: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT.format(where=where)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=30)
    assert printed == "[]\n"
    assert process.returncode == 0


# --- edges -----------------------------------------------------------------------------------------------------------
def test_link_batches(graph: Graph) -> None:
    pairs = set(zip(*(ends.tolist() for ends in graph.edges()[:2]), strict=True))
    candidates = range(100, 300)
    loader = LinkLoader(graph, None, (3, 4), 300, 4, candidates=candidates, tries=1000)
    seen = []
    for batch in loader:
        sources, positives = batch.targets[batch.sources].tolist(), batch.targets[batch.positives].tolist()
        negatives = batch.targets[batch.negatives].tolist()
        assert batch.negatives.shape == (len(sources), 4)
        seen += list(zip(sources, positives, strict=True))
        for source, drawn in zip(sources, negatives, strict=True):
            assert all(one in candidates and one != source and (source, one) not in pairs for one in drawn)
        assert batch.blocks[-1].num_targets == batch.targets.numel() == len({*batch.targets.tolist()})
    assert sorted(seen) == sorted(zip(*(ends.tolist() for ends in graph.edges()[:2]), strict=True))


def test_link_batches_do_not_depend_on_threads(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    results = []
    for num_threads, ahead in ((1, 0), (2, 2), (4, 1)):
        monkeypatch.setattr(config, "num_threads", num_threads)
        results.append(all_content(LinkLoader(graph, None, (3, 4), 500, 2, ahead=ahead)))
    assert results[0] == results[1] == results[2]


def test_negatives_where_rows_are_not_sorted_and_where_there_are_none() -> None:
    offsets, targets = np.array([0, 3, 3, 3, 3, 3]), np.array([3, 1, 2])
    loader = LinkLoader(tg.from_csr(offsets, targets), ([0] * 50, [1] * 50), (2,), 50, tries=1000)
    (batch,) = loader
    assert set(batch.targets[batch.negatives].flatten().tolist()) == {4}
    (batch,) = LinkLoader(tg.from_csr(offsets, targets), ([0], [1]), (2,), 50, 2, candidates=[1, 3], tries=3)
    assert set(batch.targets[batch.negatives].flatten().tolist()) <= {1, 3}  # no others: the last draws stay
    with pytest.raises(InvalidArgumentError, match="candidates is empty"):
        LinkLoader(tg.from_csr(offsets, targets), ([0], [1]), (2,), 50, candidates=[])
    with pytest.raises(InvalidArgumentError, match="1 sources and 2 targets"):
        LinkLoader(tg.from_csr(offsets, targets), ([0], [1, 2]), (2,), 50)


def test_negatives_are_drawn_evenly() -> None:
    graph = tg.from_edges([0, 0], [1, 2], num_vertices=12)
    (batch,) = LinkLoader(graph, ([0] * 2000, [1] * 2000), (2,), 2000, 3, tries=1000)
    counts = np.bincount(batch.targets[batch.negatives].flatten().numpy(), minlength=12)
    assert counts[:3].tolist() == [0, 0, 0]
    assert chisquare(counts[3:]).pvalue > 0.001


def test_links_with_times(graph: Graph) -> None:
    times = np.arange(graph.num_edges)
    loader = LinkLoader(graph, None, (3, 3), 64, 2, times=times, seed_times=times - 1, shuffle=False)
    batch = next(iter(loader))
    for ends in (batch.sources, batch.positives, batch.negatives[:, 1]):
        assert batch.times[ends].tolist() == list(range(-1, 63))


def test_background_stages_work_alone() -> None:
    """Others compute on the cores meanwhile; the caller's own teams stay as they are."""
    sizes: list[int] = []

    def stage(item: int, hand_on: Any) -> None:
        sizes.append(team.team_size(10**9, 4))
        hand_on(item)

    assert list(Staged(range(3), [stage], 2)) == [0, 1, 2]
    assert list(Unstaged(range(1), [stage])) == [0]
    assert sizes == [1, 1, 1, 4]
