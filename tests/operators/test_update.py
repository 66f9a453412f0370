from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.operators import changed_mask, update

FLOATS = st.floats(width=64) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0])


def tensors(name: str, *columns: list[Any]) -> tuple[Any, ...]:
    runtime = tg.runtime.get(name)
    return runtime, *(runtime.asarray(np.asarray(column)) for column in columns)


def test_example(runtime_name: str) -> None:
    runtime, values, incoming = tensors(runtime_name, [5, 1, 9], [7, 1, 2])
    fields = {"value": values}
    new, changed = update(runtime, fields, lambda: tg.minimum(values, incoming), "value")
    assert new["value"].tolist() == [5, 1, 2]
    assert changed.tolist() == [False, False, True]
    assert fields["value"].tolist() == [5, 1, 9]


def test_a_vertex_changes_where_any_field_does(runtime_name: str) -> None:
    runtime, left, right = tensors(runtime_name, [1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0])
    _, new_left, new_right = tensors(runtime_name, [1, 7, 3, 8], [1.0, 2.0, 9.0, 9.0])
    fields = {"left": left, "right": right}
    new, changed = update(runtime, fields, lambda: {"right": new_right, "left": new_left}, "left")
    assert changed.tolist() == [False, True, True, True]
    assert new["left"].tolist() == [1, 7, 3, 8]
    assert new["right"].tolist() == [1.0, 2.0, 9.0, 9.0]


def test_a_field_keeps_its_type(runtime_name: str) -> None:
    runtime, old, new = tensors(runtime_name, np.asarray([1, 2], np.int32), np.asarray([1.0, 5.0]))
    fields, changed = update(runtime, {"value": old}, lambda: new, "value")
    assert runtime.dtype(fields["value"]) == np.int32
    assert changed.tolist() == [False, True]


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(FLOATS, FLOATS)), name=st.sampled_from(["numpy", "torch"]))
def test_nan_equals_nan(pairs: list[tuple[float, float]], name: str) -> None:
    _, old, new = tensors(
        name, np.asarray([old for old, _ in pairs], float), np.asarray([new for _, new in pairs], float)
    )
    expected = [old != new and not (math.isnan(old) and math.isnan(new)) for old, new in pairs]
    assert changed_mask(old, new).tolist() == expected


def test_changed_mask_of_nan(runtime_name: str) -> None:
    _, old, new = tensors(runtime_name, [math.nan, math.nan, 1.0, 1.0], [math.nan, 1.0, math.nan, 1.0])
    assert changed_mask(old, new).tolist() == [False, True, True, False]
