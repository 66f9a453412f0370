"""Reductions of whole tensors, of segments and by position, on every runtime, against plain Python and NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primitives import BIG, DTYPES, FLOATS, INF, INTEGERS, NAN, OUTSIDE, check, covers, example
from runtimes import RUNTIMES, get
from tgraph.dtypes import REDUCTIONS, identity
from tgraph.errors import InvalidArgumentError, OutOfRangeError
from tgraph.runtime import Runtime


def allowed(op: str, dtype: str) -> bool:
    return {"mean": dtype in FLOATS, "any": dtype == "bool", "sum": dtype != "bool"}.get(op, True)


PAIRS = [(op, dtype) for op in REDUCTIONS for dtype in DTYPES]
ALLOWED = [pair for pair in PAIRS if allowed(*pair)]
REFUSED = [pair for pair in PAIRS if not allowed(*pair)]


def plain_reduction(values: np.ndarray[Any, Any], op: str) -> Any:
    """One reduction, written with Python's own means where it has them."""
    if op == "count":
        return len(values)
    if not len(values):
        return identity(op, values.dtype)
    if op in ("min", "max"):
        missing = [value for value in values.tolist() if value != value]
        return missing[0] if missing else (min if op == "min" else max)(values.tolist())
    if op == "any":
        return any(values.tolist())
    with np.errstate(all="ignore"):
        total = np.asarray(sum(values.tolist()) if values.dtype.kind == "f" else values.sum()).astype(values.dtype)
        return total if op == "sum" else total / values.dtype.type(len(values))


@covers("reduce")
@pytest.mark.parametrize(("op", "dtype"), ALLOWED)
def test_reduce(rt: Runtime, op: str, dtype: str) -> None:
    result_dtype = "int64" if op == "count" else dtype
    array = example(dtype)
    for values in (array, array[3:4], array[:0], array[3:3], array[:2]):
        check(rt, rt.reduce(rt.asarray(values), op), [plain_reduction(values, op)], result_dtype)


@pytest.mark.parametrize("op", ["reduce", "segment_reduce", "scatter_reduce"])
@pytest.mark.parametrize(("reduction", "dtype"), REFUSED)
def test_reductions_that_make_no_sense_are_refused(rt: Runtime, op: str, reduction: str, dtype: str) -> None:
    values = rt.asarray(example(dtype))
    calls = {
        "reduce": lambda: rt.reduce(values, reduction),
        "segment_reduce": lambda: rt.segment_reduce(values, rt.asarray([0, 7]), reduction),
        "scatter_reduce": lambda: rt.scatter_reduce(rt.full(7, 0, dtype), rt.arange(0, 7, "int64"), values, reduction),
    }
    with pytest.raises(InvalidArgumentError, match=f"reduce='{reduction}'"):
        calls[op]()


def test_unknown_reductions_are_refused(rt: Runtime) -> None:
    values, positions = rt.asarray([1.0]), rt.asarray([0])
    for call in (
        lambda: rt.reduce(values, "median"),
        lambda: rt.segment_reduce(values, rt.asarray([0, 1]), "median"),
        lambda: rt.scatter_reduce(rt.copy(values), positions, values, "median"),
        lambda: rt.scatter_reduce(rt.copy(values), positions, values, "mean"),
    ):
        with pytest.raises(InvalidArgumentError, match="is not known; use one of"):
            call()


def test_reductions_of_int64_are_exact(rt: Runtime) -> None:
    values = rt.asarray([BIG, 1, BIG + 2])
    check(rt, rt.reduce(values, "sum"), [2 * BIG + 3], "int64")
    check(rt, rt.reduce(values, "max"), [BIG + 2], "int64")
    check(rt, rt.segment_reduce(values, rt.asarray([0, 2, 3]), "sum"), [BIG + 1, BIG + 2], "int64")
    check(rt, rt.segment_reduce(values, rt.asarray([0, 1, 3]), "max"), [BIG, BIG + 2], "int64")
    positions = rt.asarray([0, 1, 0])
    check(rt, rt.scatter_reduce(rt.asarray([1, 1]), positions, values, "sum"), [2 * BIG + 3, 2], "int64")
    check(rt, rt.scatter_reduce(rt.asarray([0, BIG]), positions, values, "min"), [0, 1], "int64")


def test_sums_wrap_in_their_own_type(rt: Runtime) -> None:
    values, wrapped = rt.full(2, 2**31 - 1, "int32"), -2
    check(rt, rt.reduce(values, "sum"), [wrapped], "int32")
    check(rt, rt.segment_reduce(values, rt.asarray([0, 2]), "sum"), [wrapped], "int32")
    check(rt, rt.scatter_reduce(rt.full(1, 0, "int32"), rt.asarray([0, 0]), values, "sum"), [wrapped], "int32")


@covers("segment_reduce")
@pytest.mark.parametrize(("op", "dtype"), ALLOWED)
@pytest.mark.parametrize("offset_dtype", INTEGERS)
@pytest.mark.parametrize(
    "offsets",
    [[0, 2, 2, 5, 7], [0, 7], [0, 0, 0], [0], [1, 4, 6], [7, 7], [0, 1, 2, 3, 4, 5, 6, 7], [2, 2, 7, 7]],
)
def test_segment_reduce(rt: Runtime, op: str, dtype: str, offsets: list[int], offset_dtype: str) -> None:
    array = example(dtype)
    expected = [plain_reduction(array[i:j], op) for i, j in pairwise(offsets)]
    result = rt.segment_reduce(rt.asarray(array), rt.asarray(offsets, offset_dtype), op)
    check(rt, result, expected, "int64" if op == "count" else dtype)


@pytest.mark.parametrize(("op", "dtype"), ALLOWED)
def test_segment_reduce_of_nothing(rt: Runtime, op: str, dtype: str) -> None:
    result_dtype = "int64" if op == "count" else dtype
    empty = rt.asarray([], dtype)
    check(rt, rt.segment_reduce(empty, rt.asarray([0, 0, 0]), op), [identity(op, dtype)] * 2, result_dtype)
    check(rt, rt.segment_reduce(empty, rt.asarray([0]), op), [], result_dtype)


@pytest.mark.parametrize(("op", "dtype"), ALLOWED)
@pytest.mark.parametrize("offsets", [[0, 8], [-1, 7], [8, 8]])
def test_segment_reduce_outside(host_rt: Runtime, op: str, dtype: str, offsets: list[int]) -> None:
    with pytest.raises(OutOfRangeError, match=f"offsets run from {offsets[0]} to {offsets[1]} beyond the 7 values"):
        host_rt.segment_reduce(host_rt.asarray(example(dtype)), host_rt.asarray(offsets), op)


SCATTERED = [(op, dtype) for op, dtype in ALLOWED if op != "mean"]


@covers("scatter_reduce")
@pytest.mark.parametrize(("op", "dtype"), SCATTERED)
@pytest.mark.parametrize("position_dtype", INTEGERS)
def test_scatter_reduce(rt: Runtime, op: str, dtype: str, position_dtype: str) -> None:
    array, positions = example(dtype), np.array([4, 0, 2, 2, 0, 4, 1], position_dtype)
    result_dtype = "int64" if op == "count" else dtype
    into = np.array([0, 1, 1, 0, 1], result_dtype)
    expected = []
    for place, start in enumerate(into):
        mine = array[positions == place]
        expected.append(start + len(mine) if op == "count" else plain_reduction(np.array([start, *mine], dtype), op))
    result = rt.scatter_reduce(rt.asarray(into.copy()), rt.asarray(positions), rt.asarray(array), op)
    check(rt, result, expected, result_dtype)
    nothing = rt.scatter_reduce(rt.asarray(into.copy()), rt.asarray(positions[:0]), rt.asarray(array[:0]), op)
    check(rt, nothing, into, result_dtype)


@pytest.mark.parametrize("positions", OUTSIDE)
@pytest.mark.parametrize("op", ["min", "sum", "count"])
def test_scatter_reduce_outside(rt: Runtime, op: str, positions: list[int]) -> None:
    values = rt.full(len(positions), 1, "int64")
    with pytest.raises(OutOfRangeError):
        rt.scatter_reduce(rt.full(7, 0, "int64"), rt.asarray(positions), values, op)


@pytest.mark.parametrize("op", ["max", "count"])
@pytest.mark.parametrize("count", [1, 4])
def test_scatter_reduce_wants_one_value_per_position(rt: Runtime, op: str, count: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{count} values for 3 positions"):
        rt.scatter_reduce(rt.full(7, 0, "int64"), rt.asarray([0, 1, 2]), rt.full(count, 1, "int64"), op)


def test_scatter_reduce_wants_one_type(rt: Runtime) -> None:
    with pytest.raises(InvalidArgumentError, match="values of float64 cannot be reduced into int64"):
        rt.scatter_reduce(rt.full(2, 0, "int64"), rt.asarray([0]), rt.asarray([0.5]), "sum")
    check(rt, rt.scatter_reduce(rt.full(2, 0, "int64"), rt.asarray([0]), rt.asarray([0.5]), "count"), [1, 0], "int64")


def test_scatter_reduce_leaves_read_only_memory_alone(rt: Runtime) -> None:
    array = np.zeros(2)
    array.setflags(write=False)
    check(rt, rt.scatter_reduce(rt.asarray(array), rt.asarray([0]), rt.asarray([2.0]), "sum"), [2, 0], "float64")
    assert array.tolist() == [0, 0]


@settings(deadline=None)  # JAX compiles when it meets a new shape
@given(data=st.data())
@pytest.mark.parametrize("name", RUNTIMES)
def test_segment_and_scatter_agree_with_python(name: str, data: st.DataObject) -> None:
    rt = get(name)
    op, dtype = data.draw(st.sampled_from([pair for pair in SCATTERED if pair[1] in ("bool", "int32", "int64")]))
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=8))
    values = np.array(
        data.draw(st.lists(st.integers(low, high), min_size=sum(sizes), max_size=sum(sizes))), np.int64
    ).astype(dtype)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    expected = [plain_reduction(values[i:j], op) for i, j in pairwise(offsets)]
    result_dtype = "int64" if op == "count" else dtype
    check(rt, rt.segment_reduce(rt.asarray(values), rt.asarray(offsets), op), expected, result_dtype)
    order = np.array(data.draw(st.permutations(range(len(values)))), np.int64)
    owners = np.repeat(np.arange(len(sizes)), sizes)[order]
    start = rt.full(len(sizes), identity(op, dtype), result_dtype)
    check(rt, rt.scatter_reduce(start, rt.asarray(owners), rt.asarray(values[order]), op), expected, result_dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["min", "max", "sum", "mean"])
def test_many_floats_with_nan(rt: Runtime, op: str, dtype: str) -> None:
    """Long enough for the vectorised and threaded paths; eighths add up exactly in any order."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 60, 2000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = (rng.integers(-80, 80, offsets[-1]) / 8).astype(dtype)
    values[rng.integers(0, values.size, 300)] = NAN
    values[rng.integers(0, values.size, 300)] = INF
    expected = [plain_reduction(values[i:j], op) for i, j in pairwise(offsets)]
    check(rt, rt.segment_reduce(rt.asarray(values), rt.asarray(offsets), op), expected, dtype)
    check(rt, rt.reduce(rt.asarray(values), op), [NAN], dtype)
    if op != "mean":
        start, owners = rt.full(2000, identity(op, dtype), dtype), np.repeat(np.arange(2000), sizes)
        check(rt, rt.scatter_reduce(start, rt.asarray(owners), rt.asarray(values), op), expected, dtype)
