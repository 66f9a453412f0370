"""The user's vertex ids of a graph that changes: new ones get the next numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph.labels import number_vertices, object_array
from tgraph.kernels.cpu.arc_batches import are_known, known_numbers
from tgraph.kernels.cpu.vertex_ids import IdTable
from tgraph.runtime import Array

SMALL = 1024  # ids that are not worth a larger table


class GrowingLabels:
    """Labels of vertices 0 to count - 1; without an array they are these numbers.

    Integers are found through two hash tables, one of them for the newest ids and small, so that it can be made anew;
    strings and other objects through a dictionary.
    """

    def __init__(self, array: Array | None, count: int) -> None:
        self._array, self.count = array, count
        self._tables: list[tuple[int, IdTable]] = []  # each with the number of its first id
        self._numbers: dict[Any, int] | None = None
        if array is not None and array.dtype.kind != "i":
            self._numbers = {label: number for number, label in enumerate(array.tolist())}
        elif array is not None:
            self._tables = [(0, IdTable(np.ascontiguousarray(array)))]

    @property
    def array(self) -> Array | None:
        """The labels in the order of numbers, None = the numbers themselves."""
        return self._array

    def find(self, column: Array) -> Array:
        """Return the numbers of ids, `[N] int64`, -1 = not known; the column itself if its ids are their numbers."""
        if not column.size:
            return np.empty(0, np.int64)
        self._check_kind(column)
        if self._numbers is not None:
            number_of = self._numbers
            return np.asarray([number_of.get(label, -1) for label in column.tolist()], np.int64)
        if column.dtype.kind != "i":  # of an empty graph
            return np.full(column.size, -1, np.int64)
        if self._array is None:
            return column if are_known(column, self.count) else known_numbers(column, self.count)
        found = np.full(column.size, -1, np.int64)
        for first, table in self._tables:
            numbers = table.numbers_of(column).astype(np.int64)
            np.copyto(found, numbers + first, where=numbers >= 0)
        return found

    def number(self, columns: list[Array]) -> tuple[list[Array], Array]:
        """Return the numbers of ids, those that new ones will have when they are added, and the new ones."""
        found = [self.find(column) for column in columns]
        if all(a is b or b.size == 0 or b.min() >= 0 for a, b in zip(columns, found, strict=True)):
            return found, np.empty(0, np.int64)
        unknown = [column[numbers < 0] for column, numbers in zip(columns, found, strict=True)]
        numbered, labels = number_vertices([ids for ids in unknown if ids.size])
        if labels is None:  # the ids are 0 to the largest of them
            labels = np.arange(1 + max(int(ids.max()) for ids in numbered))
        places = iter(numbered)
        for numbers in found:
            is_unknown = numbers < 0
            if is_unknown.any():
                numbers[is_unknown] = next(places) + self.count
        return found, labels

    def add(self, labels: Array) -> None:
        """Give the next numbers to distinct new ids, in this order."""
        if self._array is None and labels.dtype.kind == "i":
            if np.array_equal(labels, np.arange(self.count, self.count + labels.size)):
                self.count += labels.size
                return
            self._array = np.arange(self.count, dtype=np.int64)
            self._tables = [(0, IdTable(self._array))] if self.count else []
        if labels.dtype.kind == "i" and self._numbers is None:
            self._add_integers(labels)
        else:
            self._add_objects(labels)
        self.count += labels.size

    def _add_integers(self, labels: Array) -> None:
        assert self._array is not None
        self._array = np.concatenate([self._array, labels])
        first, old = self._tables[-1][0] if len(self._tables) > 1 else self.count, self._array.size - labels.size
        newest = self._array[first:]
        if newest.size > max(SMALL, old // 4) or not self._tables:
            self._tables = [(0, IdTable(self._array))]
        else:
            self._tables = [self._tables[0], (first, IdTable(np.ascontiguousarray(newest)))]

    def _add_objects(self, labels: Array) -> None:
        numbers = self._numbers = {} if self._numbers is None else self._numbers
        for label in labels.tolist():
            numbers[label] = len(numbers)
        old = [] if self._array is None else self._array.tolist()
        both = old + labels.tolist()
        is_text = labels.dtype.kind == "T" and (self._array is None or self._array.dtype.kind == "T")
        self._array = np.asarray(both, labels.dtype) if is_text else object_array(both)

    def _check_kind(self, column: Array) -> None:
        """Refuse text among integers and the other way round: `"1"` and `1` would be two vertices."""
        is_integer = self._numbers is None and (self.count > 0 or self._array is not None)
        is_text = self._numbers is not None and self._array is not None and self._array.dtype.kind == "T"
        if (is_integer and column.dtype.kind != "i") or (is_text and column.dtype.kind != "T"):
            kinds = ("integers", "text") if is_integer else ("text", "no text")
            raise InvalidArgumentError(
                f"vertex {column.tolist()[0]!r} is {kinds[1]}, and the graph's ids are {kinds[0]}; "
                "give ids of the same kind"
            )
