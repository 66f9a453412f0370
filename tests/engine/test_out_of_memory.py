"""Graphs in files: the answer of the in-memory engine, within a budget."""

from __future__ import annotations

import gc
import pickle
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from far_graphs import ALGORITHMS, SCORES, Degrees, stored
from small_graphs import RUNTIMES, SmallGraph, small_graphs
from tgraph.algorithms.sssp import ShortestPathHops
from tgraph.engine import far_runs
from tgraph.errors import (
    DeclaredGapError,
    FileFormatError,
    InterruptedRunError,
    InvalidArgumentError,
    InvalidProgramError,
    MemoryBudgetError,
    StoreReadError,
)
from tgraph.io import tensor_file
from tgraph.kernels.cpu import team, watch
from tgraph.kernels.cpu.fused import block_sweep
from tgraph.kernels.cpu.prefetch import TRIES, Trial
from tgraph.memory import FarFile, Link, far_file, loader
from tgraph.run import CACHES, TRANSFERS
from user_programs import WidestPath


def assert_same(name: str, near: Any, far: Any) -> None:
    exact = name in ALGORITHMS
    for field in near.fields:
        expected, found = (np.asarray(result.column(field)) for result in (near, far))
        assert expected.dtype == found.dtype
        if exact:
            np.testing.assert_array_equal(found, expected, err_msg=f"{name} {field}")
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=f"{name} {field}")
    assert far.trace.engine == "out_of_memory"
    assert near.converged == far.converged


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", [*ALGORITHMS, *SCORES])
@settings(deadline=None, max_examples=40)
@given(
    case=small_graphs(("none", "small", "float")),
    runtime=st.sampled_from(RUNTIMES),
    transfer=st.sampled_from(TRANSFERS),
    cache=st.sampled_from(CACHES),
)
def test_small_graphs_have_the_answer_of_memory(
    name: str, case: SmallGraph, runtime: str, transfer: str, cache: str
) -> None:
    graph = case.build()
    algorithm = {**ALGORITHMS, **SCORES}[name]
    with stored(graph, runtime) as far:
        assert_same(name, algorithm(graph), algorithm(far, transfer=transfer, cache=cache))


@pytest.mark.parametrize("name", [*ALGORITHMS, *SCORES])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_larger_graphs_move_blocks_in_turn(
    monkeypatch: pytest.MonkeyPatch, name: str, directed: bool, threads: int
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = tg.generate.rmat(11, 12, seed=3, weights=(1, 40), runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    algorithm = {**ALGORITHMS, **SCORES}[name]
    near_bytes = 120 * graph.num_vertices + graph.num_arcs * 8 // 4
    with stored(graph, memory=near_bytes) as far:
        result = algorithm(far, threads=threads)
        assert_same(name, algorithm(graph), result)
        if name != "degrees" and not (name == "widest" and directed):
            assert result.trace.moved_bytes >= graph.num_arcs * 4


@pytest.mark.parametrize("kernel", ["plain", "auto"])
def test_a_star_larger_than_any_buffer(kernel: str) -> None:
    """All edges belong to one row, which comes in pieces."""
    count = 100_000
    graph = tg.from_edges(np.zeros(count, np.int64), np.arange(1, count + 1), directed=False, runtime="numpy")
    with stored(graph, memory=40 * count + 200_000) as far:
        assert tg.bfs(far, 5, kernel=kernel).levels.max() == 2
        near, result = tg.pagerank(graph), tg.pagerank(far, kernel=kernel)
        np.testing.assert_allclose(result.ranks, near.ranks, rtol=1e-4)
        assert not tg.wcc(far, kernel=kernel).labels.any()


@pytest.mark.parametrize("transfer", TRANSFERS)
@pytest.mark.parametrize("name", ["bfs", "sssp"])
def test_every_transfer_has_the_same_answer(name: str, transfer: str) -> None:
    graph = tg.generate.rmat(13, 12, seed=3, weights=(1, 40), runtime="numpy").symmetrize()
    with stored(graph, memory=40 * graph.num_vertices + graph.num_arcs) as far:
        result = ALGORITHMS[name](far, transfer=transfer, parents=False)
        near = ALGORITHMS[name](graph, parents=False)
        assert_same(name, near, result)
        used = {way for iteration in result.trace for way in iteration.moved}
        assert used <= ({transfer} if transfer != "hybrid" else {"filter", "compact", "zero_copy"})
        assert used


@pytest.mark.parametrize("transfer", TRANSFERS)
@pytest.mark.parametrize("name", ["pagerank_20", "hits", "wcc"])
def test_where_all_rows_are_needed_they_come_in_whole_blocks_or_are_read_in_place(name: str, transfer: str) -> None:
    graph = tg.generate.rmat(13, 12, seed=3, runtime="numpy").symmetrize()
    with stored(graph, memory=40 * graph.num_vertices + graph.num_arcs) as far:
        algorithm = {**ALGORITHMS, **SCORES}[name]
        result = algorithm(far, transfer=transfer)
        assert_same(name, algorithm(graph), result)
    used = {way for iteration in result.trace for way, num_bytes in iteration.moved.items() if num_bytes}
    assert used == ({"zero_copy"} if transfer == "zero_copy" else {"filter"})


CHEAP_PLANS = Link(1e9, seconds_per_request=1e-9, seconds_per_fault=1.0, seconds_per_plan=0.0)
DEAR_PLANS = Link(1e9, seconds_per_request=1e-9, seconds_per_fault=1.0, seconds_per_plan=1.0)


@pytest.mark.parametrize(("link", "ways"), [(CHEAP_PLANS, {"filter", "compact"}), (DEAR_PLANS, {"filter"})])
def test_hybrid_moves_what_the_link_says(link: Link, ways: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_runs, "link_for", lambda path: link)
    graph = tg.generate.rmat(14, 12, seed=3, weights=(1, 40), runtime="numpy").symmetrize()
    with stored(graph, memory=40 * graph.num_vertices + graph.num_arcs) as far:
        hybrid, whole = (tg.sssp(far, 0, transfer=transfer, parents=False) for transfer in ("hybrid", "filter"))
        assert_same("sssp", tg.sssp(graph, 0, parents=False), hybrid)
    used = [{way for way, num_bytes in iteration.moved.items() if num_bytes} for iteration in hybrid.trace]
    assert set.union(*used) == ways
    assert not (ways - {"filter"}) or ways in used  # both in one iteration
    if ways == {"filter"}:  # no room is left free for lists of rows that never come
        assert [one.moved for one in hybrid.trace] == [one.moved for one in whole.trace]


def test_blocks_that_stay_near_are_read_once() -> None:
    graph = tg.generate.rmat(12, 16, seed=1, runtime="numpy").symmetrize()
    edge_bytes = graph.num_arcs * 4
    with stored(graph, memory=60 * graph.num_vertices + 2 * edge_bytes) as far:
        result = tg.pagerank(far, tol_l1=0, max_iterations=6)
        assert [iteration.moved["filter"] for iteration in result.trace] == [edge_bytes, 0, 0, 0, 0, 0]
    with stored(graph, memory=80 * graph.num_vertices + edge_bytes // 2) as far:
        first, *later = (iteration.moved["filter"] for iteration in tg.pagerank(far, tol_l1=0, max_iterations=6).trace)
        assert first == edge_bytes
        assert all(edge_bytes // 2 < moved < edge_bytes * 9 // 10 for moved in later)


@pytest.mark.parametrize("transfer", ["compact", "zero_copy"])
def test_rows_that_move_alone_come_in_parts(transfer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.grid(60, 60, weights=(1, 50), runtime="numpy")
    with stored(graph) as far:
        whole = tg.sssp(far, 0, transfer=transfer, parents=False)
        monkeypatch.setattr(loader, "BYTES_PER_ROW", 1 << 40)  # so that a load has as few rows as it may
        parts = tg.sssp(far, 0, transfer=transfer, parents=False)
    np.testing.assert_array_equal(parts.distances, whole.distances)
    assert [one.blocks[transfer] for one in parts.trace] == [one.blocks[transfer] for one in whole.trace]
    assert parts.trace.moved_bytes >= whole.trace.moved_bytes


@pytest.mark.parametrize("run", [tg.pagerank, tg.hits])
def test_sums_take_32_bytes_per_vertex(run: Any) -> None:
    graph = tg.generate.rmat(14, 8, seed=1, runtime="numpy").symmetrize()
    with stored(graph, memory=40 * graph.num_vertices + graph.num_arcs // 2) as far:
        found = run(far, tol_l1=0, max_iterations=3)
        np.testing.assert_allclose(found.values, run(graph, tol_l1=0, max_iterations=3).values, rtol=1e-9)


def test_small_blocks_start_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.rmat(10, 8, seed=1, weights=(1, 9), runtime="numpy").symmetrize()

    def refuse(*_: Any) -> None:
        raise AssertionError("a thread for a few thousand edges")

    ranks = partial(tg.pagerank, tol_l1=1e-8)  # ranks may be off by seven times that
    runs = (ranks, tg.wcc, tg.hits, lambda graph: tg.sssp(graph, 0, parents=False))
    near = [run(graph).to_numpy() for run in runs]
    monkeypatch.setattr(team, "watch_team", refuse)
    monkeypatch.setattr(watch, "watch_team", refuse)
    with stored(graph) as far:
        for run, expected in zip(runs, near, strict=True):
            np.testing.assert_allclose(run(far).to_numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("run", [tg.hits, tg.pagerank, tg.wcc, partial(tg.sssp, source=0)])
def test_a_run_leaves_no_memory_behind(run: Any, tmp_path: Path) -> None:
    graph = tg.generate.rmat(13, 16, seed=1, weights=(1, 99), runtime="numpy").symmetrize()
    tg.write(graph, tmp_path / "graph.safetensors")
    taken = []
    for turn in range(4):
        run(tg.open(tmp_path / "graph.safetensors", "768KiB", "numpy"))
        if turn == 1:
            gc.collect()  # also of what the interpreter keeps for later, some of which the next run makes again
        taken.append(sys.getallocatedblocks())
    assert taken[-1] - taken[-2] < 300


@pytest.mark.parametrize("directed", [True, False])
def test_degrees_and_checks_do_not_touch_the_mapped_file(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_file, "PART_SIZE", 100)
    graph = tg.generate.rmat(9, 8, seed=1, runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    with stored(graph) as far:
        np.testing.assert_array_equal(far.out_degrees(), graph.out_degrees())
        np.testing.assert_array_equal(far.in_degrees(), graph.in_degrees())
        tensors, metadata = tensor_file.read_tensors(far.path)
        offsets = tensors["out_offsets"].copy()
        offsets[299] = offsets[298] - 1  # the last entry of a part
        broken = Path(far.path).with_name("broken.safetensors")
        tensor_file.write_tensors(broken, {**tensors, "out_offsets": offsets}, metadata)
        with pytest.raises(FileFormatError, match=r"out_offsets.* falls from .* at vertex 298"):
            tg.open(broken, "1MiB")


def test_hot_rows_are_found_near_again() -> None:
    graph = tg.generate.grid(120, 120, weights=(1, 50), runtime="numpy")
    with stored(graph, memory=60 * graph.num_vertices) as far:
        for run in (lambda graph, **how: tg.run(WidestPath(0), graph, **how), ALGORITHMS["sssp"]):
            near, blocks = run(graph), run(far, transfer="compact")
            rows = run(far, transfer="compact", cache="rows")
            assert sum(one.blocks["cached_rows"] for one in rows.trace if one.blocks) > 0
            assert not any("cached_rows" in (one.blocks or {}) for one in blocks.trace)
            np.testing.assert_array_equal(rows.values, near.values)
            np.testing.assert_array_equal(blocks.values, near.values)
    with pytest.raises(InvalidArgumentError, match="cache="):
        tg.bfs(graph, 0, cache="pages")


def test_the_budget_is_named_where_it_is_too_small() -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="numpy")
    with (
        stored(graph, memory="30KB") as far,
        pytest.raises(MemoryBudgetError, match=r"too small.*give at least memory=\d+"),
    ):
        tg.pagerank(far)


def test_what_needs_the_whole_graph_says_so() -> None:
    graph = tg.generate.rmat(6, 4, seed=1, runtime="numpy")
    with stored(graph) as far:
        for run in (tg.triangles, tg.louvain, tg.mst):
            with pytest.raises(DeclaredGapError, match=r"tgraph\.read"):
                run(far)
        with pytest.raises(InvalidArgumentError, match=r"tgraph\.read"):
            far.subgraph([0])
    with pytest.raises(InvalidArgumentError, match=r"tgraph\.open"):
        tg.pagerank(graph, engine="out_of_memory")


def test_incoming_edges_must_be_in_the_file(tmp_path: Path) -> None:
    graph = tg.generate.rmat(6, 4, seed=1, runtime="numpy")
    tg.write(graph, tmp_path / "out.safetensors")
    far = tg.open(tmp_path / "out.safetensors", "1MiB")
    assert tg.bfs(far, 0, parents=False).levels.tolist() == tg.bfs(graph, 0).levels.tolist()
    with pytest.raises(InvalidArgumentError, match="reverse=True"):
        tg.pagerank(far)


def test_labels_pickling_and_the_reverse() -> None:
    graph = tg.from_edges(["a", "b", "c", "c"], ["b", "c", "d", "a"], runtime="numpy")
    with stored(graph) as far:
        copy = pickle.loads(pickle.dumps(far))
        assert (copy.path, copy.memory, repr(copy)) == (far.path, far.memory, repr(far))
        assert tg.bfs(copy, "a").to_pandas().equals(tg.bfs(graph, "a").to_pandas())
        assert tg.bfs(far.reverse(), "d").levels.tolist() == tg.bfs(graph.reverse(), "d").levels.tolist()
        assert far.to("torch").is_far
        with pytest.raises(InvalidArgumentError, match="stays on the CPU"):
            far.to("torch", "meta")


def test_a_file_cut_short_is_an_error_and_no_answer() -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="numpy")
    with stored(graph) as far:
        with Path(far.path).open("r+b") as file:
            file.truncate(Path(far.path).stat().st_size // 2)
        with pytest.raises(StoreReadError, match="was changed"):
            tg.pagerank(far)


@pytest.mark.parametrize("transfer", ["filter", "zero_copy"])
def test_a_file_replaced_after_it_was_opened_is_an_error(transfer: str) -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="numpy")
    with stored(graph) as far:
        tg.write(tg.generate.rmat(10, 8, seed=2, runtime="numpy"), far.path, reverse=True)
        for run in (tg.pagerank, tg.wcc, tg.hits, lambda far: tg.bfs(far, 0, transfer=transfer)):
            with pytest.raises(StoreReadError, match=r"tgraph\.open"):
                run(far)


def test_a_file_replaced_during_a_run_is_not_mapped(tmp_path: Path) -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="numpy")
    with stored(graph) as far, FarFile(far.path, far.identity) as file:
        tg.write(graph, far.path, reverse=True)
        file.check_unchanged()  # what is open is still the old one
        with pytest.raises(StoreReadError, match="was changed"):
            file.mapped(far.far_rows("out")[0])


def test_paths_of_fewest_edges_are_streamed_too() -> None:
    graph = tg.generate.rmat(12, 8, seed=1, weights=(0, 5), runtime="numpy").symmetrize()
    with stored(graph, memory=60 * graph.num_vertices + 4 * graph.num_arcs) as far:
        hops = tg.run(ShortestPathHops(0, tg.sssp(graph, 0).distances), far)
        assert hops.trace.kernel == "fused"
        assert hops.trace.moved_bytes > 0


def test_an_interrupted_run_gives_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.rmat(9, 8, seed=1, runtime="numpy")
    looks = iter(range(100))

    def interrupt_later(_file: FarFile) -> None:
        if next(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(FarFile, "check_unchanged", interrupt_later)
    with stored(graph) as far:
        with pytest.raises(InterruptedRunError, match="after 3 iterations") as caught:
            tg.pagerank(far, tol_l1=0, max_iterations=10)
        partial = caught.value.result
        assert (partial.converged, partial.iterations) == (False, 3)


def test_a_kernel_that_cannot_be_had_is_said() -> None:
    graph = tg.generate.rmat(6, 4, seed=1, runtime="numpy")
    with stored(graph) as far, pytest.raises(InvalidProgramError, match="it is not monotonic"):
        tg.run(Degrees(), far, kernel="fused", max_iterations=2)


def test_an_empty_graph_has_empty_results() -> None:
    with stored(tg.from_edges([], [], num_vertices=0, runtime="numpy")) as far:
        assert tg.pagerank(far).ranks.tolist() == []
        assert tg.wcc(far).labels.tolist() == []


@pytest.mark.parametrize("find", [tg.eigenvector, partial(tg.bfs, source=0), partial(tg.sssp, source=0)])
def test_a_store_without_incoming_edges_says_what_to_do(find: Any, tmp_path: Path) -> None:
    tg.write(tg.generate.rmat(6, 4, seed=1, runtime="numpy"), tmp_path / "one_way.safetensors")
    with pytest.raises(InvalidArgumentError, match="reverse=True"):
        find(tg.open(tmp_path / "one_way.safetensors", "1MiB"))


def test_asking_for_memory_ahead_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(block_sweep, "Trial", lambda: asked.append(Trial()) or asked[-1])
    graph = tg.generate.rmat(12, 16, seed=1, runtime="numpy")
    with stored(graph, memory="1MiB") as far:
        expected = tg.pagerank(far, tol_l1=0, max_iterations=6)
        monkeypatch.setattr(block_sweep, "MANY_BYTES", 0)
        found = tg.pagerank(far, tol_l1=0, max_iterations=6)
    assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()
    assert all(len(rates) == TRIES for rates in asked[-1]._rates)  # blocks went either way


def test_what_is_asked_for_ahead_without_gain_is_not_asked_for_again() -> None:
    trial, asked = Trial(), 0
    for _ in range(4 * TRIES):
        asked += trial.asks
        trial.note(1000, 0.95 if trial.asks else 1.0)
    assert asked == TRIES
    trial.note(0, 0.0)
    assert not trial.asks
