"""A slow interpreter of programs in plain Python: what every engine must compute, one vertex and one edge at a time."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tgraph as tg

DIRECTIONS = ("push", "pull", "auto")
RUNTIMES = ("numpy", "torch")
IDENTITIES = {"min": math.inf, "max": -math.inf, "sum": 0.0, "mean": 0.0, "any": False, "count": 0}
REDUCERS: dict[str, Callable[[list[Any]], Any]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "any": any,
    "count": len,
}


@dataclass
class Outcome:
    """What a run must give."""

    fields: dict[str, list[Any]]
    converged: bool = False
    senders: list[int] = field(default_factory=list)  # of each iteration
    arcs: list[int] = field(default_factory=list)  # that their messages crossed
    residuals: list[float | None] = field(default_factory=list)


def interpret(program: Any, graph: tg.Graph, max_iterations: int) -> Outcome:
    """Run a program whose messages are float64 or bool."""
    initial, active = program.init(graph)
    named = initial if isinstance(initial, Mapping) else {"value": initial}
    outcome = Outcome({name: tensor.tolist() for name, tensor in named.items()})
    arcs = list_arcs(program, graph)
    senders = [True] * graph.num_vertices if active is None else active.tolist()
    every = program.active == "all"
    while True:
        done_after_all = every and outcome.senders and program.is_done(len(outcome.senders), outcome.residuals[-1])
        if not graph.num_vertices or done_after_all or not (every or any(senders)):
            outcome.converged = True
            return outcome
        if len(outcome.senders) == max_iterations:
            return outcome
        senders = iterate(program, arcs, outcome, [True] * graph.num_vertices if every else senders)


def list_arcs(program: Any, graph: tg.Graph) -> list[dict[str, Any]]:
    """Return sender, receiver and data of everything that a message can cross."""
    offsets, targets = graph.out_offsets.tolist(), graph.out_targets.tolist()
    weights = [1] * len(targets) if graph.weights is None else graph.weights.tolist()
    data = {name: tensor.tolist() for name, tensor in program.edge_data(graph).items()}
    along, against = [], []
    for vertex in range(graph.num_vertices):
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            known = {"weight": weights[edge], **{name: column[edge] for name, column in data.items()}}
            along.append({"source": vertex, "target": targets[edge], **known})
            against.append({"source": targets[edge], "target": vertex, **known})
    if program.along == "both" and graph.directed:
        return along + against
    return against if program.along == "in" else along


def iterate(program: Any, arcs: list[dict[str, Any]], outcome: Outcome, senders: list[bool]) -> list[bool]:
    """Do one iteration, all messages before all updates, and return who changed."""
    old = outcome.fields
    received: list[list[Any]] = [[] for _ in senders]
    sent = [arc for arc in arcs if senders[arc["source"]]]
    for arc in sent:
        at_source = {name: column[arc["source"]] for name, column in old.items()}
        at_target = {f"target_{name}": column[arc["target"]] for name, column in old.items()}
        received[arc["target"]].append(call(program.message, {**at_source, **at_target, **arc}))
    totals = [call(program.total, at(old, v)) for v in range(len(senders))] if program.total else []
    new = {name: list(column) for name, column in old.items()}
    identity = IDENTITIES[program.reduce]
    for vertex, messages in enumerate(received):
        incoming = REDUCERS[program.reduce](messages) if messages else identity
        if program.active == "all" or incoming != identity:
            result = call(program.update, {**at(old, vertex), "incoming": incoming, "total": sum(totals)})
            named = result if isinstance(result, Mapping) else {next(iter(old)): result}
            for name, value in named.items():
                new[name][vertex] = type(old[name][vertex])(value)
    outcome.senders.append(sum(senders))
    outcome.arcs.append(len(sent))
    outcome.residuals.append(residual(program, old, new) if program.active == "all" else None)
    outcome.fields = new
    return [any(old[name][vertex] != new[name][vertex] for name in old) for vertex in range(len(senders))]


def residual(program: Any, old: dict[str, list[Any]], new: dict[str, list[Any]]) -> float:
    main = next(iter(old))
    if program.change is None:
        return float(sum(abs(after - before) for before, after in zip(old[main], new[main], strict=True)))
    after = [{f"new_{name}": column[vertex] for name, column in new.items()} for vertex in range(len(old[main]))]
    return float(sum(call(program.change, {**at(old, vertex), **after[vertex]}) for vertex in range(len(after))))


def at(fields: dict[str, list[Any]], vertex: int) -> dict[str, Any]:
    return {name: column[vertex] for name, column in fields.items()}


def call(function: Any, known: dict[str, Any]) -> Any:
    return function(**{name: known[name] for name in inspect.signature(function).parameters})


def check_run(program: Any, graph: tg.Graph, max_iterations: int = 6, **how: Any) -> None:
    """Compare a run with the interpreter: values, senders, edges, residuals and how it ended."""
    expected = interpret(program, graph, max_iterations)
    result = tg.run(program, graph, max_iterations=max_iterations, **how)
    assert {name: tensor.tolist() for name, tensor in result.fields.items()} == expected.fields
    assert result.converged == expected.converged
    assert [iteration.active_vertices for iteration in result.trace] == expected.senders
    assert [iteration.active_edges for iteration in result.trace] == expected.arcs
    assert [iteration.residual for iteration in result.trace] == expected.residuals
    assert result.residual == (expected.residuals[-1] if expected.residuals else None)
    if how.get("direction", "auto") != "auto":
        assert {iteration.direction for iteration in result.trace} <= {how["direction"]}


def check_all_ways(program: Any, graph: tg.Graph, max_iterations: int = 6) -> None:
    """Compare every direction on every runtime, by primitives and compiled, with the interpreter.

    A kernel takes seconds to compile, and another one for each form of graph: one form is enough here.
    """
    for runtime in RUNTIMES:
        for direction in DIRECTIONS:
            check_run(program, graph.to(runtime), max_iterations, direction=direction, kernel="plain")
        if graph.weighted and graph.directed:
            check_run(program, graph.to(runtime), max_iterations, kernel="auto")


@st.composite
def graphs(draw: st.DrawFn, largest: int = 7) -> tg.Graph:
    """Small graphs of all kinds: with loops, duplicates and isolated vertices, rows in any order, or none at all."""
    count = draw(st.integers(0, largest))
    vertex = st.integers(0, max(count - 1, 0))
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=16 if count else 0))
    sources, targets = ([edge[end] for edge in edges] for end in (0, 1))
    weights = np.asarray(draw(st.lists(st.integers(0, 5), min_size=len(edges), max_size=len(edges))), np.float64)
    directed, shuffled, weighted = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    graph = tg.from_edges(
        sources,
        targets,
        weights if weighted else None,
        directed,
        count,
        duplicates="first" if shuffled else "keep",
        runtime="numpy",
    )
    return shuffle_rows(graph, draw(st.integers(0, 99))) if shuffled else graph


def shuffle_rows(graph: tg.Graph, seed: int) -> tg.Graph:
    """Return the same graph with the edges of every vertex in another order."""
    random = np.random.default_rng(seed)
    starts = graph.out_offsets[:-1].repeat(graph.out_degrees())
    order = np.lexsort((random.random(graph.num_arcs), starts))
    weights = None if graph.weights is None else graph.weights[order]
    return tg.from_csr(graph.out_offsets, graph.out_targets[order], weights, graph.directed, runtime="numpy")
