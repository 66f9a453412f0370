"""Dictionaries and sets of Python objects, filled from arrays without a step of Python's per element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.python_objects.interface import (
    AHEAD,
    ITEMS_ARE_KNOWN,
    ITEMS_PLACE,
    JIT,
    WORD_BYTES,
    ask_for,
    clear_error,
    empty_dict,
    float_new,
    int_new,
    list_append,
    put_word,
    release,
    set_add,
    set_item_hashed,
    set_new,
    word_at,
)
from tgraph.runtime.protocol import Array

FAILED = -1


def fill_dict(keys: Array, hashes: Array, chosen: Array, values: Array) -> dict[Any, Any] | None:
    """Return a dictionary from the objects at the addresses `keys[chosen]`, in that order, to the values, int or float.

    `hashes` are those of the keys. None if it cannot be filled: out of memory, or keys cannot be compared.

    >>> names = ["a", "b"]
    >>> keys, hashes = np.array([id(name) for name in names]), np.array([hash(name) for name in names])
    >>> fill_dict(keys, hashes, np.array([1, 0]), np.array([0.5, 2.0]))
    {'b': 0.5, 'a': 2.0}
    """
    result = empty_dict(chosen.size)
    fill, dtype = (_fill_floats, np.float64) if values.dtype.kind == "f" else (_fill_ints, np.int64)
    status = fill(id(result), keys, hashes, _wide(chosen), np.ascontiguousarray(values, dtype))
    return None if status == FAILED else result


def fill_copy(blank: dict[Any, None], keys: Array, values: Array) -> dict[Any, Any] | None:
    """Return a copy of a dictionary of None, whose keys are at the addresses `keys`, with the values in their order.

    A copy needs no hashes, no search and no growing: it takes a quarter of the time. Values go where the None of their
    key is found; None if they are not where this version of Python is known to keep them, or out of memory.

    >>> blank = dict.fromkeys(["a", "b"])
    >>> fill_copy(blank, np.array([id(name) for name in blank]), np.array([0.5, 2.0])) in ({"a": 0.5, "b": 2.0}, None)
    True
    """
    if not ITEMS_ARE_KNOWN or not blank:
        return None
    result: dict[Any, Any] = blank.copy()
    replace, dtype = (_replace_floats, np.float64) if values.dtype.kind == "f" else (_replace_ints, np.int64)
    num_words = (result.__sizeof__() - dict.__basicsize__) // WORD_BYTES
    where = _find_items(id(result), num_words, keys, id(None))
    return None if replace(*where, keys, np.ascontiguousarray(values, dtype), id(None)) == FAILED else result


def fill_sets(keys: Array, chosen: Array, ends: Array) -> list[set[Any]] | None:
    """Return sets of the objects at the addresses `keys[chosen]`, divided at `ends`, the first of which is 0.

    >>> names = ["a", "b", "c"]
    >>> sets = fill_sets(np.array([id(name) for name in names]), np.array([2, 1, 0]), np.array([0, 1, 3]))
    >>> [sorted(members) for members in sets]
    [['c'], ['a', 'b']]
    """
    result: list[set[Any]] = []
    return None if _fill_sets(id(result), keys, _wide(chosen), _wide(ends)) == FAILED else result


def _wide(numbers: Array) -> Array:
    """Return the numbers in 64 bits, so that one compiled kernel serves them all."""
    return np.ascontiguousarray(numbers, np.int64)


@njit(**JIT)
def _fill_floats(result, keys, hashes, chosen, values):
    """Fills the dictionary."""
    for place in range(chosen.size):
        ask_for(keys[chosen[min(place + AHEAD, chosen.size - 1)]])
        number = chosen[place]
        if _put(result, keys[number], float_new(values[place]), hashes[number]) == FAILED:
            return FAILED
    return 0


@njit(**JIT)
def _fill_ints(result, keys, hashes, chosen, values):
    """Fills the dictionary."""
    for place in range(chosen.size):
        ask_for(keys[chosen[min(place + AHEAD, chosen.size - 1)]])
        number = chosen[place]
        if _put(result, keys[number], int_new(values[place]), hashes[number]) == FAILED:
            return FAILED
    return 0


@njit(**JIT)
def _find_items(dictionary, num_words, keys, none):
    """Return the address of the first key among a dictionary's items, 0 = unknown, and the bytes to the next key.

    An item is key and value in a dictionary of strings alone, or hash, key and value.
    """
    items = word_at(dictionary + ITEMS_PLACE)
    last = items + num_words * WORD_BYTES
    second = keys[min(1, keys.size - 1)]
    for place in range(items, last - WORD_BYTES, WORD_BYTES):
        if word_at(place) == keys[0] and word_at(place + WORD_BYTES) == none:
            for words in (2, 3):
                size = words * WORD_BYTES
                is_inside = place + keys.size * size - WORD_BYTES <= last
                if is_inside and (keys.size == 1 or word_at(place + size) == second):
                    return place, size
            return 0, 0
    return 0, 0


@njit(**JIT)
def _replace(place, key, none, value):
    """Puts a value, 0 = there was no memory for it, in the place of None behind a key; FAILED if they are not there."""
    if value == 0:
        clear_error()
        return FAILED
    if word_at(place) != key or word_at(place + WORD_BYTES) != none:
        release(value)
        return FAILED
    put_word(place + WORD_BYTES, value)
    release(none)
    return 0


@njit(**JIT)
def _replace_floats(place, size, keys, values, none):
    """Writes the values of a dictionary, which then owns them."""
    for number in range(keys.size):
        if place == 0 or _replace(place + number * size, keys[number], none, float_new(values[number])) == FAILED:
            return FAILED
    return 0


@njit(**JIT)
def _replace_ints(place, size, keys, values, none):
    """Writes the values of a dictionary, which then owns them."""
    for number in range(keys.size):
        if place == 0 or _replace(place + number * size, keys[number], none, int_new(values[number])) == FAILED:
            return FAILED
    return 0


@njit(**JIT)
def _put(dictionary, key, value, key_hash):
    """Sets an item and releases the value, 0 = there was no memory for it."""
    status = FAILED if value == 0 else set_item_hashed(dictionary, key, value, key_hash)
    if value != 0:
        release(value)
    if status < 0:
        clear_error()
        return FAILED
    return 0


@njit(**JIT)
def _fill_sets(result, keys, chosen, ends):
    """Appends a set for every part to the list."""
    for part in range(ends.size - 1):
        members = set_new(0)
        status = FAILED if members == 0 else 0
        for place in range(ends[part], ends[part + 1]):
            ask_for(keys[chosen[min(place + AHEAD, chosen.size - 1)]])
            if status == 0:
                status = set_add(members, keys[chosen[place]])
        if status == 0:
            status = list_append(result, members)
        if members != 0:
            release(members)
        if status < 0:
            clear_error()
            return FAILED
    return 0
