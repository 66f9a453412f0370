"""Compressed graphs: nothing is lost, layers hold what they promise, and bytes are counted as they are."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from shared_rows import copies, shared_rows
from tgraph.errors import InvalidArgumentError
from tgraph.graph import CompressedGraph
from tgraph.kernels.cpu import repeated_pairs
from tgraph.kernels.cpu.symbol_rows import SymbolRows
from tgraph.kernels.cpu.watch import Watch


def check_layers(graph: CompressedGraph) -> None:
    """Rows of a layer hold vertices and virtual vertices of lower layers, and one of the layer just below."""
    offsets, neighbors, _ = graph.rows.to_numpy()
    assert offsets.size - 1 == graph.num_vertices + graph.num_virtual
    layers = graph.layers.tolist()
    for depth, (first, last) in enumerate(pairwise(layers), 1):
        assert first < last
        for vertex in range(first, last):
            row = neighbors[offsets[vertex] : offsets[vertex + 1]]
            assert row.size >= 2
            assert row.max() < first
            below = np.searchsorted(layers, row, side="right")  # 0 = a vertex
            assert below.max() == depth - 1
    used = np.bincount(neighbors, minlength=graph.num_vertices + graph.num_virtual)
    assert (used[graph.num_vertices :] >= 2).all()


def rows_of_symbols(graph: tg.Graph) -> SymbolRows:
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    return SymbolRows(targets.astype(np.uint32), offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64))


@settings(deadline=None, max_examples=150)
@given(graph=odd_graphs(weights=("none",), labels=("none", "integers", "strings")), least=st.integers(2, 4))
def test_odd_graphs_come_back(graph: tg.Graph, least: int) -> None:
    small = tg.compress(graph, min_frequency=least)
    check_layers(small)
    assert_same(small.decompress(), graph)


@settings(deadline=None, max_examples=150)
@given(graph=shared_rows())
def test_graphs_with_shared_rows_come_back_with_their_order(graph: tg.Graph) -> None:
    small = tg.compress(graph)
    check_layers(small)
    assert_same(small.decompress(), graph)
    assert small.num_stored <= graph.num_arcs
    assert small.out_degrees().tolist() == graph.out_degrees().tolist()
    assert small.in_degrees().tolist() == graph.in_degrees().tolist()


@pytest.mark.parametrize("directed", [True, False])
def test_nested_lists_become_layers(directed: bool) -> None:
    graph = copies(directed=directed)
    small = tg.compress(graph)
    check_layers(small)
    assert_same(small.decompress(), graph)
    if directed:
        assert small.depth >= 2
        assert small.ratio > 1.5
        assert small.predicted_speed_up > 1.2


def test_bytes_are_those_of_the_tensors() -> None:
    graph = copies()
    small = tg.compress(graph)
    stored = sum(array.nbytes for array in small.rows.to_numpy()[:2])
    assert small.memory_bytes == stored + small.layers.nbytes
    plain = sum(array.nbytes for array in graph.adjacency("out").to_numpy()[:2])
    assert small.ratio == pytest.approx(plain / small.memory_bytes)
    turned = small.turned_rows
    assert small.memory_bytes == stored + small.layers.nbytes + turned.memory_bytes
    assert int(small.virtual_mask.sum()) == small.num_virtual


def test_layers_are_rows_of_their_own() -> None:
    small = tg.compress(copies())
    sizes = [small.layer(number).num_vertices for number in range(1, small.depth + 2)]
    assert sum(sizes[:-1]) == small.num_virtual
    assert sizes[-1] == small.num_vertices
    assert sum(small.layer(number).num_arcs for number in range(1, small.depth + 2)) == small.num_stored
    with pytest.raises(InvalidArgumentError, match=f"number=0: the layers are 1 to {small.depth + 1}"):
        small.layer(0)


def test_the_result_does_not_depend_on_threads() -> None:
    graph = tg.generate.web_like(20_000, 12, seed=3, runtime="numpy")
    before = tg.config.num_threads
    found = []
    try:
        for threads in (1, 2, 5):
            tg.config.num_threads = threads
            small = tg.compress(graph)
            found.append([array.tolist() for array in (*small.rows.to_numpy()[:2], small.layers)])
    finally:
        tg.config.num_threads = before
    assert found[0] == found[1] == found[2]
    assert_same(small.decompress(), graph)


def test_only_what_is_frequent_enough_is_shared() -> None:
    graph = tg.from_edges(np.repeat(np.arange(400), 5), np.tile(np.arange(400, 405), 400))
    assert tg.compress(graph, min_frequency=400).num_virtual == 1
    assert tg.compress(graph, min_frequency=401).num_virtual == 0


def test_nothing_to_share_leaves_the_rows_as_they_are() -> None:
    graph = tg.generate.path(50)
    small = tg.compress(graph)
    assert (small.num_virtual, small.depth, small.num_stored) == (0, 0, graph.num_arcs)
    assert_same(small.decompress(), graph)


def test_rounds_that_would_replace_little_are_left_out() -> None:
    targets = np.random.default_rng(1).integers(0, 3000, 24_000)
    graph = tg.from_edges(np.repeat(np.arange(3000), 8), targets, num_vertices=3000)
    said: list[str] = []
    small = tg.compress(graph, say=said.append)
    assert said == ["writing layers"]
    assert small.num_stored == graph.num_arcs


@settings(deadline=None, max_examples=50)
@given(graph=st.one_of(shared_rows(), st.just(copies())), least=st.integers(2, 3))
def test_what_a_round_leaves_out_holds_nothing_that_is_frequent(graph: tg.Graph, least: int) -> None:
    rows, all_rows = rows_of_symbols(graph), rows_of_symbols(graph)
    next_symbol = graph.num_vertices
    while True:
        pairs = repeated_pairs.replace_pairs(rows, least, next_symbol, Watch())
        all_rows.open_all()
        assert repeated_pairs.replace_pairs(all_rows, least, next_symbol, Watch()).tolist() == pairs.tolist()
        for start, size in zip(rows.starts, rows.sizes, strict=True):
            assert rows.symbols[start : start + size].tolist() == all_rows.symbols[start : start + size].tolist()
        next_symbol += len(pairs)
        if not len(pairs):
            break
    assert rows.open_rows.size == rows.num_pairs == 0


@pytest.mark.parametrize(("length", "least"), [(2, 2), (2, 16), (4, 2)])
def test_a_sample_tells_about_how_much_is_repeated(length: int, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.web_like(20_000, 12, seed=3, runtime="numpy")
    (offsets, targets, _), rows = graph.adjacency("out").to_numpy(), rows_of_symbols(graph)
    sequences = Counter(
        tuple(targets[place : place + length])
        for first, last in pairwise(offsets.tolist())
        for place in range(first, last - length + 1)
    )
    expected = sum(count for count in sequences.values() if count >= least)
    monkeypatch.setattr(repeated_pairs, "SAMPLED", 1 << 20)  # all
    assert repeated_pairs.estimate_repeated(rows, length, least, Watch()) == expected
    monkeypatch.setattr(repeated_pairs, "SAMPLED", 1 << 14)
    assert repeated_pairs.estimate_repeated(rows, length, least, Watch()) == pytest.approx(expected, rel=0.25)


def test_weights_are_refused_or_dropped() -> None:
    graph = copies().relabel([f"v{number}" for number in range(400)])
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    weighted = tg.from_csr(offsets, targets, weights=np.ones(targets.size))
    with pytest.raises(InvalidArgumentError, match=r"without weights, .* drop_weights=True"):
        tg.compress(weighted)
    assert not tg.compress(weighted, drop_weights=True).weighted
    assert tg.compress(graph).vertex_labels.tolist() == graph.vertex_labels.tolist()


def test_what_cannot_be_compressed_or_asked_for_says_why() -> None:
    small = tg.compress(copies())
    with pytest.raises(InvalidArgumentError, match="compressed already"):
        tg.compress(small)
    with pytest.raises(InvalidArgumentError, match="min_frequency=1 must be 2 or more"):
        tg.compress(copies(), min_frequency=1)
    for ask in ("out_offsets", "out_targets", "num_self_loops"):
        with pytest.raises(InvalidArgumentError, match=rf"{ask} needs the rows .* graph\.decompress\(\)"):
            getattr(small, ask)
    for call in (small.reverse, small.symmetrize, small.simplify, small.check, lambda: small.subgraph([0])):
        with pytest.raises(InvalidArgumentError, match=r"graph\.decompress\(\)"):
            call()
    undirected = tg.compress(copies(directed=False))
    assert undirected.reverse() is undirected.symmetrize() is undirected


def test_copies_of_a_compressed_graph_are_the_same() -> None:
    graph = copies()
    small = tg.compress(graph).relabel([f"v{number}" for number in range(400)])
    again = pickle.loads(pickle.dumps(small))
    assert again.vertex_labels.tolist() == small.vertex_labels.tolist()
    assert_same(again.decompress(), graph.relabel(small.vertex_labels.tolist()))
    assert_same(small.to("numpy").decompress(), again.decompress())
    sources, targets, _ = tg.compress(graph).edges()
    expected = graph.edges()
    assert sources.tolist() == expected[0].tolist()
    assert targets.tolist() == expected[1].tolist()


def test_words_are_said_meanwhile() -> None:
    words: list[str] = []
    tg.compress(copies(), say=words.append)
    assert "neighbours left" in words[0]
    assert words[-1] == "writing layers"
