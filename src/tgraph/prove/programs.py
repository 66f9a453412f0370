"""`tgraph.check`: does a program keep what it says of itself?"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tgraph.errors import InvalidArgumentError, InvalidProgramError, MissingDependencyError
from tgraph.graph import Graph, from_edges
from tgraph.program import Program, plan
from tgraph.prove.report import Check, Property
from tgraph.runtime import Array

if TYPE_CHECKING:
    from tgraph.prove.claims import Setting

EXACT = "floats as real numbers, integers without overflow"


def check(
    program: Program,
    graph: Graph | None = None,
    *,
    weights: tuple[float, float] | None = None,
    timeout_seconds: float = 5.0,
) -> Check:
    """Prove what engines rely on where a program says `monotonic` or `linear`, or find numbers that refute it.

    The program's own `message`, `update` and `total` are called on symbols, which stand for all values at once. What
    cannot be expressed that way (`exp`, `log`, an `if`, other libraries' functions) is `unknown`, never `proved`.

    Floats are real numbers and infinities: rounding and NaN are left out, and so are integers that overflow. Numbers
    that the program keeps (`self.damping`) are those it has after `init`. A counter-example has been tried on the
    program: it is one for floats and integers, too.

    Args:
        program: It stays as it is: `init` is called on a copy.
        graph: What never changes is then limited to the values that it has on this graph, and a monotonic value to what
            is not worse than any that it starts with. Without it `init` is called on a graph with 4 vertices, and
            values may be any of their type.
        weights: The smallest and the largest weight that an edge may have; unless given, those of the graph, and
            without a graph 0 to infinity.
        timeout_seconds: For each question that z3 is asked.

    Returns:
        The verdicts; `raise_if_refuted()` turns counter-examples into an error.

    >>> import tgraph as tg
    >>> class Longest(tg.Program):
    ...     reduce, monotonic = "min", True
    ...     def init(self, graph):
    ...         return graph.full(0.0, "float64"), None
    ...     def message(self, value, weight):
    ...         return weight - value
    ...     def update(self, value, incoming):
    ...         return tg.minimum(value, incoming)
    >>> found = tg.check(Longest())
    >>> found.is_proved, [wrong.name for wrong in found.refuted]
    (False, ['message_monotonic'])
    >>> found["message_monotonic"].explanation  # doctest: +ELLIPSIS
    'a sender with a better value never sends a worse message (smaller is better); not so for value=...
    """
    if importlib.util.find_spec("z3") is None:
        raise MissingDependencyError("z3-solver", "check", extra="check")
    if weights is not None and not (len(weights) == 2 and weights[0] <= weights[1]):
        raise InvalidArgumentError(f"weights={weights!r} must be (smallest, largest)")
    from tgraph.prove.claims import all_claims
    from tgraph.prove.settings import build_setting
    from tgraph.prove.solve import settle

    tried, name = copy.copy(program), type(program).__name__
    fields, edge_data = _start(tried, graph)
    planned = plan(tried, tuple(fields), tuple(edge_data))
    if not {"message", "update"} <= planned.parameters.keys():
        words = "it computes with whole tensors, so there is no message and update to be proved"
        return Check(name, EXACT, (Property("compute", "unknown", words),))
    setting = build_setting(planned, {**fields, **edge_data}, graph, weights)
    settled = [settle(claim, setting, timeout_seconds) for claim in all_claims(setting)]
    return Check(name, _assumptions(setting, graph), (*settled, *_plain_rules(setting)))


def _start(program: Program, graph: Graph | None) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the fields and the edge data of a program on the graph, or on a small one."""
    place = graph if graph is not None else from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 0], [1.0, 2.0, 1.0, 3.0, 1.0])
    name, runtime = type(program).__name__, place.runtime
    try:
        returned, edge_data = program.init(place), program.edge_data(place)
    except Exception as error:
        if graph is not None:
            raise
        failed = f"{name}.init fails on a graph with 4 vertices ({type(error).__name__}: {error})"
        raise InvalidProgramError(f"{failed}; give one that it can start on: tgraph.check(program, graph)") from error
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise InvalidProgramError(f"{name}.init must return (values, active mask or None)")
    fields = returned[0] if isinstance(returned[0], Mapping) else {"value": returned[0]}
    if not fields:
        raise InvalidProgramError(f"{name}.init gave no field; it must return at least one")
    first, second = (
        {key: runtime.to_numpy(runtime.asarray(tensor)) for key, tensor in named.items()}
        for named in (fields, edge_data)
    )
    return first, second


def _plain_rules(setting: Setting) -> list[Property]:
    """Return what the program's own words already contradict, or leave open."""
    program, others = setting.plan.program, [name for name in setting.changed if name != setting.main]
    rules = []
    if program.linear and program.reduce != "sum":
        rules.append(Property("linear_reduce", "refuted", f"linear needs reduce = 'sum', not {program.reduce!r}"))
    if program.linear and others:
        words = f"update changes {', '.join(others)} too; a linear program changes its main field alone"
        rules.append(Property("linear_fields", "refuted", words))
    seen = [name for name in others if name in setting.plan.parameters["message"]]
    if program.monotonic and seen:
        words = f"message asks for {', '.join(seen)}, which update changes; which value of it is better is not known"
        rules.append(Property("message_fields", "unknown", words))
    return rules


def _assumptions(setting: Setting, graph: Graph | None) -> str:
    if "weight" not in setting.plan.parameters["message"]:
        return EXACT
    weight = setting.domains["weight"]
    kind = "whole weights" if weight.dtype.kind in "iu" else "weights"
    known = "" if graph is not None else ", as no graph is given"
    return f"{EXACT}; {kind} from {weight.low:g} to {weight.high:g}{known}"
