"""Declared gaps: what does not run where, and why. Code that meets one raises; `docs/matrix.md` lists them all."""

from __future__ import annotations

from dataclasses import dataclass

from tgraph.errors import DeclaredGapError


@dataclass(frozen=True)
class Gap:
    """An engine that does not run on some runtimes."""

    engine: str
    runtimes: tuple[str, ...]
    reason: str
    instead: str


GAPS = (
    Gap(
        "out_of_memory",
        ("jax", "tensorflow"),
        "its tensors cannot lie in a mapped file, so that all edges would be copied into memory",
        "use runtime='torch' or 'numpy' for a graph with a memory budget",
    ),
    Gap(
        "distributed",
        ("jax", "tensorflow"),
        "ranks exchange values in place, which its tensors do not allow",
        "use runtime='torch' or 'numpy' in a group of ranks",
    ),
)


def find_gap(engine: str, runtime: str) -> Gap | None:
    """Return what is declared about an engine on a runtime, None if it runs there.

    >>> find_gap("in_memory", "jax")
    """
    return next((gap for gap in GAPS if gap.engine == engine and runtime in gap.runtimes), None)


def check_gap(engine: str, runtime: str) -> None:
    """Raise `DeclaredGapError` if the engine does not run on that runtime."""
    gap = find_gap(engine, runtime)
    if gap is not None:
        raise DeclaredGapError(f"runtime={runtime!r} does not run {engine}: {gap.reason}; {gap.instead}")


_FOLLOWS_EDGES = "its kernel follows edges all over the graph"
_SIMPLIFIES = "it leaves out loops and duplicates first, which makes a graph in memory"

NO_PLAIN_FORM = {
    "leiden": "vertices move one after the other; on another device the graph is copied to the CPU",
    "louvain": "vertices move one after the other; on another device the graph is copied to the CPU",
    "mst": "it joins trees by locks; on another device the graph is copied to the CPU",
    "random_walks": "a walk is a chain of single reads; on another device the graph is copied to the CPU",
}
"""Algorithms without a form made of tensor primitives, and why."""

NEEDS_MEMORY = {
    "betweenness": _SIMPLIFIES,
    "k_core": _SIMPLIFIES,
    "lcc": _SIMPLIFIES,
    "leiden": _FOLLOWS_EDGES,
    "louvain": _FOLLOWS_EDGES,
    "mst": _FOLLOWS_EDGES,
    "random_walks": _FOLLOWS_EDGES,
    "triangles": _SIMPLIFIES,
}
"""Algorithms that do not run on a graph with a memory budget, and why."""

NEEDS_ROWS = {**NEEDS_MEMORY, "cdlp": "labels are counted edge by edge"}
"""Algorithms that do not run on a compressed graph, and why."""

NEEDS_ONE_MACHINE = {
    **NEEDS_MEMORY,
    "closeness": "it searches from many vertices at a time, with vertex data for all",
    "coloring": "its rounds are not divided among ranks yet",
    "distance_matrix": "its answer is larger than vertex data",
}
"""Algorithms that do not run on a graph divided among ranks, and why."""


def check_one_machine(algorithm: str, in_group: bool) -> None:
    """Raise `DeclaredGapError` if ranks of a group run an algorithm that they cannot."""
    if in_group and algorithm in NEEDS_ONE_MACHINE:
        raise DeclaredGapError(
            f"{algorithm} does not run on a graph divided among ranks: {NEEDS_ONE_MACHINE[algorithm]}; run it on one "
            "machine, outside of `with tgraph.distributed():`"
        )


def check_rows_at_hand(algorithm: str, is_far: bool, is_compressed: bool) -> None:
    """Raise `DeclaredGapError` if an algorithm that needs the rows of a graph is given one without them."""
    if is_far and algorithm in NEEDS_MEMORY:
        raise DeclaredGapError(
            f"{algorithm} does not run on a graph with a memory budget: {NEEDS_MEMORY[algorithm]}; run it on the whole "
            "graph in memory, from tgraph.read"
        )
    if is_compressed and algorithm in NEEDS_ROWS:
        raise DeclaredGapError(
            f"{algorithm} does not run on a compressed graph: {NEEDS_ROWS[algorithm]}; use graph.decompress()"
        )


NOT_KEPT = "they are not known by name there; run them on `stream.graph.snapshot()`, or keep a program of your own"
"""Why other algorithms are not kept current on a graph that changes."""
