"""Kernels that read and fill Python objects: what they refuse, what they leave alive."""

from __future__ import annotations

import gc
import random
import sys
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from tgraph.kernels.cpu.python_objects import results
from tgraph.kernels.cpu.python_objects.results import ITEMS_ARE_KNOWN, fill_copy, fill_dict, fill_sets
from tgraph.kernels.cpu.python_objects.rows import DictRows, hashes_of

Rows = dict[Any, dict[Any, Any]]


def hashes(objects: list[Any]) -> np.ndarray:
    return np.array([hash(item) for item in objects], np.int64)


def addresses(objects: list[Any]) -> np.ndarray:
    return np.array([id(item) for item in objects], np.int64)


@pytest.mark.parametrize("kind", [int, str, lambda i: -i, lambda i: 2**80 + i, lambda i: "é" * i])
def test_rows_are_read_in_order(kind: Any) -> None:
    chance = random.Random(1)
    rows: Rows = {kind(i): {kind(chance.randrange(500)): {} for _ in range(i % 7)} for i in range(200)}
    read = DictRows(rows)
    assert read.offsets.tolist() == [0, *np.cumsum([len(row) for row in rows.values()]).tolist()]
    assert read.owners().tolist() == [id(owner) for owner in rows]
    found = hashes_of(read.keys())
    assert found is not None
    assert found.tolist() == [hash(key) for row in rows.values() for key in row]


def test_nothing_at_all() -> None:
    rows = DictRows({})
    numbers = rows.numbers("cost", 1)
    assert rows.offsets.tolist() == [0]
    assert rows.keys().size == 0
    assert numbers is not None
    assert numbers.size == 0
    assert fill_dict(addresses([]), hashes([]), np.empty(0, np.int64), np.empty(0)) == {}
    assert fill_sets(addresses([]), np.empty(0, np.int64), np.array([0])) == []


def test_rows_after_deletions() -> None:
    rows: Rows = {0: {i: {} for i in range(50)}}
    for i in range(0, 50, 3):
        del rows[0][i]
    assert hashes_of(DictRows(rows).keys()).tolist() == list(rows[0])  # type: ignore[union-attr]


def test_other_dictionaries_and_keys_are_refused() -> None:
    with pytest.raises(TypeError, match="plain"):
        DictRows({0: {}, 1: OrderedDict()})
    for key in (1.5, (1, 2), True, None, frozenset()):
        assert hashes_of(addresses([7, "a", key])) is None


@pytest.mark.parametrize(
    ("values", "as_floats", "expected"),
    [
        ([1, -1, 2**62], False, [1, -1, 2**62]),
        ([0.5, -1.0, float("inf")], False, [0.5, -1.0, float("inf")]),
        ([1, 0.5, -1], True, [1.0, 0.5, -1.0]),
        ([1, 2, 3], True, [1.0, 2.0, 3.0]),
        ([1, 0.5], False, None),
        ([0.5, 1], False, None),
        ([1, True], False, None),
        ([1.0, "2"], True, None),
        ([1, None], False, None),
        ([1, 2**63], False, None),
        ([1, 10**400], True, None),
    ],
)
def test_numbers(values: list[Any], as_floats: bool, expected: list[Any] | None) -> None:
    rows = DictRows({"a": dict(enumerate({"other": 7, "cost": value} for value in values))})
    found = rows.numbers("cost", 1, as_floats=as_floats)
    assert (None if found is None else found.tolist()) == expected
    if found is not None:
        assert found.dtype == (np.float64 if as_floats or isinstance(values[0], float) else np.int64)


def test_numbers_that_are_missing() -> None:
    rows = DictRows({"a": {1: {"cost": 2}, 2: {}}, "b": {3: {"price": 5}}})
    assert rows.numbers("cost", 9).tolist() == [2, 9, 9]  # type: ignore[union-attr]
    assert rows.numbers("cost", 0.5) is None
    assert rows.numbers("absent", 0.5).tolist() == [0.5] * 3  # type: ignore[union-attr]
    assert DictRows({"a": {1: OrderedDict(cost=1)}}).numbers("cost", 1) is None


@pytest.mark.parametrize(
    "values", [np.array([5, -7, 2**40]), np.array([0.1, -0.0, np.inf]), np.arange(3, dtype=np.int32)]
)
def test_dictionaries_are_filled(values: np.ndarray) -> None:
    names = ["a", (1, 2), 10**20]
    found = fill_dict(addresses(names), hashes(names), np.array([2, 0, 1], np.int32), values)
    expected = dict(zip([names[2], names[0], names[1]], values.tolist(), strict=True))
    assert found == expected
    assert list(found.items()) == list(expected.items())
    assert {type(value) for value in found.values()} == {type(values.tolist()[0])}


MANY = [
    1,
    2,
    5,
    6,
    200,
    50_000,
]  # keys: items of small and large dictionaries have places of different sizes before them


def test_keys_with_one_hash_are_told_apart() -> None:
    names = [-1, -2, *(i * (2**61 - 1) for i in range(1, 6))]  # the hash of -1 is -2, that of the others 0
    chosen = np.arange(len(names))
    found = fill_dict(addresses(names), hashes(names), chosen, chosen)
    assert found == {name: i for i, name in enumerate(names)}


@pytest.mark.skipif(not ITEMS_ARE_KNOWN, reason="it is not known where this Python keeps the items of a dictionary")
@pytest.mark.parametrize("kind", [int, str, lambda i: -7 * i, lambda i: (i,), lambda i: str(i) if i % 2 else i])
@pytest.mark.parametrize("count", MANY)
def test_copies_are_filled(count: int, kind: Any) -> None:
    names = [kind(i) for i in range(count)]
    random.Random(count).shuffle(names)
    blank: dict[Any, None] = dict.fromkeys(names)
    for values in (np.arange(count) * 7, np.arange(count, dtype=np.int32), np.linspace(0.0, 1.0, count)):
        found = fill_copy(blank, addresses(names), values)
        assert found is not None
        assert list(found.items()) == list(zip(names, values.tolist(), strict=True))
        assert {type(value) for value in found.values()} == {type(values.tolist()[0])}
        found["new"] = found.pop(names[0])  # it is a dictionary like any other
        assert found["new"] == values[0]
        assert len(found) == count
    assert set(blank.values()) == {None}


def test_copies_with_other_items_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a", "b", "c"]
    blank: dict[Any, None] = dict.fromkeys(names)
    assert fill_copy({}, addresses([]), np.empty(0)) is None
    assert fill_copy(blank, addresses(["b", "a", "c"]), np.ones(3)) is None  # not in this order
    assert fill_copy({**blank, "b": 5}, addresses(names), np.ones(3)) is None  # type: ignore[dict-item]
    del blank["b"]
    assert fill_copy(blank, addresses(names), np.ones(3)) is None
    assert blank == {"a": None, "c": None}
    monkeypatch.setattr(results, "ITEMS_ARE_KNOWN", False)
    assert fill_copy(dict.fromkeys(names), addresses(names), np.ones(3)) is None


class Unfriendly:
    """A key that says no when it is hashed the second time."""

    def __init__(self) -> None:
        self.calls = 0

    def __hash__(self) -> int:
        self.calls += 1
        if self.calls > 1:
            raise ValueError("not again")
        return 1


def test_a_key_that_cannot_be_hashed_leaves_no_exception() -> None:
    key = Unfriendly()
    hash(key)
    assert fill_sets(addresses([key]), np.array([0]), np.array([0, 1])) is None
    assert sys.exc_info() == (None, None, None)


def test_references_are_counted() -> None:
    names = [f"node {i}" for i in range(1000)]
    keys, order = addresses(names), np.arange(1000)
    before = [sys.getrefcount(name) for name in names]
    filled = fill_dict(keys, hashes(names), order, order * 1000), fill_sets(keys, order, np.array([0, 10, 1000]))
    assert [sys.getrefcount(name) for name in names] == [count + 2 for count in before]
    copied = fill_copy(dict.fromkeys(names), keys, order * 1000)
    references = sys.getrefcount(copied["node 5"]) if copied else 2
    assert references == 2
    del copied
    assert [sys.getrefcount(name) for name in names] == [count + 2 for count in before]
    assert filled[0] is not None
    references = sys.getrefcount(filled[0]["node 5"])
    assert references == 2  # the dictionary's, and the argument's
    rows: Rows = {name: {name: {"cost": 12345}} for name in names}
    DictRows(rows).numbers("cost", 1)
    hashes_of(DictRows(rows).keys())
    del filled, rows
    gc.collect()
    assert [sys.getrefcount(name) for name in names] == before
