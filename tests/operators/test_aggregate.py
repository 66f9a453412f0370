from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.dtypes import REDUCTIONS
from tgraph.errors import InvalidArgumentError
from tgraph.operators import Accumulator, aggregate, tensorize

DTYPES = {"min": "int32", "max": "float64", "sum": "int64", "mean": "float64", "any": "bool", "count": "float32"}
NOTHING = {"min": 2**31 - 1, "max": -math.inf, "sum": 0, "mean": 0.0, "any": False, "count": 0}


def plain_reduction(op: str, values: list[Any]) -> Any:
    """What a reduction gives for a list, written with Python's own functions."""
    if not values:
        return NOTHING[op]
    functions = {"min": min, "max": max, "sum": sum, "any": any, "count": len}
    return sum(values) / len(values) if op == "mean" else functions[op](values)


def as_tensor(runtime: Any, values: list[Any], dtype: str) -> Any:
    return runtime.asarray(np.asarray(values, dtype))


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("sum", [30, 0, 0, 10, 10, 10, 50]),
        ("max", [30, -(2**63), -(2**63), 10, 10, 10, 30]),
        ("min", [30, 2**63 - 1, 2**63 - 1, 10, 10, 10, 20]),
        ("count", [1, 0, 0, 1, 1, 1, 2]),
    ],
)
def test_push_in_the_example(example: tg.Graph, op: str, expected: list[int]) -> None:
    runtime = example.runtime
    subgraph = tensorize(example.adjacency("out"), as_tensor(runtime, [2, 4, 5], "int32"))
    messages = subgraph.expand(as_tensor(runtime, [10, 20, 30], "int64"))
    assert messages.tolist() == [10, 10, 10, 20, 30, 30]
    reduced = Accumulator(runtime, 7, op, np.dtype("int64"))
    reduced.add(subgraph.neighbors, messages)
    assert reduced.finish().tolist() == expected


def test_pull_in_the_example(example: tg.Graph) -> None:
    subgraph = tensorize(example.adjacency("in"), range(7))
    messages = subgraph.at_neighbors(example.runtime.asarray(np.arange(7) * 10))
    assert aggregate(subgraph, messages, "sum").tolist() == [50, 0, 0, 30, 20, 20, 120]
    assert aggregate(subgraph, messages, "min").tolist() == [50, 0, 0, 10, 20, 20, 30]
    assert aggregate(subgraph, messages, "count").tolist() == [1, 1, 1, 2, 1, 1, 3]


@settings(deadline=None)
@given(data=st.data(), op=st.sampled_from(REDUCTIONS), name=st.sampled_from(["numpy", "torch"]))
def test_accumulator_over_several_blocks(data: st.DataObject, op: str, name: str) -> None:
    runtime, dtype = tg.runtime.get(name), DTYPES[op]
    value = st.booleans() if dtype == "bool" else st.integers(-50, 50)
    blocks = data.draw(st.lists(st.lists(st.tuples(st.integers(0, 5), value), max_size=8), max_size=4))
    reduced = Accumulator(runtime, 6, op, np.dtype(dtype))
    received: list[list[Any]] = [[] for _ in range(6)]
    for block in blocks:
        for target, message in block:
            received[target].append(message)
        targets = as_tensor(runtime, [target for target, _ in block], "int32")
        reduced.add(targets, as_tensor(runtime, [message for _, message in block], dtype))
    result = reduced.finish()
    assert result.tolist() == [plain_reduction(op, values) for values in received]
    assert runtime.dtype(result) == np.dtype("int64" if op == "count" else dtype)


@settings(deadline=None)
@given(data=st.data(), op=st.sampled_from(REDUCTIONS), name=st.sampled_from(["numpy", "torch"]))
def test_aggregate_against_loops(data: st.DataObject, op: str, name: str) -> None:
    edges = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
    rows = data.draw(st.lists(st.integers(0, 5), max_size=8))
    graph = tg.from_edges([s for s, _ in edges], [t for _, t in edges], num_vertices=6, runtime=name)
    subgraph = tensorize(graph.adjacency("out"), as_tensor(graph.runtime, rows, "int32"))
    value = st.booleans() if op == "any" else st.integers(-50, 50)
    messages = data.draw(st.lists(value, min_size=subgraph.num_arcs, max_size=subgraph.num_arcs))
    offsets = subgraph.offsets.tolist()
    expected = [plain_reduction(op, messages[first:last]) for first, last in pairwise(offsets)]
    assert aggregate(subgraph, as_tensor(graph.runtime, messages, DTYPES[op]), op).tolist() == expected


@pytest.mark.parametrize(("op", "dtype"), [("mean", "int64"), ("any", "int32"), ("sum", "bool"), ("median", "int64")])
def test_reductions_that_lose_something_are_refused(runtime_name: str, op: str, dtype: str) -> None:
    with pytest.raises(InvalidArgumentError, match="reduce="):
        Accumulator(tg.runtime.get(runtime_name), 3, op, np.dtype(dtype))
