"""How two answers to one task are compared: a check says whether they agree, and gives a note for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.bench.peers import Parameters
from tgraph.graph import Graph
from tgraph.runtime import Array


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right (None: nothing was compared), and what there is to say about it."""

    agrees: bool | None
    note: str = ""


def same_values(_graph: Graph, ours: Any, theirs: Any, _parameters: Parameters) -> Verdict:
    """Compare whole numbers, or distances, one by one.

    >>> same_values(None, [0, 1, 2], [0, 1, 3], {}).note
    '1 of 3 values differ'
    """
    one, other = np.asarray(ours), np.asarray(theirs)
    if one.shape != other.shape:
        return Verdict(False, f"shape {other.shape}, not {one.shape}")
    with np.errstate(invalid="ignore"):
        near = np.isfinite(one) & (np.abs(one - other) <= 1e-9 * np.abs(one))
    differ = (one != other) & ~near
    count = int(np.count_nonzero(differ))
    return Verdict(count == 0, f"{count:,} of {one.size:,} values differ" if count else "")


def same_partition(_graph: Graph, ours: Any, theirs: Any, _parameters: Parameters) -> Verdict:
    """Compare which vertices are together, whatever their group is called.

    >>> same_partition(None, [0, 0, 2], [5, 5, 1], {}).agrees, same_partition(None, [0, 0, 2], [5, 1, 1], {}).agrees
    (True, False)
    """
    one, other = (np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64) for labels in (ours, theirs))
    if one.shape != other.shape:
        return Verdict(False, f"{other.size:,} labels, not {one.size:,}")
    groups, found = int(one.max(initial=-1)) + 1, int(other.max(initial=-1)) + 1
    joint = np.unique(one * max(found, 1) + other).size
    agrees = groups == found == joint
    return Verdict(agrees, "" if agrees else f"{found:,} groups, not {groups:,}, or others in them")


def close_shares(_graph: Graph, ours: Any, theirs: Any, parameters: Parameters) -> Verdict:
    """Compare values that are defined up to a factor: both scaled to a sum of 1, the L1 distance within a bound.

    >>> close_shares(None, [1.0, 3.0], [2.0, 6.0], {"bound_l1": 1e-9}).agrees
    True
    """
    one, other = (_scaled(values) for values in (ours, theirs))
    if one.shape != other.shape:
        return Verdict(False, f"shape {other.shape}, not {one.shape}")
    distance = float(np.abs(one - other).sum())
    agrees = distance <= parameters["bound_l1"]
    return Verdict(agrees, "" if agrees else f"L1 distance {distance:.1e}")


def close_values(_graph: Graph, ours: Any, theirs: Any, parameters: Parameters) -> Verdict:
    """Compare values one by one, with a tolerance relative to the largest."""
    one, other = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if one.shape != other.shape:
        return Verdict(False, f"shape {other.shape}, not {one.shape}")
    for whose, values in (("our", one), ("their", other)):
        if not np.isfinite(values).all():
            return Verdict(False, f"{whose} answer holds NaN or infinity")
    largest = float(np.abs(one).max(initial=0.0)) or 1.0
    error = float(np.abs(one - other).max(initial=0.0)) / largest
    agrees = error <= parameters.get("bound_relative", 1e-6)
    return Verdict(agrees, "" if agrees else f"off by {error:.1e} of the largest value")


def good_communities(graph: Graph, ours: Any, theirs: Any, _parameters: Parameters) -> Verdict:
    """Compare communities by their modularity: ours may be worse by 0.01 at most."""
    mine, other = modularity(graph, np.asarray(ours)), modularity(graph, np.asarray(theirs))
    return Verdict(mine >= other - 0.01, f"modularity {other:.4f}, ours {mine:.4f}")


def independent_sets(graph: Graph, ours: Any, theirs: Any, _parameters: Parameters) -> Verdict:
    """Check that a set has no edge inside and that no vertex can be added; the note gives the sizes."""
    member = np.asarray(theirs, bool)
    sources, targets = arcs(graph)
    inside = int(np.count_nonzero(member[sources] & member[targets]))
    covered = member.copy()
    covered[targets[member[sources]]] = True
    missing = int(np.count_nonzero(~covered))
    sizes = f"{int(member.sum()):,} vertices, ours {int(np.asarray(ours, bool).sum()):,}"
    return Verdict(
        not inside and not missing, sizes if not inside and not missing else f"{inside} edges inside, {missing} missing"
    )


def proper_colorings(graph: Graph, ours: Any, theirs: Any, _parameters: Parameters) -> Verdict:
    """Check that no edge joins two vertices of one colour; the note gives the number of colours."""
    colors = np.asarray(theirs)
    sources, targets = arcs(graph)
    wrong = int(np.count_nonzero(colors[sources] == colors[targets]))
    counts = f"{np.unique(colors).size} colours, ours {np.unique(np.asarray(ours)).size}"
    return Verdict(not wrong, f"{wrong:,} edges of one colour" if wrong else counts)


def real_walks(graph: Graph, _ours: Any, theirs: Any, parameters: Parameters) -> Verdict:
    """Check that every step of every walk follows an edge (-1 = the walk has ended)."""
    walks = np.asarray(theirs).reshape(-1, parameters["length"] + 1)
    sources, targets = walks[:, :-1].ravel().astype(np.int64), walks[:, 1:].ravel().astype(np.int64)
    taken = targets >= 0
    size = graph.num_vertices
    keys = np.unique(sources[taken] * size + targets[taken])
    froms, tos = arcs(graph)
    wrong = int(np.count_nonzero(~np.isin(keys, froms.astype(np.int64) * size + tos)))
    return Verdict(not wrong, f"{wrong:,} steps along no edge" if wrong else "")


def modularity(graph: Graph, labels: Array) -> float:
    """Return the modularity of a partition of an undirected graph, without weights.

    >>> from tgraph.graph import from_edges
    >>> round(modularity(from_edges([0, 2], [1, 3], directed=False), np.array([0, 0, 1, 1])), 3)
    0.5
    """
    groups = np.unique(labels, return_inverse=True)[1]
    sources, targets = arcs(graph)
    if not sources.size:
        return 0.0
    within = np.count_nonzero(groups[sources] == groups[targets]) / sources.size
    degrees = np.bincount(groups, weights=np.diff(graph.runtime.to_numpy(graph.out_offsets)))
    return float(within - np.square(degrees / sources.size).sum())


def arcs(graph: Graph) -> tuple[Array, Array]:
    """Return the ends of every stored edge."""
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    return np.repeat(np.arange(graph.num_vertices, dtype=targets.dtype), np.diff(offsets)), targets


def _scaled(values: Any) -> Array:
    array = np.abs(np.asarray(values, np.float64))
    scaled: Array = array / (array.sum() or 1.0)
    return scaled
