"""Dictionaries of dictionaries, such as NetworkX's adjacency, read in one pass without a step of Python's per edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.python_objects.interface import (
    AHEAD,
    JIT,
    WORD_BYTES,
    ask_for,
    ask_for_items,
    clear_error,
    dict_next,
    dict_size,
    error_occurred,
    float_value,
    get_item,
    hash_of,
    int_as_float,
    int_value,
    type_of,
)
from tgraph.runtime.protocol import Array

KEYS, VALUES = 1, 2  # what is read of a dictionary: the places that `dict_next` writes
ODD = -1


class DictRows:
    """The rows of a plain dictionary of plain dictionaries, which must not change as long as this is used.

    >>> rows = DictRows({"a": {7: {"cost": 1.5}, 8: {}}, "b": {}})
    >>> rows.offsets.tolist(), hashes_of(rows.keys()).tolist(), rows.numbers("cost", 2.0).tolist()
    ([0, 2, 2], [7, 8], [1.5, 2.0])
    """

    def __init__(self, rows: dict[Any, dict[Any, Any]]) -> None:
        self.by_owner = rows
        self._rows = _collect(np.array([id(rows)]), VALUES, len(rows))
        self.offsets = np.zeros(len(rows) + 1, np.int64)
        if _add_sizes(self._rows, id(dict), self.offsets) == ODD:
            raise TypeError("a row is no plain dictionary")

    def owners(self) -> Array:
        """Return the addresses of the keys that own the rows, `[V] int64`."""
        return _collect(np.array([id(self.by_owner)]), KEYS, len(self.by_owner))

    def keys(self) -> Array:
        """Return the addresses of the keys in the rows, `[E] int64`."""
        return _collect(self._rows, KEYS, int(self.offsets[-1]))

    def numbers(self, name: str, default: Any, *, as_floats: bool = False) -> Array | None:
        """Return `value.get(name, default)` of the values in the rows, `[E]`, which are plain dictionaries.

        int64 if all are `int`, float64 if all are `float`, or if they are both and `as_floats`; otherwise None.
        """
        values = _collect(self._rows, VALUES, int(self.offsets[-1]))
        whole, real = np.empty(values.size, np.int64), np.empty(values.size)
        names = id(name), id(default), id(dict)
        if not as_floats and _get_whole(values, *names, id(int), whole) != ODD:
            return whole
        if _get_real(values, *names, id(float), id(int) if as_floats else ODD, real) != ODD:
            return real
        return None


def _collect(dictionaries: Array, place: int, count: int) -> Array:
    """Return the addresses of the keys or values of dictionaries, which have so many."""
    found = np.empty(count, np.int64)
    _read(dictionaries, place, np.zeros(3, np.int64), found)
    return found


def hashes_of(objects: Array) -> Array | None:
    """Return the hashes of the objects at these addresses, in their array; None if one is neither `int` nor `str`."""
    return None if _hash_all(objects, id(int), id(str)) == ODD else objects


@njit(**JIT)
def _read(dictionaries, place, cell, found):
    """Writes the addresses of the keys or values of all dictionaries. cell: the position, key and value of one item."""
    cells = cell.ctypes.data
    key, value = cells + KEYS * WORD_BYTES, cells + VALUES * WORD_BYTES
    count, last = 0, dictionaries.size - 1
    for number in range(dictionaries.size):
        ask_for(dictionaries[min(number + 2 * AHEAD, last)])
        ask_for_items(dictionaries[min(number + AHEAD, last)])
        cell[0] = 0
        while dict_next(dictionaries[number], cells, key, value):
            found[count] = cell[place]
            count += 1


@njit(**JIT)
def _add_sizes(dictionaries, dict_type, offsets):
    """Writes offsets; ODD if one is no plain dictionary."""
    for number in range(dictionaries.size):
        ask_for(dictionaries[min(number + AHEAD, dictionaries.size - 1)])
        if type_of(dictionaries[number]) != dict_type:
            return ODD
        offsets[number + 1] = offsets[number] + dict_size(dictionaries[number])
    return 0


@njit(**JIT)
def _hash_all(objects, int_type, str_type):
    """Writes hashes in the place of addresses; ODD if an object is neither int nor str."""
    for place in range(objects.size):
        ask_for(objects[min(place + AHEAD, objects.size - 1)])
        kind = type_of(objects[place])
        if kind != int_type and kind != str_type:
            return ODD
        objects[place] = hash_of(objects[place])
    return 0


@njit(**JIT)
def _get(dictionary, name, default, dict_type):
    """Return the address of dictionary.get(name, default), 0 = this is no plain dictionary, or it fails."""
    if type_of(dictionary) != dict_type:
        return 0
    found = get_item(dictionary, name)
    if found != 0:
        return found
    if error_occurred() != 0:
        clear_error()
        return 0
    return default


@njit(**JIT)
def _get_whole(dictionaries, name, default, dict_type, int_type, values):
    """Writes values; ODD if one is no int of 64 bits."""
    last = dictionaries.size - 1
    for place in range(dictionaries.size):
        ask_for(dictionaries[min(place + 2 * AHEAD, last)])
        ask_for_items(dictionaries[min(place + AHEAD, last)])
        number = _get(dictionaries[place], name, default, dict_type)
        if number == 0 or type_of(number) != int_type:
            return ODD
        values[place] = int_value(number)
        if values[place] == -1 and error_occurred() != 0:
            clear_error()
            return ODD
    return 0


@njit(**JIT)
def _get_real(dictionaries, name, default, dict_type, float_type, other_type, values):
    """Writes values; ODD if one is neither float nor of the other type, int or ODD for none, or too large."""
    last = dictionaries.size - 1
    for place in range(dictionaries.size):
        ask_for(dictionaries[min(place + 2 * AHEAD, last)])
        ask_for_items(dictionaries[min(place + AHEAD, last)])
        number = _get(dictionaries[place], name, default, dict_type)
        if number == 0:
            return ODD
        if type_of(number) == float_type:
            values[place] = float_value(number)
        elif type_of(number) == other_type:
            values[place] = int_as_float(number)
            if values[place] == -1 and error_occurred() != 0:
                clear_error()
                return ODD
        else:
            return ODD
    return 0
