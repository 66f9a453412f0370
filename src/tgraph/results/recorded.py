"""What an algorithm was asked for, kept in the trace of its result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from tgraph.errors import check_graph
from tgraph.gaps import check_one_machine, check_rows_at_hand
from tgraph.group import current

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def recorded(function: Callable[Asked, Found]) -> Callable[Asked, Found]:
    """Let an algorithm, whose first parameter is the graph, note its other arguments in `trace.parameters`.

    One that ranks cannot run together says so.

    >>> import tgraph as tg
    >>> tg.k_core(tg.from_edges([0, 1], [1, 2]), threads=1).trace.parameters
    {'threads': 1}
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(*args: Asked.args, **kwargs: Asked.kwargs) -> Found:
        if args or "graph" in kwargs:
            graph: Any = args[0] if args else kwargs["graph"]
            check_graph(graph)
            check_one_machine(function.__name__, current() is not None or graph.is_sharded)
            check_rows_at_hand(function.__name__, graph.is_far, graph.is_compressed)
        found = function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found.trace.parameters = dict(_named(bound.arguments, signature))  # type: ignore[attr-defined]
        return found

    return run


def _named(arguments: Mapping[str, Any], signature: inspect.Signature) -> list[tuple[str, Any]]:
    """Return the arguments after the first, those of `**how` by their own names; arrays only by their size."""
    named: list[tuple[str, Any]] = []
    for name in list(arguments)[1:]:
        is_rest = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        named += arguments[name].items() if is_rest else [(name, arguments[name])]
    return [(name, _short(value)) for name, value in named if value is not None]


def _short(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    has_size = hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0  # an array of no dimension has no length
    return f"{type(value).__name__} of {len(value):,}" if has_size else str(value)
