"""Index types and the identities of reductions."""

from __future__ import annotations

import numpy as np
import pytest

from tgraph.dtypes import (
    IDEMPOTENT_REDUCTIONS,
    OFFSET_DTYPE,
    REDUCTIONS,
    check_reduction,
    identity,
    index_dtype,
    reduced_dtype,
)
from tgraph.errors import InvalidArgumentError

UFUNCS = {"min": np.minimum, "max": np.maximum, "sum": np.add, "any": np.logical_or}


def test_index_types() -> None:
    assert index_dtype(0) == index_dtype(2**31 - 1) == np.int32
    assert index_dtype(2**31) == index_dtype(2**40) == np.int64
    assert np.dtype("int64") == OFFSET_DTYPE


NUMBERS = ["int8", "int32", "int64", "float16", "float32", "float64"]
PAIRS = [(op, dtype) for op in ("min", "max", "sum") for dtype in NUMBERS] + [
    (op, "bool") for op in ("min", "max", "any")
]


@pytest.mark.parametrize(("op", "dtype"), PAIRS)
def test_an_identity_changes_nothing(op: str, dtype: str) -> None:
    if dtype == "bool":
        samples = np.array([True, False])
    else:
        info = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
        samples = np.array([info.min, 0, 1, info.max], dtype)
    neutral = np.array(identity(op, dtype), dtype)
    assert UFUNCS[op](samples, neutral).tolist() == samples.tolist()
    assert type(identity(op, dtype)) in (bool, int, float)


@pytest.mark.parametrize(
    ("op", "dtype", "value"),
    [
        ("count", "float32", 0), ("count", "bool", 0), ("mean", "float64", 0.0), ("any", "bool", False),
        ("min", "int64", 2**63 - 1), ("max", "int64", -(2**63)), ("min", "bool", True), ("max", "bool", False),
        ("min", "float32", np.inf), ("max", "float64", -np.inf), ("min", "uint8", 255), ("max", "uint8", 0),
    ],
)  # fmt: skip
def test_identities(op: str, dtype: str, value: object) -> None:
    assert identity(op, dtype) == value


def test_reductions_keep_their_type() -> None:
    assert reduced_dtype("sum", "int32") == np.int32
    assert reduced_dtype("min", np.float32) == np.float32
    assert reduced_dtype("mean", "float32") == np.float32
    assert reduced_dtype("count", "float32") == np.int64
    assert reduced_dtype("any", bool) == np.bool_


@pytest.mark.parametrize(
    ("op", "dtype", "message"),
    [
        ("mean", "int64", "reduce='mean' needs float values, not int64; convert the messages to float64"),
        ("mean", "bool", "reduce='mean' needs float values, not bool"),
        ("any", "int32", "reduce='any' needs bool values, not int32"),
        ("sum", "bool", "reduce='sum' needs numbers, not bool"),
        ("median", "float64", "reduce='median' is not known; use one of 'min', 'max'"),
    ],
)
def test_reductions_that_make_no_sense(op: str, dtype: str, message: str) -> None:
    for call in (check_reduction, identity, reduced_dtype):
        with pytest.raises(InvalidArgumentError, match=message):
            call(op, dtype)


def test_idempotent_reductions_are_reductions() -> None:
    assert set(IDEMPOTENT_REDUCTIONS) < set(REDUCTIONS)
    for op in IDEMPOTENT_REDUCTIONS:
        assert UFUNCS[op](True, True) == np.True_
