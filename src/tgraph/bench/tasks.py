"""The tasks by name: what is computed, with which parameters, and how answers are compared.

A task has one set of parameters per round, so that searches start from other vertices in other rounds; every candidate
of a round gets the same one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.bench import checks
from tgraph.bench.peers import Parameters
from tgraph.graph import Graph

Check = Callable[[Graph, Any, Any, Parameters], checks.Verdict]
Prove = Callable[[Graph, Any, Parameters], checks.Verdict]
Choose = Callable[[Graph, list[int]], list[dict[str, Any]]]
NUM_SOURCES = 20  # picked per graph; a task takes as many as it needs
SMALL_ARCS, TINY_ARCS = 2_500_000, 200_000


def _nothing(_graph: Graph, _sources: list[int]) -> list[dict[str, Any]]:
    return [{}]


def _always(**parameters: Any) -> Choose:
    return lambda _graph, _sources: [parameters]


def _each_source(_graph: Graph, sources: list[int]) -> list[dict[str, Any]]:
    return [{"source": source} for source in sources[:5]]


def _hitting(_graph: Graph, sources: list[int]) -> list[dict[str, Any]]:
    fixed = {"damping": 0.8, "tol_l1": 1e-6, "bound_relative": 1e-5}
    return [{"source": source, **fixed} for source in sources[:5]]


def _groups_of(size: int) -> Choose:
    return lambda _graph, sources: [{"sources": sources[:size]}]


def _attenuation(graph: Graph, _sources: list[int]) -> list[dict[str, Any]]:
    """Choose Katz' factor below 1 / largest degree, where the sum always converges."""
    largest = int(np.diff(graph.runtime.to_numpy(graph.out_offsets)).max(initial=0))
    return [{"alpha": 1.0 / (largest + 1), "tol_l1": 1e-8, "max_iterations": 1000, "bound_l1": 1e-5}]


def _walk_starts(graph: Graph, _sources: list[int]) -> list[dict[str, Any]]:
    count = min(graph.num_vertices, 1 << 17)
    starts = np.random.default_rng(1).choice(graph.num_vertices, count, replace=False)
    return [{"starts": starts.astype(np.int64), "length": 40, "p": 2.0, "q": 0.5}]


def _by_rules(name: str, graph: Graph, *arguments: Any) -> checks.Verdict:
    """Prove an answer by the rules of `tgraph.verify`, which raise if one is broken."""
    getattr(importlib.import_module("tgraph.verify"), f"check_{name}")(graph, *arguments)
    return checks.Verdict(True)


def _by_itself(check: Check) -> Prove:
    """Check an answer whose validity does not depend on another one."""

    def prove(graph: Graph, ours: Any, parameters: Parameters) -> checks.Verdict:
        verdict = check(graph, ours, ours, parameters)
        return checks.Verdict(verdict.agrees, "" if verdict.agrees else verdict.note)

    return prove


@dataclass(frozen=True)
class Task:
    """One thing to compute."""

    name: str
    what: str  # for the page: what is timed, when it stops, what is compared
    check: Check
    parameters: Choose = _nothing
    weighted: bool = False
    directed: bool = False  # wants the version with directions, where there is one
    max_arcs: int | None = None  # not on larger graphs
    skips_grid: bool = False
    prove: Prove | None = None  # checks our answer alone
    max_proved_arcs: int = 40_000_000  # proofs hold several arrays of this length


_PAGERANK = {"damping": 0.85, "tol_l1": 1e-4, "max_iterations": 100, "bound_l1": 1.2e-3}
_ALL = (
    Task(
        "bfs",
        "levels from 5 vertices, one per round (GAP: parents); exact",
        checks.same_values,
        _each_source,
        prove=lambda graph, levels, p: _by_rules("bfs", graph, p["source"], levels),
    ),
    Task(
        "multi_source_bfs",
        "levels from the nearest of 16 vertices, one call; exact",
        checks.same_values,
        _groups_of(16),
    ),
    Task(
        "distance_matrix",
        "levels from each of 16 vertices, one call; exact",
        checks.same_values,
        _groups_of(16),
    ),
    Task(
        "sssp",
        "distances from 5 vertices, one per round, whole weights 1 to 255; exact",
        checks.same_values,
        _each_source,
        weighted=True,
        prove=lambda graph, distances, p: _by_rules("sssp", graph, p["source"], distances),
    ),
    Task(
        "wcc",
        "connected components; same partition",
        checks.same_partition,
        prove=lambda graph, labels, p: _by_rules("wcc", graph, labels),
    ),
    Task(
        "pagerank",
        "damping 0.85 until the L1 change of an iteration is at most 1e-4, in float64 (igraph solves exactly); scaled "
        "to a sum of 1, L1 distance at most 1.2e-3, which is twice what that stopping rule allows",
        checks.close_shares,
        _always(**_PAGERANK),
    ),
    Task(
        "pagerank_f32",
        "the same in float32, as GAP does it; both use new ranks in the same iteration",
        checks.close_shares,
        _always(**_PAGERANK),
    ),
    Task(
        "pagerank_20",
        "exactly 20 iterations in float64; scaled to 1, L1 distance at most 1.2e-3",
        checks.close_shares,
        _always(damping=0.85, tol_l1=0.0, max_iterations=20, bound_l1=1.2e-3),
    ),
    Task(
        "hits",
        "authorities to an L1 change of 1e-8 or by singular vectors, as the library does it; scaled to 1, L1 distance "
        "at most 1e-3",
        checks.close_shares,
        _always(tol_l1=1e-8, max_iterations=100, bound_l1=1e-3),
        directed=True,
        skips_grid=True,  # its singular values are so close that nobody settles in so many iterations
    ),
    Task("scc", "strongly connected components; same partition", checks.same_partition, directed=True),
    Task("triangles", "number of triangles; exact", checks.same_values),
    Task("lcc", "local clustering coefficients; 1e-6", checks.close_values),
    Task(
        "betweenness",
        "shortest paths from 4 vertices, one call (GAP: four processes, times added); 1e-6 of the largest",
        checks.close_values,
        _groups_of(4),
    ),
    Task(
        "betweenness_exact",
        "from all vertices; 1e-6 of the largest",
        checks.close_values,
        max_arcs=TINY_ARCS,
    ),
    Task("closeness", "of 16 vertices, one call; 1e-6", checks.close_values, _groups_of(16)),
    Task("k_core", "core numbers; exact", checks.same_values),
    Task(
        "cdlp",
        "label propagation as LDBC defines it, 10 iterations; exact",
        checks.same_values,
        _always(max_iterations=10),
        prove=lambda graph, labels, p: _by_rules("cdlp", graph, labels, p["max_iterations"]),
        max_proved_arcs=SMALL_ARCS,
    ),
    Task("louvain", "communities; modularity not worse by more than 0.01", checks.good_communities),
    Task("leiden", "communities; modularity not worse by more than 0.01", checks.good_communities),
    Task(
        "eigenvector",
        "centrality to 1e-6 (as the library measures it); scaled to 1, L1 distance at most 1e-2",
        checks.close_shares,
        _always(tol=1e-6, max_iterations=200, bound_l1=1e-2),
        skips_grid=True,
    ),
    Task(
        "katz",
        "factor 1 / (largest degree + 1), to an L1 change of 1e-8 per vertex; scaled to 1, L1 distance at most 1e-5",
        checks.close_shares,
        _attenuation,
    ),
    Task("mst", "minimum spanning forest; the same total weight", checks.same_values, weighted=True),
    Task(
        "mis",
        "a maximal independent set; valid",
        checks.independent_sets,
        prove=_by_itself(checks.independent_sets),
    ),
    Task(
        "coloring",
        "a colouring; valid, number of colours noted",
        checks.proper_colorings,
        prove=_by_itself(checks.proper_colorings),
    ),
    Task(
        "php",
        "penalised hitting probability from 5 vertices, one per round, factor 0.8, to an L1 change of 1e-6; 1e-5",
        checks.close_values,
        _hitting,
    ),
    Task(
        "random_walks",
        "131,072 walks of 40 steps; every step is an edge",
        checks.real_walks,
        _walk_starts,
        prove=_by_itself(checks.real_walks),
    ),
    Task(
        "node2vec",
        "131,072 walks of 40 steps with p = 2, q = 0.5; every step is an edge",
        checks.real_walks,
        _walk_starts,
        prove=_by_itself(checks.real_walks),
    ),
)
TASKS = {task.name: task for task in _ALL}


def tasks_for(names: tuple[str, ...], graph_name: str, num_arcs: int) -> list[Task]:
    """Return the tasks that suit a graph, unweighted ones first so that each version is loaded once.

    >>> [task.name for task in tasks_for(("sssp", "bfs", "eigenvector"), "grid1000", 4_000_000)]
    ['bfs', 'sssp']
    """
    wanted = [TASKS[name] for name in names or TASKS]
    fitting = [
        task
        for task in wanted
        if (task.max_arcs is None or num_arcs <= task.max_arcs) and not (task.skips_grid and "grid" in graph_name)
    ]
    return sorted(fitting, key=lambda task: (task.directed, task.weighted))
