"""python-graphblas: SuiteSparse:GraphBLAS has operations, not algorithms, so these are written here with it.

They follow the formulations of the LAGraph library's authors where those need no more than the Python interface.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.graph import Graph
from tgraph.runtime import Array

PULL_SHARE = 0.05  # of the vertices: a larger frontier is collected from instead of pushed


def _gb() -> Any:
    return importlib.import_module("graphblas")


def _convert(graph: Graph) -> Any:
    gb = _gb()
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    matrix = gb.Matrix.ss.import_csr(
        nrows=graph.num_vertices,
        ncols=graph.num_vertices,
        indptr=offsets.astype(np.uint64),
        col_indices=targets.astype(np.uint64),
        values=np.ones(1, bool) if weights is None else weights.astype(np.float64),
        is_iso=weights is None,
        sorted_cols=True,
    )
    return {"out": matrix, "in": matrix.T.new() if graph.directed else matrix, "size": graph.num_vertices}


def _dense(missing: float, dtype: Any = np.float64) -> Any:
    def answer(result: Any, view: Any, _parameters: Parameters) -> Array:
        values = np.full(view["size"], missing, dtype)
        positions, found = result.to_coo()
        values[positions] = found
        return values

    return answer


def _bfs(view: Any, parameters: Parameters) -> Any:
    gb = _gb()
    any_pair = gb.semiring.any_pair[bool]
    levels = gb.Vector(int, view["size"])
    frontier = gb.Vector(bool, view["size"])
    frontier[parameters.get("sources", [parameters.get("source")])] = True
    level = 0
    while frontier.nvals:
        levels(frontier.S)[:] = level
        level += 1
        if frontier.nvals > PULL_SHARE * view["size"]:
            frontier(~levels.S, replace=True) << any_pair(view["in"] @ frontier)
        else:
            frontier(~levels.S, replace=True) << any_pair(frontier @ view["out"])
    return levels


def _sssp(view: Any, parameters: Parameters) -> Any:
    gb = _gb()
    distances = gb.Vector(float, view["size"])
    distances[parameters["source"]] = 0.0
    changed = distances.dup()
    while changed.nvals:
        found = gb.semiring.min_plus(changed @ view["out"]).new()
        shorter = found.ewise_mult(distances, gb.binary.lt).new()
        changed = found.dup(mask=~distances.S)
        changed(shorter.V) << found
        distances(gb.binary.min) << changed
    return distances


def _wcc(view: Any, _parameters: Parameters) -> Any:
    """Let labels fall to the smallest one in sight, with pointer jumping."""
    gb = _gb()
    labels = gb.Vector.from_dense(np.arange(view["size"]))
    before = None
    while before is None or not labels.isequal(before):
        before = labels.dup()
        labels(gb.binary.min) << gb.semiring.min_second(view["in"] @ labels)
        values = labels.to_dense()
        labels = gb.Vector.from_dense(values[values])
    return labels


def _pagerank(view: Any, parameters: Parameters) -> Any:
    gb = _gb()
    damping, size = parameters["damping"], view["size"]
    degrees = view["out"].reduce_rowwise(gb.agg.count).new(float)
    shares = (damping / degrees).new()
    dangling = gb.Vector.from_scalar(1.0, size).dup(mask=~degrees.S)
    ranks = gb.Vector.from_scalar(1.0 / size, size)
    for _ in range(parameters["max_iterations"]):
        jump = (1 - damping) / size + damping / size * float(gb.semiring.plus_times(dangling @ ranks).new().get(0.0))
        new = gb.Vector.from_scalar(jump, size)
        scaled = ranks.ewise_mult(shares, gb.binary.times).new()
        new(gb.binary.plus) << gb.semiring.plus_second(view["in"] @ scaled)
        change = float(gb.unary.abs(new - ranks).reduce().get(0.0))
        ranks = new
        if change <= parameters["tol_l1"]:
            break
    return ranks


def _hits(view: Any, parameters: Parameters) -> Any:
    gb = _gb()
    plus_second = gb.semiring.plus_second
    hubs = gb.Vector.from_scalar(1.0 / view["size"], view["size"])
    for _ in range(parameters["max_iterations"]):
        authorities = plus_second(view["in"] @ hubs).new()
        authorities = (authorities / authorities.reduce().get(1.0)).new()
        new = plus_second(view["out"] @ authorities).new()
        new = (new / new.reduce().get(1.0)).new()
        change = float(gb.unary.abs(new.ewise_union(hubs, gb.binary.minus, 0.0, 0.0)).new().reduce().get(0.0))
        hubs = new
        if change <= parameters["tol_l1"]:
            break
    return authorities


def _triangles(view: Any, _parameters: Parameters) -> int:
    gb = _gb()
    lower = gb.select.tril(view["out"], -1).new()
    found = gb.semiring.plus_pair[int](lower @ lower.T).new(mask=lower.S)
    return int(found.reduce_scalar().get(0))


def _lcc(view: Any, _parameters: Parameters) -> Any:
    gb = _gb()
    matrix = view["out"]
    closed = gb.semiring.plus_pair[float](matrix @ matrix.T).new(mask=matrix.S).reduce_rowwise().new()
    degrees = matrix.reduce_rowwise(gb.agg.count).new(float)
    pairs = degrees.ewise_mult((degrees - 1.0).new(), gb.binary.times).new()
    pairs = gb.select.value(pairs > 0).new()
    return closed.ewise_mult(pairs, gb.binary.truediv).new()


def _betweenness(view: Any, parameters: Parameters) -> Any:
    """Brandes' algorithm for several sources at once, one row each."""
    gb = _gb()
    sources, matrix = parameters["sources"], view["out"]
    rows = np.arange(len(sources))
    paths = gb.Matrix.from_coo(rows, sources, np.ones(rows.size), nrows=rows.size, ncols=view["size"])
    frontier = gb.semiring.plus_first(paths @ matrix).new(mask=~paths.S)
    levels = []
    while frontier.nvals:
        levels.append(frontier)
        paths(gb.binary.plus) << frontier
        frontier = gb.semiring.plus_first(frontier @ matrix).new(mask=~paths.S)
    given = paths.apply(gb.binary.times, right=0.0).new()
    for near, far in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
        shares = (given.dup(mask=far.S) + 1.0).new().ewise_mult(paths, gb.binary.truediv).new()
        passed = gb.semiring.plus_first(shares @ view["in"]).new(mask=near.S)
        given(gb.binary.plus) << passed.ewise_mult(paths, gb.binary.times)
    return (0.5 * given.reduce_columnwise().new()).new()  # a pair of an undirected graph counts once


def _katz(view: Any, parameters: Parameters) -> Any:
    gb = _gb()
    scores = gb.Vector.from_scalar(0.0, view["size"])
    for _ in range(parameters["max_iterations"]):
        new = gb.Vector.from_scalar(1.0, view["size"])
        reached = gb.semiring.plus_second(view["in"] @ scores).new()
        new(gb.binary.plus) << reached * parameters["alpha"]
        change = float(gb.unary.abs(new - scores).reduce().get(0.0))
        scores = new
        if change <= parameters["tol_l1"] * view["size"]:
            break
    return scores


def _independent_set(view: Any, _parameters: Parameters) -> Any:
    """Luby's algorithm: random numbers, the largest among the neighbours joins."""
    gb = _gb()
    numbers = np.random.default_rng(1).permutation(view["size"]).astype(np.float64) + 1.0
    waiting = gb.Vector.from_dense(numbers)
    members = gb.Vector(bool, view["size"])
    while waiting.nvals:
        largest = gb.semiring.max_second(view["in"] @ waiting).new(mask=waiting.S)
        wins = waiting.ewise_union(largest, gb.binary.gt, 0.0, 0.0).new()
        joined = gb.select.value(wins == True).new()  # noqa: E712 - an expression of GraphBLAS
        members(joined.S)[:] = True
        covered = gb.semiring.any_pair[bool](view["in"] @ joined).new()
        waiting = waiting.dup(mask=~members.S).dup(mask=~covered.S)
    return members


def _set_threads(threads: int) -> None:
    _gb().ss.config["nthreads"] = threads


PEER = Peer(
    name="graphblas",
    package="python-graphblas",
    convert=_convert,
    set_threads=_set_threads,
    algorithms={
        "bfs": Algorithm(_bfs, _dense(-1, np.int64)),
        "multi_source_bfs": Algorithm(_bfs, _dense(-1, np.int64)),
        "sssp": Algorithm(_sssp, _dense(np.inf)),
        "wcc": Algorithm(_wcc, _dense(-1, np.int64)),
        "pagerank": Algorithm(_pagerank, _dense(0.0)),
        "pagerank_20": Algorithm(_pagerank, _dense(0.0)),
        "hits": Algorithm(_hits, _dense(0.0)),
        "triangles": Algorithm(_triangles),
        "lcc": Algorithm(_lcc, _dense(0.0)),
        "betweenness": Algorithm(_betweenness, _dense(0.0)),
        "katz": Algorithm(_katz, _dense(0.0)),
        "mis": Algorithm(_independent_set, _dense(0, bool)),
    },
)
