"""Every primitive of the Protocol, on every runtime, against plain Python and NumPy.

Reductions are in `test_reductions`. The last tests compare the primitives that are covered with the Protocol's.
"""

from __future__ import annotations

import importlib
import inspect
import math
from typing import Any

import numpy as np
import pytest

from primitives import BIG, COVERED, DTYPES, FLOATS, INF, INTEGERS, NAN, OUTSIDE, check, covers, example
from runtimes import PARTNERS, RUNTIMES, get
from tgraph import runtime as runtimes
from tgraph.errors import InvalidArgumentError, OutOfRangeError
from tgraph.runtime import Runtime


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
    importlib.import_module("test_reductions")
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
