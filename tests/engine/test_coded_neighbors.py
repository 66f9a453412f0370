"""Graphs in files whose neighbours are coded: the answers of memory, fewer bytes moved, damage said."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.engine import far_edges
from tgraph.errors import InvalidArgumentError, MemoryBudgetError, StoreReadError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.coded_edges import WINDOW_FRAMES, open_block
from tgraph.kernels.cpu.coded_ids import FRAME_IDS
from tgraph.memory import Budget, EdgeStream, FarGraph, Link, coded_loader, edge_stream
from user_programs import WidestPath

EXACT = {
    "bfs": lambda graph, **how: tg.bfs(graph, 0, parents=False, **how),
    "sssp": lambda graph, **how: tg.sssp(graph, 0, parents=False, **how),
    "wcc": lambda graph, **_: tg.wcc(graph),
    "widest": lambda graph, **how: tg.run(WidestPath(0), graph, **how),
}
SCORES = {
    "pagerank": lambda graph, **_: tg.pagerank(graph, tol_l1=0, max_iterations=20),
    "hits": lambda graph, **_: tg.hits(graph, tol_l1=0, max_iterations=20),
    "changes": lambda graph, **_: tg.pagerank(graph, tol_l1=1e-13, max_iterations=3000, **by_changes(graph)),
}


def by_changes(graph: tg.Graph) -> dict[str, str]:
    return {"schedule": "delta"} if isinstance(graph, FarGraph) else {}


@contextmanager
def stored(graph: tg.Graph, memory: int | str = "1MiB", neighbors: str = "coded") -> Iterator[FarGraph]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.safetensors")
        tg.write(graph, path, reverse=True, neighbors=neighbors)
        yield tg.open(path, memory, "numpy")


def assert_same(name: str, near: Any, far: Any) -> None:
    assert far.trace.engine == "out_of_memory"
    if name in EXACT:
        np.testing.assert_array_equal(near.to_numpy(), far.to_numpy(), err_msg=name)
    else:
        np.testing.assert_allclose(far.to_numpy(), near.to_numpy(), rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("name", [*EXACT, *SCORES])
@settings(deadline=None, max_examples=25)
@given(
    case=small_graphs(("none", "small", "float")),
    transfer=st.sampled_from(["hybrid", "filter", "compact"]),
    cache=st.sampled_from(["blocks", "rows"]),
)
def test_small_graphs_have_the_answer_of_memory(name: str, case: SmallGraph, transfer: str, cache: str) -> None:
    graph = case.build().to("numpy")
    run = {**EXACT, **SCORES}[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_stream, "SMALLEST_BLOCK_BYTES", 32)
        patch.setattr(edge_stream, "BLOCK_BYTES", 32)
        with stored(graph) as far:
            assert_same(name, run(graph), run(far, transfer=transfer, cache=cache))


@pytest.fixture(scope="module")
def web() -> tg.Graph:
    return tg.generate.web_like(20_000, 12, seed=1, copied_share=0.95, runtime="numpy")


@pytest.mark.parametrize("transfer", ["hybrid", "filter", "compact"])
@pytest.mark.parametrize("name", EXACT)
def test_blocks_come_in_turn(web: tg.Graph, name: str, transfer: str) -> None:
    graph = tg.reorder(web, "degree").relabel(None)
    if name in ("sssp", "widest"):
        graph = tg.from_csr(graph.out_offsets, graph.out_targets, graph.out_targets % 97 + 1, runtime="numpy")
    with stored(graph, "1.5MiB") as far:
        result = EXACT[name](far, transfer=transfer)
        assert_same(name, EXACT[name](graph), result)
        assert result.trace.moved_bytes > 0


@pytest.mark.parametrize("name", SCORES)
def test_scores_within_a_budget_move_fewer_bytes(web: tg.Graph, name: str) -> None:
    moved = {}
    for neighbors in ("plain", "coded"):
        with stored(web, "1.6MiB", neighbors) as far:
            result = SCORES[name](far)
            assert_same(name, SCORES[name](web), result)
            moved[neighbors] = result.trace.moved_bytes
    assert moved["plain"] > 1.5 * moved["coded"]


def test_coded_blocks_that_stay_near_are_read_once(web: tg.Graph) -> None:
    with stored(web, "4MiB") as far:
        trace = tg.pagerank(far, tol_l1=0, max_iterations=3).trace
        coded = load_file(far.path)["in_frames"][-1]
    moved = [iteration.moved["filter"] for iteration in trace]
    assert coded <= moved[0] <= 1.5 * coded  # frames at the ends of blocks belong to two of them
    assert moved[1:] == [0, 0]
    assert trace[1].blocks == {"kept": trace[0].blocks["filter"]}


@pytest.mark.parametrize("name", [*EXACT, *SCORES])
def test_rows_and_blocks_larger_than_a_window(web: tg.Graph, name: str) -> None:
    run, hub = {**EXACT, **SCORES}[name], np.arange(1, WINDOW_FRAMES * FRAME_IDS + 5000)
    if name == "changes":  # those of a hub with so many neighbours never add up to 1e-13
        hub = hub[:500]
    edges = np.repeat(np.arange(web.num_vertices), web.out_degrees()), np.asarray(web.out_targets)
    sources, targets = np.concatenate([edges[0], 0 * hub, hub]), np.concatenate([edges[1], hub, 0 * hub])
    weights = (7 * sources + targets) % 97 + 1.0 if name in ("sssp", "widest") else None
    graph = tg.from_edges(sources, targets, weights, duplicates="first", runtime="numpy").relabel(None)
    for memory in ("32MiB", "2.5MiB"):
        with stored(graph, memory) as far:
            assert_same(name, run(graph), run(far))


@pytest.mark.parametrize("name", [*EXACT, *SCORES])
def test_rows_without_edges_are_blocks_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_stream, "BLOCK_BYTES", 64)
    monkeypatch.setattr(edge_stream, "SMALLEST_BLOCK_BYTES", 64)
    ring = np.arange(1500)
    graph = tg.from_edges(ring, (7 * ring + 1) % 1500, num_vertices=4000, runtime="numpy")
    run = {**EXACT, **SCORES}[name]
    with stored(graph, "2MiB") as far:
        assert_same(name, run(graph), run(far))


@pytest.mark.parametrize(("memory", "is_all_open"), [("16MiB", True), ("2MiB", False)])
def test_blocks_stay_open_where_there_is_room(
    web: tg.Graph, memory: str, is_all_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def note(coded: Any, first: int, last: int, room: Any) -> Any:
        opened.append(first)
        return open_block(coded, first, last, room)

    monkeypatch.setattr(coded_loader, "open_block", note)
    with stored(web, memory) as far:
        assert_same("changes", SCORES["changes"](web), SCORES["changes"](far))
    assert (len(opened) == len(set(opened))) == is_all_open


def test_undirected_graphs_are_searched_from_both_sides() -> None:
    graph = tg.generate.rmat(13, 24, seed=1, runtime="numpy").symmetrize()
    source = int(np.argmax(graph.out_degrees()))
    for memory in ("1.5MiB", "16MiB"):
        with stored(graph, memory) as far:
            result = tg.bfs(far, source, parents=False)
            np.testing.assert_array_equal(result.levels, tg.bfs(graph, source).levels)
            assert {iteration.direction for iteration in result.trace} == {"push", "pull"}


def test_the_answer_does_not_depend_on_the_number_of_threads(web: tg.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1000)
    for name in SCORES:
        found = []
        for threads in (1, 3):
            monkeypatch.setattr(tg.config, "num_threads", threads)
            with stored(web, "8MiB") as far:
                found.append(SCORES[name](far).to_numpy())
        np.testing.assert_array_equal(*found, err_msg=name)


def test_a_hub_comes_in_pieces() -> None:
    graph = tg.generate.star(30_000, runtime="numpy")
    for name in (*EXACT, "pagerank", "hits"):  # changes of a hub with so many neighbours never add up to 1e-13
        run = {**EXACT, **SCORES}[name]
        with stored(graph, "1.6MiB") as far:
            assert_same(name, run(graph), run(far))


@pytest.mark.parametrize("transfer", ["filter", "compact"])
@pytest.mark.parametrize("name", [*EXACT, *SCORES])
def test_damage_ends_a_run(web: tg.Graph, name: str, transfer: str) -> None:
    graph = web if name == "changes" else tg.reorder(web, "degree").relabel(None)
    if name in ("sssp", "widest"):
        graph = tg.from_csr(graph.out_offsets, graph.out_targets, graph.out_targets % 97 + 1, runtime="numpy")
    with stored(graph, "4MiB" if name == "hits" else "1.6MiB") as far:
        tensors, side = load_file(far.path), "in" if name in ("pagerank", "hits") else "out"
        number = 0 if name in ("bfs", "sssp", "widest") else tensors[f"{side}_frames"].size // 2
        begin = Path(far.path).read_bytes().index(tensors[f"{side}_coded"][:4000].tobytes())
        with Path(far.path).open("r+b") as file:
            file.seek(begin + int(tensors[f"{side}_frames"][number]))
            file.write(b"\xff")
        again = tg.open(far.path, far.memory, "numpy")
        with pytest.raises(StoreReadError, match=f"frame {number} of the coded neighbours is damaged"):
            {**EXACT, **SCORES}[name](again, transfer=transfer)


def test_the_budget_is_named_where_buffers_would_take_what_stays_free(web: tg.Graph) -> None:
    with (
        stored(web, 900_000) as far,
        pytest.raises(MemoryBudgetError, match=r"in buffers needs .*give at least memory=(\d+)") as raised,
    ):
        tg.pagerank(far)
    enough = int(str(raised.value).rpartition("=")[2])
    with stored(web, enough) as far:
        assert_same("pagerank", SCORES["pagerank"](web), SCORES["pagerank"](far))


@pytest.mark.parametrize("neighbors", ["plain", "coded"])
def test_directions_take_turns_where_there_is_no_room_for_two(
    web: tg.Graph, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[Budget] = []
    monkeypatch.setattr(far_edges, "Budget", lambda limit: budgets.append(Budget(limit)) or budgets[-1])
    expected, moved = tg.hits(web, max_iterations=5, tol_l1=0), []
    for memory in (4 << 20, 1_000_000 if neighbors == "coded" else 880_000):
        with stored(web, memory, neighbors) as far:
            found = tg.hits(far, max_iterations=5, tol_l1=0)
            assert_same("hits", expected, found)
            assert budgets[-1].peak <= memory
            moved.append(found.trace.moved_bytes)
    two_offsets = 2 * 8 * (web.num_vertices + 1)
    assert moved[1] > moved[0] + 4 * two_offsets  # they were read again in every iteration


def test_offsets_are_not_read_where_they_would_take_what_stays_free(web: tg.Graph) -> None:
    offset_bytes = 8 * (web.num_vertices + 1)
    for neighbors in ("plain", "coded"):
        budget = Budget(1 << 22)
        with stored(web, 1 << 22, neighbors) as far:
            budget.take("vertex data", (1 << 22) - offset_bytes - (1 << 16))  # not even a sixteenth is left
            if neighbors == "plain":
                EdgeStream.of_graph(far, "out", False, budget)
                continue
            with pytest.raises(MemoryBudgetError, match=r"out offsets needs .*give at least memory=\d+"):
                EdgeStream.of_graph(far, "out", False, budget)
            assert list(budget.parts) == ["vertex data"]


def test_what_is_used_in_place_needs_plain_neighbours(web: tg.Graph) -> None:
    source = int(np.argmax(web.out_degrees()))
    with stored(web) as far:
        with pytest.raises(InvalidArgumentError, match=r"transfer='zero_copy'.*neighbors='both'"):
            tg.bfs(far, source, parents=False, transfer="zero_copy")
        with pytest.raises(InvalidArgumentError, match="coded neighbours, which cannot be used in place"):
            tg.bfs(far, source, kernel="plain")
        assert far.reverse().reverse().num_arcs == web.num_arcs
        np.testing.assert_array_equal(far.in_degrees(), web.in_degrees())
    with stored(web, neighbors="both") as far:
        for how in ({"transfer": "zero_copy"}, {"kernel": "plain"}):
            result = tg.bfs(far, source, parents=False, **how)
            np.testing.assert_array_equal(result.levels, tg.bfs(web, source).levels)


def test_of_both_the_faster_one_is_read(web: tg.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = {}
    for speed in (1e8, 1e13):
        monkeypatch.setattr(edge_stream, "link_for", lambda path, speed=speed: Link(speed, 1e-4, 1e-4, 1e-4))
        with stored(web, "1.5MiB", "both") as far:
            moved[speed] = tg.pagerank(far, tol_l1=0, max_iterations=2).trace.moved_bytes
    assert moved[1e13] > 1.5 * moved[1e8]
