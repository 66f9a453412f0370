"""The user's own vertex ids: any integers, strings, or other hashable values.

Inside, a vertex is its number 0 to V - 1. Labels translate at the border, so that results come back under the ids
that the user gave.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu.vertex_ids import IdTable, number_ids
from tgraph.runtime import Array

STRING_DTYPE = np.dtypes.StringDType()


class VertexLabels:
    """Distinct labels, one per vertex, and the way back from a label to its vertex."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._numbers: dict[Any, int] | None = None
        self._table: IdTable | None = None

    def number_of(self, label: Any) -> int:
        """Return the vertex with this label."""
        if self.array.dtype.kind == "i":
            number = as_integer(label)
            if number is None:
                raise VertexNotFoundError(f"vertex {label!r} is not in the graph, whose ids are integers")
            if not -(2**63) <= number < 2**63:
                raise VertexNotFoundError(f"vertex {label!r} is not in the graph, whose ids have 64 bits")
            label = number
        return int(self.numbers_of([label])[0])

    def numbers_of(self, labels: Iterable[Any]) -> Array:
        """Return the vertices with these labels, `[N]`, or raise naming the first label that is unknown."""
        if self.array.dtype.kind == "i":
            return self._numbers_of_integers(as_column("vertices", labels))
        if self._numbers is None:
            self._numbers = {label: number for number, label in enumerate(self.array.tolist())}
        wanted = list(labels)
        try:
            return np.asarray([self._numbers[label] for label in wanted], index_dtype(self.array.size))
        except (KeyError, TypeError):  # a list, say, has no hash and is nobody's id
            unknown = next(label for label in wanted if not self._knows(label))
            raise VertexNotFoundError(f"vertex {unknown!r} is not in the graph") from None

    def _knows(self, label: Any) -> bool:
        try:
            return label in (self._numbers or {})
        except TypeError:
            return False

    def _numbers_of_integers(self, wanted: Array) -> Array:
        if wanted.dtype.kind != "i" and wanted.size:
            raise VertexNotFoundError(f"vertex {wanted[0]!r} is not in the graph, whose ids are integers")
        if self._table is None:
            self._table = IdTable(np.ascontiguousarray(self.array))
        numbers = self._table.numbers_of(np.ascontiguousarray(wanted))
        if wanted.size and numbers.min() < 0:
            raise VertexNotFoundError(f"vertex {wanted[numbers < 0][0]} is not in the graph")
        return numbers


def as_integer(label: Any) -> int | None:
    """Return an id that is an integer of any library, None for another; True and False are none.

    >>> as_integer(np.int32(7)), as_integer(7.0), as_integer(True)
    (7, None, None)
    """
    try:
        return None if isinstance(label, bool) else operator.index(label)
    except TypeError:
        return None


def as_column(argument: str, data: Any) -> Array:
    """Return a column of the user's data as a NumPy array of int64, strings or objects.

    Takes NumPy arrays, torch tensors, pandas, polars and Arrow columns, and sequences.
    """
    array = to_array(argument, data)
    if array.ndim != 1:
        raise InvalidArgumentError(f"{argument} has {array.ndim} dimensions; give a column, or a flat list")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidArgumentError(f"{argument} holds {array.max()}; ids must be below 2^63, or be given as strings")
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind in "UT":
        return array.astype(STRING_DTYPE)
    if array.dtype.kind == "O":
        return _object_column(argument, array)
    hint = "missing values?" if array.dtype.kind == "f" else "convert them first"
    raise InvalidArgumentError(f"{argument} holds {array.dtype.name}; ids must be integers or strings ({hint})")


def to_array(argument: str, data: Any) -> Array:
    """Return a column of any library as a NumPy array of whatever type it has."""
    if type(data) is np.ndarray:
        return data
    if hasattr(data, "detach"):  # a torch tensor
        return np.asarray(data.detach().cpu())
    if hasattr(data, "to_pylist") and hasattr(data, "to_numpy"):  # an Arrow column; chunked ones take no arguments
        return np.asarray(data.to_numpy() if hasattr(data, "chunks") else data.to_numpy(zero_copy_only=False))
    if hasattr(data, "to_numpy"):
        return np.asarray(data.to_numpy())
    if hasattr(data, "__array__") and is_column(data):
        return np.asarray(data)
    items = _items(argument, data)
    if any(isinstance(item, (tuple, list)) for item in items):
        return object_array(items)
    array = np.asarray(items)
    if array.dtype.kind in "US":  # NumPy would turn 1 into "1", and drop NUL characters at the end
        all_text = all(isinstance(item, str) for item in items)
        return _as_text(argument, items) if all_text else object_array(items)
    if items and array.dtype.kind == "f" and all(isinstance(item, int) for item in items):
        return object_array(items)  # NumPy would round -1 beside 2^63 to floats
    return array


def check_ordered(argument: str, data: Any) -> None:
    """Raise if a column of edges is a set, or a mapping: who belongs to whom is said by the order."""
    if isinstance(data, (set, frozenset, Mapping)):
        raise InvalidArgumentError(f"{argument} is a {type(data).__name__}, not a column; give a list or an array")


def _items(argument: str, data: Any) -> list[Any]:
    """Return the values of a column that is no array."""
    if isinstance(data, (str, bytes)):
        raise InvalidArgumentError(f"{argument}={data!r} must be a column of values; write [{data!r}]")
    if not is_column(data):
        raise InvalidArgumentError(f"{argument}={data!r} must be a column of values: a list, an array or a tensor")
    return list(data)


def is_column(data: Any) -> bool:
    """Whether there are values in it, one behind the other; a text, a number or None is one value."""
    if isinstance(data, (str, bytes, np.generic)):
        return False
    return isinstance(data, Iterable) or hasattr(data, "__array__")


def _as_text(argument: str, items: Any) -> Array:
    try:
        return np.asarray(items, STRING_DTYPE)
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"{argument} holds {error.object!r}, which is no text: it has half of a surrogate pair; decode it anew"
        ) from error


def object_array(items: list[Any]) -> Array:
    """Return a one-dimensional array of Python objects, also where they are sequences themselves."""
    return np.fromiter(items, object, len(items))


def _object_column(argument: str, array: Array) -> Array:
    items = array.tolist()
    if any(_is_missing(item) for item in items):
        raise InvalidArgumentError(f"{argument} has missing values; drop those edges first")
    if all(isinstance(item, str) for item in items):
        return _as_text(argument, items)
    if all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in items):
        try:
            return array.astype(np.int64)
        except OverflowError as error:
            raise InvalidArgumentError(f"{argument} holds ids beyond 64 bits; give them as strings") from error
    for item in items:
        _check_hashable(argument, item)
    return array


def _is_missing(item: Any) -> bool:
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):  # pandas.NA has no truth value; nor has an array, which is refused later
        return not hasattr(item, "__len__")


def _check_hashable(argument: str, item: Any) -> None:
    try:
        hash(item)
    except TypeError as error:
        raise InvalidArgumentError(
            f"{argument} holds {item!r}, a {type(item).__name__}; give one id per edge: an integer, a string or a tuple"
        ) from error


def number_vertices(columns: list[Array]) -> tuple[list[Array], Array | None]:
    """Return the columns as vertex numbers, and the labels (None where the numbers are the ids).

    Integer and string labels ascend; other objects come in the order of their first appearance.
    """
    kinds = {column.dtype.kind for column in columns if column.size}
    if kinds <= {"i"}:
        return number_ids(columns)
    if kinds == {"T"}:
        return _number_strings(columns)
    return _number_objects(columns)


def _number_strings(columns: list[Array]) -> tuple[list[Array], Array]:
    series = [pl.Series("label", column.tolist(), dtype=pl.String) for column in columns]
    labels = pl.concat(series).unique().sort()
    table = pl.DataFrame({"label": labels}).with_row_index("number")
    numbered = [
        pl.DataFrame({"label": one}).join(table, on="label", how="left", maintain_order="left")["number"].to_numpy()
        for one in series
    ]
    return [numbers.astype(index_dtype(len(labels))) for numbers in numbered], as_column("labels", labels)


def _number_objects(columns: list[Array]) -> tuple[list[Array], Array]:
    numbers: dict[Any, int] = {}
    numbered = []
    for column in columns:
        numbered.append([numbers.setdefault(label, len(numbers)) for label in column.tolist()])
    dtype = index_dtype(len(numbers))
    return [np.asarray(one, dtype) for one in numbered], object_array(list(numbers))


def check_distinct(labels: Array) -> None:
    """Raise unless all labels differ."""
    if labels.dtype.kind == "O":
        distinct = len(set(labels.tolist()))
    else:
        ordered = np.sort(labels)  # several times faster than np.unique
        distinct = int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, labels.size)
    if distinct != labels.size:
        raise InvalidArgumentError(f"labels has {labels.size} entries but only {distinct} distinct ones")
