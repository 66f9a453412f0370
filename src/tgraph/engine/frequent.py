"""The most frequent label among the neighbours of every vertex: pairs of vertex and label, sorted by primitives."""

from __future__ import annotations

from collections.abc import Iterator

from tgraph.graph import Graph
from tgraph.operators import Subgraph, split_by_edges, tensorize
from tgraph.runtime import Tensor


def most_frequent(graph: Graph, labels: Tensor, num_labels: int | None = None) -> Tensor:
    """Return for every vertex the label that most of its neighbours have, along both directions; of several, the least.

    A neighbour counts once per edge; who has none keeps its own label. Labels are from 0 to V - 1 unless told.
    """
    limit = graph.num_vertices if num_labels is None else num_labels
    return graph.runtime.concatenate([_of_block(labels, limit, sides) for sides in _blocks(graph)])


def _blocks(graph: Graph) -> Iterator[list[Subgraph]]:
    """Yield consecutive vertices with all their edges: outgoing, and incoming where those are others."""
    for outgoing in split_by_edges(graph.adjacency("out"), None, graph.num_arcs):
        incoming = [tensorize(graph.adjacency("in"), outgoing.vertices)] if graph.directed else []
        yield [outgoing, *incoming]


def _of_block(labels: Tensor, count: int, sides: list[Subgraph]) -> Tensor:
    """Return the new labels of the rows: sort pairs (row, label), and find the longest run of each row."""
    runtime = sides[0].runtime
    own = sides[0].at_rows(labels)
    rows = runtime.arange(0, int(own.shape[0]), "int64")
    pairs = [side.expand(rows) * count + runtime.astype(side.at_neighbors(labels), "int64") for side in sides]
    ordered = runtime.sort(runtime.concatenate(pairs))
    distinct = runtime.unique(ordered)
    lengths = runtime.searchsorted(ordered, distinct, "right") - runtime.searchsorted(ordered, distinct, "left")
    run_rows = distinct // count
    choices = lengths * count + (count - 1) - (distinct - run_rows * count)  # the longest run, then the smallest label
    best = runtime.scatter_reduce(runtime.full(int(own.shape[0]), -1, "int64"), run_rows, choices, "max")
    found = (count - 1) - (best - (best // count) * count)
    return runtime.where(best < 0, own, runtime.astype(found, runtime.dtype(labels)))
