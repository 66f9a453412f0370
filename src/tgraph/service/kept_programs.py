"""The algorithms that can be kept current by their name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tgraph.algorithms.bfs import BFS
from tgraph.algorithms.katz import Katz
from tgraph.algorithms.pagerank import StandingPageRank, jump_shares
from tgraph.algorithms.php import PHP
from tgraph.algorithms.sssp import SSSP
from tgraph.algorithms.wcc import WCC
from tgraph.dtypes import as_number
from tgraph.errors import InvalidArgumentError
from tgraph.graph import DynamicGraph, Graph
from tgraph.program import Program
from tgraph.runtime import Array


def make_program(name: str, graph: DynamicGraph, parameters: dict[str, Any]) -> Program:
    """Return the program of an algorithm."""
    if name not in PROGRAMS:
        known = ", ".join(repr(one) for one in PROGRAMS)
        raise InvalidArgumentError(f"{name!r} is not known; use one of {known}, or a program of your own")
    make = PROGRAMS[name]
    try:
        inspect.signature(make).bind(graph, **parameters)
    except TypeError as error:
        takes = [str(one) for one in inspect.signature(make).parameters.values()][1:]
        accepted = ", ".join(one.replace(": Any", "").split(":")[0] for one in takes) or "no parameters"
        raise InvalidArgumentError(f"{name!r} was asked for with {error}; it takes {accepted}") from None
    return make(graph, **parameters)


def check_lengths(weights: Array | None) -> None:
    """Raise unless all weights are 0 or more, as shortest paths need them."""
    if weights is None or not weights.size:
        return
    wrong = np.flatnonzero(~(weights >= 0))
    if wrong.size:
        raise InvalidArgumentError(
            f"weights holds {weights[wrong[0]]}; sssp is kept, which needs weights of 0 or more, use inf to bar an edge"
        )


def _bfs(graph: DynamicGraph, source: Any) -> Program:
    return BFS(graph.vertices().vertex_of(source))


def _sssp(graph: DynamicGraph, source: Any) -> Program:
    check_lengths(graph.all_weights())
    return SSSP(graph.vertices().vertex_of(source))


def _wcc(graph: DynamicGraph) -> Program:
    return WCC()


def _pagerank(
    graph: DynamicGraph, damping: float = 0.85, tol_l1: float = 1e-6, personalization: Mapping[Any, float] | None = None
) -> Program:
    _check_damping(damping)
    _check_tolerance(tol_l1)
    if personalization is not None:
        if not isinstance(personalization, Mapping):
            raise InvalidArgumentError(
                f"personalization is a {type(personalization).__name__}; give a mapping from ids to weights, for "
                "vertices come and go"
            )
        jump_shares(graph.vertices(), personalization)

    def find_jumps(vertices: Graph) -> Array:
        if personalization is None:
            shares = (~graph.removed).astype(np.float64)
        else:
            shares = np.where(graph.removed, 0.0, jump_shares(vertices, personalization))
        return shares / max(shares.sum(), np.finfo(np.float64).tiny)

    return StandingPageRank(float(damping), float(tol_l1), find_jumps)


def _php(graph: DynamicGraph, source: Any, damping: float = 0.8, tol_l1: float = 1e-6) -> Program:
    _check_damping(damping)
    _check_tolerance(tol_l1)
    return PHP(graph.vertices().vertex_of(source), float(damping), float(tol_l1))


def _katz(graph: DynamicGraph, alpha: float, beta: float = 1.0, tol_l1: float = 1e-6) -> Program:
    _check_tolerance(tol_l1)
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0.0 <= as_number(value) < math.inf:
            raise InvalidArgumentError(f"{name}={value!r} must be a number, 0 or more")
    return Katz(float(alpha), float(beta), float(tol_l1))


def _check_damping(damping: float) -> None:
    if not 0.0 <= as_number(damping) < 1.0:
        raise InvalidArgumentError(f"damping={damping!r} must be from 0 to less than 1, for a result that is kept")


def _check_tolerance(tol_l1: float) -> None:
    if not 0.0 < as_number(tol_l1) < math.inf:
        raise InvalidArgumentError(f"tol_l1={tol_l1!r} must be above 0, for a result that is kept")


PROGRAMS: dict[str, Callable[..., Program]] = {
    "bfs": _bfs,
    "sssp": _sssp,
    "wcc": _wcc,
    "pagerank": _pagerank,
    "php": _php,
    "katz": _katz,
}
