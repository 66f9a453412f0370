"""Calls a function of NetworkX plainly and in the back end, and compares everything that a user can see."""

from __future__ import annotations

import importlib
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
from networkx.utils.backends import _registered_algorithms

ROUNDING = 1e-9


def public_function(name: str) -> Callable[..., Any]:
    """Return the function that users call, with all its decorators."""
    inner = _registered_algorithms[name]
    return getattr(importlib.import_module(inner.__module__), inner.__name__)


def outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """Return what a call gives: a value, all values of an iterator, or an error with its type and message."""
    values = []
    try:
        result = function(*args, **kwargs)
        if not isinstance(result, Iterator):
            return "value", list(result) if isinstance(result, type({}.values())) else result
        for value in result:
            values.append(value)
    except Exception as error:
        return "error", (values, type(error), str(error))
    return "values", values


def assert_same(found: Any, expected: Any) -> None:
    """Compare types, values, the order of dictionaries and lists, and graphs with all they hold."""
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, nx.Graph):
        assert_same(_contents(found), _contents(expected))
    elif isinstance(expected, dict):
        assert_same(list(found), list(expected))
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        both_nan = math.isnan(found) and math.isnan(expected)
        assert both_nan or math.isclose(found, expected, rel_tol=ROUNDING, abs_tol=1e-14), (found, expected)
    elif not isinstance(expected, types.FunctionType):
        assert found == expected, (found, expected)


def _contents(graph: Any) -> list[Any]:
    adjacency = {node: dict(row) for node, row in graph.adjacency()}
    incoming = {node: dict(row) for node, row in graph._pred.items()} if graph.is_directed() else {}
    return [dict(graph.graph), dict(graph.nodes(data=True)), adjacency, incoming]
