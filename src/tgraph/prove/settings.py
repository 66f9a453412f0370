"""What every name in a program's functions may be: types from `init`, ranges from the graph if there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tgraph.dtypes import check_reduction, index_dtype
from tgraph.errors import InvalidProgramError
from tgraph.graph import Graph
from tgraph.program import Plan
from tgraph.prove.calls import SymbolCalls
from tgraph.prove.claims import Setting
from tgraph.prove.domains import Domain
from tgraph.prove.symbols import NoMeaningError, Number, Symbol
from tgraph.runtime import Array

ANY_VERTEX = 2**31 - 2

Arrays = Mapping[str, Array]
Domains = dict[str, Domain]
Weights = tuple[float, float]


def build_setting(plan: Plan, arrays: Arrays, graph: Graph | None, weights: Weights | None) -> Setting:
    """Return the domains of all names; `arrays` are the fields and the edge data."""
    domains = {name: Domain(array.dtype) for name, array in arrays.items()}
    vertices = Domain(np.dtype(np.int64), 0, ANY_VERTEX)
    if graph is not None:
        vertices = Domain(index_dtype(graph.num_vertices), 0, max(graph.num_vertices - 1, 0))
    domains["source"] = domains["target"] = vertices
    is_whole = {array.dtype.kind for array in arrays.values()} - {"b"} in ({"i"}, {"u"}, {"i", "u"})
    number = np.dtype(np.int64 if is_whole else np.float64)
    domains["weight"] = _weight_domain(number, graph, weights)
    domains["total"] = Domain(number)
    _add_target_fields(domains, plan)
    domains["incoming"] = Domain(_incoming_dtype(plan, domains))
    changed = _changed_fields(plan, domains)
    if graph is not None and changed is not None:
        _limit(domains, plan, arrays, changed)
    return Setting(plan, domains, (plan.main_field,) if changed is None else changed)


def _add_target_fields(domains: Domains, plan: Plan) -> None:
    domains.update({f"target_{name}": domains[name] for name in plan.field_names})


def _limit(domains: Domains, plan: Plan, arrays: Arrays, changed: tuple[str, ...]) -> None:
    """Limit what never changes to the values that it has, and a monotonic value to what is not worse than any at first.

    A monotonic value cannot leave that range: `update_directed` is proved for it.
    """
    for name in arrays.keys() - set(changed):
        domains[name] = _range_of(arrays[name])
    main = plan.main_field
    if plan.program.monotonic and main in changed:
        first = _range_of(arrays[main])
        if plan.program.reduce == "min":
            domains[main] = Domain(first.dtype, high=first.high)
        if plan.program.reduce == "max":
            domains[main] = Domain(first.dtype, low=first.low)
    _add_target_fields(domains, plan)


def _range_of(array: Array) -> Domain:
    known = array[array == array]
    if array.dtype.kind not in "iuf" or not known.size:
        return Domain(array.dtype)
    return Domain(array.dtype, known.min().item(), known.max().item())


def _weight_domain(number: np.dtype[Any], graph: Graph | None, weights: Weights | None) -> Domain:
    """Return the type of weights, that of the graph or else `number`, and their range."""
    if graph is None:
        return Domain(number, *(weights or (0, math.inf)))
    low, high = weights or graph.weight_range[:2]
    return Domain(graph.runtime.dtype(graph.weights) if graph.weighted else np.dtype(np.int64), low, high)


def _incoming_dtype(plan: Plan, domains: Domains) -> np.dtype[Any]:
    """Return the type of reduced messages; that of the main field where messages have no meaning for symbols."""
    main, reduce = domains[plan.main_field].dtype, plan.program.reduce
    if reduce == "count":
        return np.dtype(np.int64)
    try:
        made = _probe(plan, domains, "message")
    except NoMeaningError:
        return main
    dtype = _dtype_of(made, main)
    check_reduction(reduce, dtype)
    return dtype


def _dtype_of(message: Symbol, main: np.dtype[Any]) -> np.dtype[Any]:
    if not isinstance(message, Number):
        return np.dtype(np.bool_)
    if not message.is_whole:
        return np.dtype(np.float64)
    return main if main.kind in "iu" else np.dtype(np.int64)


def _changed_fields(plan: Plan, domains: Domains) -> tuple[str, ...] | None:
    """Return the fields that `update` gives; None where `update` has no meaning for symbols."""
    try:
        returned = _probe(plan, domains, "update")
    except NoMeaningError:
        return None
    if not isinstance(returned, Mapping):
        return (plan.main_field,)
    for name in returned:
        if name not in plan.field_names:
            known = ", ".join(plan.field_names)
            gave = f"{type(plan.program).__name__}.update gave {name!r}, which is no field"
            raise InvalidProgramError(f"{gave}; it has {known}")
    return tuple(returned)


def _probe(plan: Plan, domains: Domains, function: str) -> Any:
    """Call a function on symbols to see what it gives."""
    calls = SymbolCalls(plan, {name: domain.dtype for name, domain in domains.items()})
    return calls.call(function, {name: domains[name].variable(name) for name in plan.parameters[function]})
