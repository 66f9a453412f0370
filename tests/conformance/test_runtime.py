"""Every primitive of the Protocol, on every runtime, against plain Python and NumPy.

A test that exercises a primitive carries `@covers("name")`; the last tests compare these names with the Protocol's.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtimes import PARTNERS, RUNTIMES, get
from tgraph import runtime as runtimes
from tgraph.dtypes import REDUCTIONS, identity
from tgraph.errors import InvalidArgumentError, OutOfRangeError
from tgraph.runtime import Runtime, Tensor

DTYPES = ("bool", "int32", "int64", "float32", "float64")
INTEGERS = ("int32", "int64")
FLOATS = ("float32", "float64")
BIG = 2**53 + 1  # the first integer that float64 cannot hold
NAN, INF = math.nan, math.inf

COVERED: set[str] = set()
Test = TypeVar("Test", bound=Callable[..., None])


def covers(*names: str) -> Callable[[Test], Test]:
    COVERED.update(names)
    return lambda test: test


@pytest.fixture(params=RUNTIMES)
def rt(request: pytest.FixtureRequest) -> Runtime:
    return get(request.param)


@pytest.fixture
def host_rt(rt: Runtime) -> Runtime:
    """A runtime on the CPU: it shares memory, and looks at what it is given; a device would have to be waited for."""
    if rt.device != "cpu":
        pytest.skip("on the CPU only, as the Protocol says")
    return rt


def check(rt: Runtime, result: Tensor, expected: Any, dtype: str) -> None:
    """Compare values, shape and type; NaN equals NaN. The result must be the runtime's own tensor."""
    assert runtimes.of(result) is rt
    array = rt.to_numpy(result)
    assert array.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(array, np.asarray(expected, dtype))


def example(dtype: str) -> np.ndarray[Any, Any]:
    """Seven values with duplicates, the extremes, and NaN and infinities where the type has them."""
    if dtype == "bool":
        return np.array([True, False, True, True, False, False, True])
    if dtype in FLOATS:
        return np.array([2.5, -INF, NAN, 2.5, INF, -0.5, 0.0], dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array([3, high, -1, 3, low, 0, high - 1], dtype)


# --- making, moving, reading ------------------------------------------------------------------------------------------
@covers("asarray", "to_numpy", "dtype")
@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_and_back(rt: Runtime, dtype: str) -> None:
    array = example(dtype)
    tensor = rt.asarray(array)
    assert rt.dtype(tensor) == np.dtype(dtype)
    check(rt, tensor, array, dtype)
    if rt.device != "cpu":
        return
    assert np.shares_memory(rt.to_numpy(tensor), rt.to_numpy(tensor))
    is_lent = np.shares_memory(rt.to_numpy(tensor), array)
    assert is_lent == rt.to_numpy(tensor).flags.writeable, "only tensors that may change share what others may change"


@covers("share")
@pytest.mark.parametrize("other", PARTNERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_share(rt: Runtime, other: str, dtype: str) -> None:
    lender = get(other)
    check(rt, rt.share(lender.asarray(example(dtype))), example(dtype), dtype)
    check(rt, rt.share(lender.asarray(example(dtype)[:0])), [], dtype)


@pytest.mark.parametrize("other", [name for name in PARTNERS if name not in ("numpy", "toy", "fake")])
def test_sharing_copies_nothing(host_rt: Runtime, other: str) -> None:
    """Except from NumPy's memory, which need not begin where JAX and TensorFlow want it to."""
    lender = get(other)
    lent = lender.copy(lender.asarray(np.arange(5000)))
    shared = host_rt.share(lent)
    assert np.shares_memory(host_rt.to_numpy(shared), lender.to_numpy(lent))


@pytest.mark.parametrize(
    ("data", "dtype"), [([1, 2], "int64"), ([1.5, 2], "float64"), ([True, False], "bool"), ((3,), "int64")]
)
def test_asarray_of_lists_has_the_types_of_numpy(rt: Runtime, data: Any, dtype: str) -> None:
    check(rt, rt.asarray(data), data, dtype)


def test_asarray_with_another_type(rt: Runtime) -> None:
    check(rt, rt.asarray([1, 0, 2], "float32"), [1, 0, 2], "float32")
    check(rt, rt.asarray(np.array([1.0, 2.0]), np.int32), [1, 2], "int32")
    check(rt, rt.asarray([], "int64"), [], "int64")
    check(rt, rt.asarray([BIG, -BIG]), [BIG, -BIG], "int64")


def test_asarray_of_awkward_arrays(rt: Runtime) -> None:
    array = np.arange(6)
    check(rt, rt.asarray(array[::-1]), [5, 4, 3, 2, 1, 0], "int64")
    check(rt, rt.asarray(array[::2]), [0, 2, 4], "int64")
    check(rt, rt.asarray(array.astype(">i8")) + 0, range(6), "int64")
    array.setflags(write=False)
    check(rt, rt.asarray(array), range(6), "int64")


@pytest.mark.parametrize("other", PARTNERS)
def test_asarray_takes_tensors_of_every_runtime(rt: Runtime, other: str) -> None:
    check(rt, rt.asarray(get(other).asarray([1.5, NAN])), [1.5, NAN], "float64")


@pytest.mark.parametrize("dtype", ["complex64", "<U3", "object"])
@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "numpy"])
def test_types_without_tensors_are_refused(name: str, dtype: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"has no tensor in {get(name).name}"):
        get(name).asarray(np.zeros(2, dtype))


@covers("full")
@pytest.mark.parametrize("dtype", DTYPES)
def test_full(rt: Runtime, dtype: str) -> None:
    check(rt, rt.full(3, 1, dtype), [1, 1, 1], dtype)
    check(rt, rt.full(0, 1, dtype), [], dtype)


def test_full_of_extremes(rt: Runtime) -> None:
    check(rt, rt.full(2, -(2**63), "int64"), [-(2**63)] * 2, "int64")
    check(rt, rt.full(2, INF, "float32"), [INF] * 2, "float32")
    check(rt, rt.full(1, NAN, "float64"), [NAN], "float64")


@covers("arange")
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("start", "stop"), [(0, 4), (3, 5), (-2, 2), (3, 3), (5, 3)])
def test_arange(rt: Runtime, start: int, stop: int, dtype: str) -> None:
    check(rt, rt.arange(start, stop, dtype), range(start, stop), dtype)


def test_arange_far_out(rt: Runtime) -> None:
    check(rt, rt.arange(BIG, BIG + 3, "int64"), [BIG, BIG + 1, BIG + 2], "int64")


@covers("astype")
@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(rt: Runtime, dtype: str) -> None:
    check(rt, rt.astype(rt.asarray([0, 1, 7]), dtype), np.array([0, 1, 7]).astype(dtype), dtype)
    check(rt, rt.astype(rt.asarray([0.0, 1.0, 2.9]), dtype), np.array([0.0, 1.0, 2.9]).astype(dtype), dtype)
    check(rt, rt.astype(rt.asarray([False, True]), dtype), np.array([0, 1]).astype(dtype), dtype)


@covers("copy")
def test_copy_shares_no_memory(rt: Runtime) -> None:
    tensor = rt.asarray([1, 2, 3])
    other = rt.copy(tensor)
    assert not np.shares_memory(rt.to_numpy(tensor), rt.to_numpy(other))
    other = rt.index_put(other, rt.asarray([0]), 9)
    check(rt, tensor, [1, 2, 3], "int64")
    check(rt, other, [9, 2, 3], "int64")


@covers("has_own_memory")
def test_own_memory_is_nobody_elses(rt: Runtime) -> None:
    tensor = rt.full(4, 1.0, "float64")
    assert rt.has_own_memory(tensor)
    view = tensor[:2]
    if rt.to_numpy(view).flags.writeable:
        assert not rt.has_own_memory(view)
    array = np.ones(3)
    lent = rt.asarray(array)
    if lent is not array and np.shares_memory(rt.to_numpy(lent), array):
        assert not rt.has_own_memory(lent)


@pytest.mark.parametrize("method", ["index_put", "scatter_reduce"])
def test_tensors_that_cannot_be_written_are_not_consumed(rt: Runtime, method: str) -> None:
    tensor = rt.asarray([1, 2, 3])
    if rt.to_numpy(tensor).flags.writeable:
        pytest.skip(f"tensors of {rt.name} are written in place")
    extra = () if method == "index_put" else ("sum",)
    check(rt, getattr(rt, method)(tensor, rt.asarray([0]), rt.asarray([8]), *extra)[1:], [2, 3], "int64")
    check(rt, tensor, [1, 2, 3], "int64")


@covers("item")
@pytest.mark.parametrize(("value", "kind"), [(True, bool), (BIG, int), (-1.5, float)])
def test_item_is_a_python_scalar(rt: Runtime, value: Any, kind: type) -> None:
    result = rt.item(rt.asarray([value]))
    assert type(result) is kind
    assert result == value


# --- selecting --------------------------------------------------------------------------------------------------------
OUTSIDE = [[-1], [7], [0, 7], [-8], [2**40]]


@covers("index_select")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("position_dtype", INTEGERS)
def test_index_select(rt: Runtime, dtype: str, position_dtype: str) -> None:
    array, positions = example(dtype), np.array([6, 0, 0, 3, 2], position_dtype)
    check(rt, rt.index_select(rt.asarray(array), rt.asarray(positions)), array[positions], dtype)
    check(rt, rt.index_select(rt.asarray(array), rt.asarray(positions[:0])), [], dtype)


@pytest.mark.parametrize("positions", OUTSIDE)
def test_index_select_outside(rt: Runtime, positions: list[int]) -> None:
    with pytest.raises(OutOfRangeError):
        rt.index_select(rt.asarray(example("int64")), rt.asarray(positions))


def test_index_select_from_an_empty_tensor(rt: Runtime) -> None:
    empty = rt.asarray([], "float32")
    check(rt, rt.index_select(empty, rt.asarray([], "int64")), [], "float32")
    with pytest.raises(IndexError):
        rt.index_select(empty, rt.asarray([0]))


def test_index_select_takes_rows(rt: Runtime) -> None:
    check(rt, rt.index_select(rt.asarray([[1, 2], [3, 4]]), rt.asarray([1, 1])), [[3, 4], [3, 4]], "int64")


@covers("mask_select")
@pytest.mark.parametrize("dtype", DTYPES)
def test_mask_select(rt: Runtime, dtype: str) -> None:
    array, mask = example(dtype), np.array([1, 0, 1, 0, 1, 0, 1], bool)
    check(rt, rt.mask_select(rt.asarray(array), rt.asarray(mask)), array[mask], dtype)
    check(rt, rt.mask_select(rt.asarray(array), rt.asarray(mask & False)), [], dtype)
    check(rt, rt.mask_select(rt.asarray(array[:0]), rt.asarray(mask[:0])), [], dtype)


@pytest.mark.parametrize("size", [1, 6, 8])
def test_mask_select_with_a_mask_of_another_length(rt: Runtime, size: int) -> None:
    with pytest.raises(OutOfRangeError, match="the mask has"):
        rt.mask_select(rt.asarray(example("int64")), rt.full(size, True, "bool"))


@covers("nonzero")
def test_nonzero(rt: Runtime) -> None:
    check(rt, rt.nonzero(rt.asarray([False, True, True, False, True])), [1, 2, 4], "int64")
    check(rt, rt.nonzero(rt.asarray([False])), [], "int64")
    check(rt, rt.nonzero(rt.asarray([], "bool")), [], "int64")


@covers("index_put")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("position_dtype", INTEGERS)
def test_index_put(rt: Runtime, dtype: str, position_dtype: str) -> None:
    array = example(dtype)
    positions = np.array([5, 0, 2], position_dtype)
    values = array[[1, 2, 3]]
    expected = array.copy()
    expected[positions] = values
    check(rt, rt.index_put(rt.asarray(array.copy()), rt.asarray(positions), rt.asarray(values)), expected, dtype)
    expected[positions] = 1
    check(rt, rt.index_put(rt.asarray(array.copy()), rt.asarray(positions), 1), expected, dtype)
    check(rt, rt.index_put(rt.asarray(array.copy()), rt.asarray(positions[:0]), 1), array, dtype)


def test_index_put_converts_values_to_the_type_of_the_tensor(rt: Runtime) -> None:
    check(rt, rt.index_put(rt.full(3, 0, "int32"), rt.asarray([1]), rt.asarray([2.9])), [0, 2, 0], "int32")
    check(rt, rt.index_put(rt.full(2, 0, "int64"), rt.asarray([1]), BIG), [0, BIG], "int64")
    check(rt, rt.index_put(rt.full(2, 0, "int64"), rt.asarray([1]), np.int32(4)), [0, 4], "int64")


def test_index_put_with_a_position_twice_keeps_one_of_the_values(rt: Runtime) -> None:
    result = rt.to_numpy(rt.index_put(rt.full(2, 0, "int64"), rt.asarray([1, 1]), rt.asarray([5, 6])))
    assert result[0] == 0
    assert result[1] in (5, 6)


@pytest.mark.parametrize("positions", OUTSIDE)
def test_index_put_outside(rt: Runtime, positions: list[int]) -> None:
    with pytest.raises(OutOfRangeError):
        rt.index_put(rt.full(7, 0, "int64"), rt.asarray(positions), 1)


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_index_put_wants_one_value_per_position(rt: Runtime, count: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{count} values for 3 positions"):
        rt.index_put(rt.full(7, 0, "int64"), rt.asarray([0, 1, 2]), rt.full(count, 1, "int64"))


def test_index_put_leaves_read_only_memory_alone(rt: Runtime) -> None:
    array = np.arange(3)
    array.setflags(write=False)
    check(rt, rt.index_put(rt.asarray(array), rt.asarray([0]), 9), [9, 1, 2], "int64")
    assert array.tolist() == [0, 1, 2]


@covers("concatenate")
@pytest.mark.parametrize("dtype", DTYPES)
def test_concatenate(rt: Runtime, dtype: str) -> None:
    array = example(dtype)
    parts = [rt.asarray(array[:2]), rt.asarray(array[:0]), rt.asarray(array[2:])]
    check(rt, rt.concatenate(parts), array, dtype)
    check(rt, rt.concatenate(parts[1:2]), [], dtype)


# --- expanding and ordering -------------------------------------------------------------------------------------------
@covers("repeat_interleave")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count_dtype", INTEGERS)
def test_repeat_interleave(rt: Runtime, dtype: str, count_dtype: str) -> None:
    array, counts = example(dtype), np.array([0, 3, 1, 0, 0, 2, 1], count_dtype)
    expected = [value for value, count in zip(array, counts, strict=True) for _ in range(count)]
    check(rt, rt.repeat_interleave(rt.asarray(array), rt.asarray(counts), 7), expected, dtype)
    check(rt, rt.repeat_interleave(rt.asarray(array), rt.asarray(counts * 0), 0), [], dtype)
    check(rt, rt.repeat_interleave(rt.asarray(array[:0]), rt.asarray(counts[:0]), 0), [], dtype)


@pytest.mark.parametrize(("counts", "total"), [([1, 2], 4), ([1, 2], 2), ([1, -1], 0), ([1, 2, 3], 6)])
def test_repeat_interleave_with_wrong_counts(host_rt: Runtime, counts: list[int], total: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"total={total} and the counts do not fit"):
        host_rt.repeat_interleave(host_rt.asarray([5, 6]), host_rt.asarray(counts), total)


@covers("cumsum")
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
def test_cumsum_of_integers_is_int64(rt: Runtime, dtype: str) -> None:
    check(rt, rt.cumsum(rt.asarray([1, 0, 1, 1], dtype)), [1, 1, 2, 3], "int64")
    check(rt, rt.cumsum(rt.asarray([], dtype)), [], "int64")


def test_cumsum_is_exact_beyond_32_and_53_bits(rt: Runtime) -> None:
    check(rt, rt.cumsum(rt.full(3, 2**31 - 1, "int32")), [2**31 - 1, 2**32 - 2, 3 * 2**31 - 3], "int64")
    check(rt, rt.cumsum(rt.asarray([2**53, 1, 1])), [2**53, 2**53 + 1, 2**53 + 2], "int64")


@pytest.mark.parametrize("dtype", FLOATS)
def test_cumsum_of_floats(rt: Runtime, dtype: str) -> None:
    check(rt, rt.cumsum(rt.asarray([0.5, 1, -2], dtype)), [0.5, 1.5, -0.5], dtype)
    check(rt, rt.cumsum(rt.asarray([INF, 1, -INF, 0], dtype)), [INF, INF, NAN, NAN], dtype)


@covers("searchsorted")
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_searchsorted_on_both_sides(rt: Runtime, dtype: str) -> None:
    ascending, values = rt.asarray([1, 3, 3, 3, 8], dtype), rt.asarray([0, 1, 3, 4, 8, 9], dtype)
    check(rt, rt.searchsorted(ascending, values), [0, 0, 1, 4, 4, 5], "int64")
    check(rt, rt.searchsorted(ascending, values, "left"), [0, 0, 1, 4, 4, 5], "int64")
    check(rt, rt.searchsorted(ascending, values, "right"), [0, 1, 4, 4, 5, 5], "int64")
    check(rt, rt.searchsorted(ascending[:0], values), [0] * 6, "int64")
    check(rt, rt.searchsorted(ascending, values[:0]), [], "int64")


def test_searchsorted_details(rt: Runtime) -> None:
    check(rt, rt.searchsorted(rt.asarray([BIG - 1, BIG + 1]), rt.asarray([BIG])), [1], "int64")
    check(rt, rt.searchsorted(rt.asarray([1, 5]), rt.asarray([1, 5], "int32"), "right"), [1, 2], "int64")
    check(rt, rt.searchsorted(rt.asarray([-INF, 0.0, INF]), rt.asarray([INF, -INF])), [2, 0], "int64")
    with pytest.raises(InvalidArgumentError, match="side='middle' is not known"):
        rt.searchsorted(rt.asarray([1]), rt.asarray([1]), "middle")


@covers("sort", "argsort")
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_argsort(rt: Runtime, dtype: str) -> None:
    array = example(dtype)
    check(rt, rt.sort(rt.asarray(array.copy())), np.sort(array), dtype)
    check(rt, rt.argsort(rt.asarray(array)), np.argsort(array, kind="stable"), "int64")
    check(rt, rt.sort(rt.asarray(array[:0])), [], dtype)
    check(rt, rt.argsort(rt.asarray(array[:0])), [], "int64")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_argsort_is_stable(rt: Runtime, dtype: str) -> None:
    array = (np.arange(5000) * 7919 % 5).astype(dtype)
    expected = sorted(range(5000), key=lambda i: array[i])
    check(rt, rt.argsort(rt.asarray(array)), expected, "int64")


def test_sort_leaves_its_argument_alone(rt: Runtime) -> None:
    tensor = rt.asarray([3, 1, 2])
    rt.sort(tensor)
    rt.unique(tensor)
    check(rt, tensor, [3, 1, 2], "int64")


@covers("unique")
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
def test_unique(rt: Runtime, dtype: str) -> None:
    array = example(dtype)
    check(rt, rt.unique(rt.asarray(array)), sorted(set(array.tolist())), dtype)
    check(rt, rt.unique(rt.asarray(array[:0])), [], dtype)
    check(rt, rt.unique(rt.asarray(array[:1])), array[:1], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unique_of_floats_keeps_every_nan(rt: Runtime, dtype: str) -> None:
    tensor = rt.asarray([2, NAN, -INF, 2, NAN, INF], dtype)
    check(rt, rt.unique(tensor), [-INF, 2, INF, NAN, NAN], dtype)


def test_unique_beyond_53_bits(rt: Runtime) -> None:
    check(rt, rt.unique(rt.asarray([BIG, BIG - 1, BIG])), [BIG - 1, BIG], "int64")


# --- reducing ---------------------------------------------------------------------------------------------------------
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


# --- element-wise -----------------------------------------------------------------------------------------------------
@covers("where")
@pytest.mark.parametrize("dtype", DTYPES)
def test_where(rt: Runtime, dtype: str) -> None:
    array, mask = example(dtype), np.array([1, 0, 1, 0, 0, 1, 1], bool)
    other = array[::-1].copy()
    result = rt.where(rt.asarray(mask), rt.asarray(array), rt.asarray(other))
    check(rt, result, [a if m else b for m, a, b in zip(mask, array, other, strict=True)], dtype)
    check(rt, rt.where(rt.asarray(mask[:0]), rt.asarray(array[:0]), rt.asarray(other[:0])), [], dtype)


SCALARS = [("int32", 2, "int32"), ("int64", 1.5, "float64"), ("float32", 1.5, "float32"), ("float64", 1, "float64")]


@covers("minimum", "maximum")
@pytest.mark.parametrize(("dtype", "scalar", "result_dtype"), SCALARS)
def test_scalars_meet_tensors_as_in_numpy(rt: Runtime, dtype: str, scalar: Any, result_dtype: str) -> None:
    tensor, mask = rt.asarray([0, 1, 2, 3], dtype), rt.asarray([True, False, True, False])
    for minimum in (rt.minimum(tensor, scalar), rt.minimum(scalar, tensor)):
        check(rt, minimum, [min(value, scalar) for value in range(4)], result_dtype)
    for maximum in (rt.maximum(tensor, scalar), rt.maximum(scalar, tensor)):
        check(rt, maximum, [max(value, scalar) for value in range(4)], result_dtype)
    check(rt, rt.where(mask, tensor, scalar), [0, scalar, 2, scalar], result_dtype)
    check(rt, rt.where(mask, scalar, tensor), [scalar, 1, scalar, 3], result_dtype)


def test_where_of_two_scalars(rt: Runtime) -> None:
    mask = rt.asarray([True, False])
    check(rt, rt.where(mask, 1, 0), [1, 0], "int64")
    check(rt, rt.where(mask, 1.5, 0), [1.5, 0], "float64")
    check(rt, rt.where(mask, True, False), [True, False], "bool")
    check(rt, rt.where(mask, BIG, INF), [float(BIG), INF], "float64")


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [("int32", "int64", "int64"), ("int64", "float32", "float64"), ("float32", "float64", "float64")],
)
def test_types_meet_as_in_numpy(rt: Runtime, left: str, right: str, both: str) -> None:
    a, b = rt.asarray([1, 5], left), rt.asarray([4, 2], right)
    check(rt, rt.minimum(a, b), [1, 2], both)
    check(rt, rt.maximum(a, b), [4, 5], both)
    check(rt, rt.where(rt.asarray([True, False]), a, b), [1, 2], both)


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum_and_maximum_pass_nan_on(rt: Runtime, dtype: str) -> None:
    left, right = rt.asarray([NAN, 1, INF, -INF], dtype), rt.asarray([1, NAN, 2, 2], dtype)
    check(rt, rt.minimum(left, right), [NAN, NAN, 2, -INF], dtype)
    check(rt, rt.maximum(left, right), [NAN, NAN, INF, 2], dtype)
    check(rt, rt.minimum(left, NAN), [NAN] * 4, dtype)


def test_minimum_and_maximum_of_large_integers(rt: Runtime) -> None:
    check(rt, rt.minimum(rt.asarray([BIG]), rt.asarray([BIG + 1])), [BIG], "int64")
    check(rt, rt.maximum(rt.asarray([BIG]), BIG + 1), [BIG + 1], "int64")


@covers("absolute")
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_absolute(rt: Runtime, dtype: str) -> None:
    check(rt, rt.absolute(rt.asarray([-3, 0, 4], dtype)), [3, 0, 4], dtype)
    check(rt, rt.absolute(rt.asarray([], dtype)), [], dtype)


@covers("sqrt", "exp", "log")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sqrt", "exp", "log"])
def test_roots_exponentials_logarithms(rt: Runtime, name: str, dtype: str) -> None:
    array = np.array([1, 4, 9]).astype(dtype)
    result = getattr(rt, name)(rt.asarray(array))
    assert rt.dtype(result) == np.dtype(dtype if dtype in FLOATS else "float64")
    expected = [getattr(math, name)(value) for value in array.tolist()]
    np.testing.assert_allclose(rt.to_numpy(result), expected, rtol=1e-6 if dtype == "float32" else 1e-14)
    assert not len(getattr(rt, name)(rt.asarray(array[:0])))


@pytest.mark.parametrize("dtype", FLOATS)
def test_edges_of_their_domains(rt: Runtime, dtype: str) -> None:
    check(rt, rt.sqrt(rt.asarray([-1, 0, INF, NAN], dtype)), [NAN, 0, INF, NAN], dtype)
    check(rt, rt.exp(rt.asarray([-INF, 0, INF, NAN, 1e5], dtype)), [0, 1, INF, NAN, INF], dtype)
    check(rt, rt.log(rt.asarray([-1, 0, 1, INF, NAN], dtype)), [NAN, -INF, 0, INF, NAN], dtype)


# --- completeness -----------------------------------------------------------------------------------------------------
def protocol_methods() -> dict[str, inspect.Signature]:
    members = inspect.getmembers(Runtime, inspect.isfunction)
    return {name: inspect.signature(member) for name, member in members if not name.startswith("_")}


def test_every_primitive_is_exercised() -> None:
    assert set(protocol_methods()) == COVERED


def test_every_runtime_defines_every_primitive_with_the_same_parameters(rt: Runtime) -> None:
    for name, signature in protocol_methods().items():
        defined = getattr(type(rt), name, None)
        assert defined is not None, f"{rt.name} lacks {name}"
        assert list(inspect.signature(defined).parameters) == list(signature.parameters), name
    offered = {name for name in dir(type(rt)) if not name.startswith("_")} - {"name", "device"}
    assert offered == set(protocol_methods()), "a runtime offers nothing that the others lack"


def test_finding_runtimes(rt: Runtime) -> None:
    assert runtimes.get(rt.name, rt.device) is rt
    assert runtimes.of(rt.asarray([1])) is rt
    assert runtimes.is_tensor(rt.asarray([1]))
    for value in (1, 1.5, None, [1], "a", np.float64(1.0)):
        assert not runtimes.is_tensor(value)
    with pytest.raises(InvalidArgumentError, match="a list is not a tensor"):
        runtimes.of([1])
    with pytest.raises(InvalidArgumentError, match="runtime='abacus' is not known"):
        runtimes.get("abacus")
    with pytest.raises(InvalidArgumentError, match="device='nowhere'"):
        runtimes.get(rt.name, "nowhere")
