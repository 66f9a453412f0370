"""Compressing a graph: pairs of neighbours that many rows share become virtual vertices, recursively.

Rounds of `replace_pairs` take the frequent pairs first and rarer ones later: a rare pair that is replaced too early
cuts a frequent sequence in two. With every step of the frequency the symbols of ascending rows are put into another
order, so that what occurs together stands together. A step ends when a round finds little to replace. What is not
worth a row of its own is written out again at the end (`build_layers`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import InvalidArgumentError, check_graph
from tgraph.graph import Adjacency, CompressedGraph, Graph
from tgraph.kernels.cpu.repeated_pairs import MOST_FREQUENT, estimate_repeated, replace_pairs
from tgraph.kernels.cpu.symbol_order import put_alike_together
from tgraph.kernels.cpu.symbol_rows import SymbolRows
from tgraph.kernels.cpu.virtual_rows import build_layers
from tgraph.kernels.cpu.watch import Watch
from tgraph.runtime import Array

FREQUENCIES = (MOST_FREQUENT, 16, 4, 2, 2)  # at least so often does a pair occur that is replaced in a step
LITTLE = 0.01  # of all symbols: where fewer can be replaced, no round is done
LEAST_OF_PAIRS = 4  # times that a pair must occur to be worth a row; rarer ones are only as parts of longer sequences
MOST_SYMBOLS = 2**31 - 1


def compress(
    graph: Graph, *, min_frequency: int = 2, drop_weights: bool = False, say: Callable[[str], None] = lambda words: None
) -> CompressedGraph:
    """Return the graph with repeated sequences of neighbours as virtual vertices: smaller, and faster to compute on.

    Programs run on it as on any graph and give the same answers, if their messages depend on the sender alone. It pays
    for graphs whose vertices share neighbours, such as web graphs; `ratio` says how much.

    Args:
        graph: A graph in memory, without weights.
        min_frequency: Replace only pairs of neighbours that occur at least so often, from 2 on.
        drop_weights: Compress a weighted graph without its weights. A virtual vertex stands for neighbours that many
            vertices share, so weights would have to be the same for all of them.
        say: Called with a line of text now and then.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], [3, 4, 5, 6] * 3)
    >>> small = tg.compress(graph)
    >>> small.num_virtual, small.rows.neighbors.tolist()  # vertex 7 stands for 3, 4, 5 and 6
    (1, [7, 7, 7, 3, 4, 5, 6])
    >>> small.decompress().out_targets.tolist() == graph.out_targets.tolist()
    True
    """
    _check(graph, min_frequency, drop_weights)
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    rows = SymbolRows(targets.astype(np.uint32), offsets[:-1].copy(), np.diff(offsets))
    pairs = _replace_all(rows, min_frequency, graph.is_sorted, say)
    say("writing layers")
    all_offsets, neighbors, layers = build_layers(rows, pairs, ascending=graph.is_sorted)
    return CompressedGraph(
        Adjacency(runtimes.get("numpy"), all_offsets, neighbors, None).to(graph.runtime),
        layers=layers,
        num_arcs=graph.num_arcs,
        directed=graph.directed,
        num_edges=graph.num_edges,
        labels=graph.vertex_labels,
        is_sorted=graph.is_sorted,
    )


def _check(graph: Graph, min_frequency: int, drop_weights: bool) -> None:
    check_graph(graph)
    if graph.is_far or graph.is_compressed:
        kind = "its edges are in far memory; load it with tgraph.read" if graph.is_far else "it is compressed already"
        raise InvalidArgumentError(f"compress takes a graph in memory, and {kind}")
    if graph.weighted and not drop_weights:
        raise InvalidArgumentError(
            "compress takes graphs without weights, which vertices with the same neighbours would have to share; run "
            "on the graph itself, or leave the weights out with drop_weights=True"
        )
    if min_frequency < 2:
        raise InvalidArgumentError(
            f"min_frequency={min_frequency!r} must be 2 or more: a pair that occurs once is no gain"
        )
    if graph.num_vertices + graph.num_arcs > MOST_SYMBOLS:
        size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} stored edges"
        raise InvalidArgumentError(
            f"compress takes {MOST_SYMBOLS:,} vertices and edges together, not {size}; divide it"
        )


def _replace_all(rows: SymbolRows, min_frequency: int, may_reorder: bool, say: Callable[[str], None]) -> Array:
    """Replace pairs in steps of falling frequency; return them all, `[P, 2]`."""
    total, next_symbol, step_before = rows.num_symbols, rows.starts.size, MOST_FREQUENT
    found = [np.empty((0, 2), np.uint32)]
    for frequency in FREQUENCIES:
        least = max(frequency, min_frequency)
        if may_reorder:
            put_alike_together(rows, next_symbol, Watch())
        else:
            rows.open_all()
        if least < LEAST_OF_PAIRS <= step_before and not _is_worth_it(rows, 4, least):
            break
        while _is_worth_it(rows, 2, least):
            say(f"{rows.num_symbols:,} of {total:,} neighbours left, pairs that occur {least} times or more")
            found.append(replace_pairs(rows, least, next_symbol, Watch()))
            next_symbol += len(found[-1])
        step_before = least
    return np.concatenate(found)


def _is_worth_it(rows: SymbolRows, length: int, least: int) -> bool:
    """Whether sequences of so many symbols occur so often at more than a few places; estimated."""
    return estimate_repeated(rows, length, least, Watch()) > LITTLE * rows.num_symbols
