"""The ids of edges that pass by become vertex numbers: those that `tgraph.from_edges` would give.

Ids are learned chunk by chunk in a first pass (`learn`), then numbered (`finish`), and looked up in a second pass
(`numbers_of`). The distinct ids stay near, within the budget:

| ids | while they are learned | while they are looked up |
|---|---|---|
| small integers | 1 byte per possible id | 4 bytes per possible id; nothing where all occur |
| other integers | 16 bytes each | 8 bytes each, and a hash table where there is room |
| strings | their bytes, 64 more for each, and once more | the same |
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from tgraph.budget import Budget
from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError
from tgraph.io.files import write_array
from tgraph.io.text import MAX_VERTICES_PER_EDGE
from tgraph.kernels.cpu.vertex_ids import IdTable, id_range, mark_ids, number_ids
from tgraph.runtime import Array

Parts: TypeAlias = dict[str, tuple[Path, np.dtype[Any]]]  # of a native file: name to file and element type

TABLE_SHARE = 16  # of the budget's bytes is how many possible ids a table may have
BLOCK = 1 << 16  # labels that are written at a time
STRING_BYTES = 64  # of a string beside its own: a view, a slot of a hash table, a number


class VertexNumbers(Protocol):
    """How ids become numbers."""

    def learn(self, sources: Any, targets: Any, where: str) -> tuple[Array, Array]:
        """Take the ids of the next chunk; return two columns of integers that stand for them."""

    def finish(self, num_edges: int) -> int:
        """Number all ids; return how many vertices there are."""

    def numbers_of(self, column: Array, chunk: int) -> Array:
        """Return the vertex numbers of what `learn` gave for that chunk."""

    def write_labels(self, folder: Path) -> Parts:
        """Write the ids in the order of their numbers as parts of a native file; none where ids are numbers."""

    def forget(self) -> None:
        """Free the memory that was needed to look numbers up."""


class GivenNumbers:
    """Ids that are vertex numbers already; `labels` are the tensors of ids that a native file has for them."""

    def __init__(self, num_vertices: int, labels: dict[str, Array]) -> None:
        self._count, self._labels = num_vertices, labels

    def learn(self, sources: Any, targets: Any, where: str) -> tuple[Array, Array]:
        for name, column in (("sources", sources), ("targets", targets)):
            low, high = id_range(column)
            if low < 0 or high >= self._count:
                limit = f"vertex numbers are from 0 to num_vertices - 1 = {self._count - 1}"
                raise InvalidArgumentError(f"{name} of {where} holds {low if low < 0 else high}; {limit}")
        return sources, targets

    def finish(self, num_edges: int) -> int:
        return self._count

    def numbers_of(self, column: Array, chunk: int) -> Array:
        return column

    def write_labels(self, folder: Path) -> Parts:
        return {name: _write(folder / name, array.dtype, iter([array])) for name, array in self._labels.items()}

    def forget(self) -> None:
        self._labels = {}


class IntegerIds:
    """Integer ids, numbered in ascending order.

    `are_numbers`: an id is its vertex's number, whether all numbers occur or not. `keeps_gaps`: only if there are not
    many more numbers than edges.
    """

    def __init__(self, budget: Budget, are_numbers: bool, keeps_gaps: bool) -> None:
        self._budget, self._are_numbers, self._keeps_gaps = budget, are_numbers, keeps_gaps
        self._low, self._high = 0, -1
        self._present: Array | None = np.zeros(0, np.uint8)  # [ids], 1 = occurs; None = the ids are too large for it
        self._known = np.zeros(0, np.int64)  # ascending
        self._numbers: Array | None = None  # [ids]: the number of every id
        self._table: IdTable | None = None
        self._is_plain = False  # ids are the numbers

    def learn(self, sources: Any, targets: Any, where: str) -> tuple[Array, Array]:
        for name, column in (("sources", sources), ("targets", targets)):
            low, high = id_range(column)
            if self._are_numbers and low < 0:
                reason = "vertex numbers start at 0, or use labels='auto'"
                raise InvalidArgumentError(f"{name} of {where} holds {low}; {reason}")
            self._low, self._high = min(self._low, low), max(self._high, high)
        if not self._are_numbers:
            self._collect(sources, targets)
        return sources, targets

    def finish(self, num_edges: int) -> int:
        size = self._high + 1
        is_near = self._low >= 0 and size <= MAX_VERTICES_PER_EDGE * num_edges + 1024
        if self._are_numbers or (self._keeps_gaps and is_near):
            self._is_plain = True
            return size
        return self._finish_known() if self._present is None else self._finish_present(self._present[:size])

    def numbers_of(self, column: Array, chunk: int) -> Array:
        if self._is_plain:
            return column
        if self._numbers is not None:
            return self._numbers[column]
        if self._table is not None:
            return self._table.numbers_of(column)
        return np.searchsorted(self._known, column).astype(index_dtype(self._known.size))

    def write_labels(self, folder: Path) -> Parts:
        if self._is_plain:
            return {}
        blocks = iter([self._known]) if self._present is None else _places(self._present)
        return {"vertex_labels": _write(folder / "vertex_labels", np.dtype(np.int64), blocks)}

    def forget(self) -> None:
        self._present, self._known, self._numbers, self._table = None, np.zeros(0, np.int64), None, None
        for purpose in ("ids", "vertex numbers"):
            self._budget.release(purpose)

    def _finish_present(self, present: Array) -> int:
        num_vertices = int(np.count_nonzero(present))
        self._present, self._is_plain = present, num_vertices == present.size
        if not self._is_plain:
            dtype = index_dtype(num_vertices)
            self._budget.take("vertex numbers", present.size * dtype.itemsize)
            self._numbers = np.cumsum(present, dtype=dtype)
            self._numbers -= 1
        return num_vertices

    def _finish_known(self) -> int:
        num_vertices = self._known.size
        self._is_plain = self._low == 0 and self._high == num_vertices - 1
        num_bytes = IdTable.num_bytes(num_vertices)
        if not self._is_plain and num_bytes <= self._budget.free // 2:
            self._budget.take("vertex numbers", num_bytes)
            self._table = IdTable(self._known)
        return num_vertices

    def _collect(self, sources: Array, targets: Array) -> None:
        if self._present is not None and (self._low < 0 or self._high >= self._budget.limit // TABLE_SHARE):
            self._known = np.flatnonzero(self._present)
            self._present = None
            self._reserve(2 * self._known.nbytes)
        if self._present is None:
            self._merge(np.concatenate([sources, targets], dtype=np.int64))
            return
        if self._high >= self._present.size:
            size = min(max(self._high + 1, 2 * self._present.size), self._budget.limit // TABLE_SHARE)
            self._reserve(size)
            self._present = np.concatenate([self._present, np.zeros(size - self._present.size, np.uint8)])
        for column in (sources, targets):
            mark_ids(column, self._present)

    def _merge(self, ids: Array) -> None:
        """Add new ids to the known ones."""
        ids.sort()
        is_first = np.ones(ids.size, bool)
        np.not_equal(ids[1:], ids[:-1], out=is_first[1:])
        ids = ids[is_first]
        places = np.searchsorted(self._known, ids)
        is_new = np.ones(ids.size, bool)
        inside = places < self._known.size
        is_new[inside] = self._known[places[inside]] != ids[inside]
        if is_new.any():
            self._reserve(2 * (self._known.nbytes + 8 * int(np.count_nonzero(is_new))))
            self._known = np.insert(self._known, places[is_new], ids[is_new])

    def _reserve(self, num_bytes: int) -> None:
        self._budget.release("ids")
        self._budget.take("ids", num_bytes)


class StringIds:
    """Strings, numbered in ascending order. The strings of every chunk are kept in a file, each once.

    Strings are told apart by 64-bit hashes with a seed for which no two have the same, which is made sure of.
    """

    def __init__(self, budget: Budget, folder: Path) -> None:
        self._budget, self._folder = budget, folder
        self._known = pl.Series("id", [], dtype=pl.String)
        self._fresh: list[pl.Series] = []  # of the last chunks; some may be known
        self._known_bytes = self._fresh_bytes = 0
        self._num_chunks = self._seed = 0
        self._table: IdTable | None = None  # from hashes to numbers
        self._chunk, self._numbers = -1, np.zeros(0, np.int64)  # the chunk looked up last, the numbers of its strings

    def learn(self, sources: Any, targets: Any, where: str) -> tuple[Array, Array]:
        positions, distinct = _tell_apart(pl.concat([sources, targets]))
        packed = io.BytesIO()
        distinct.to_frame("id").write_ipc(packed)
        self._file(self._num_chunks).write_bytes(packed.getbuffer())
        self._num_chunks += 1
        packed.seek(0)
        self._add(pl.read_ipc(packed)["id"])  # a copy that does not hold on to the text of the whole chunk
        return positions[: len(sources)], positions[len(sources) :]

    def finish(self, num_edges: int) -> int:
        self._join()
        self._known = self._known.sort()
        hashes = _hashes(self._known, self._seed)
        while not _all_differ(hashes):
            self._seed += 1
            hashes = _hashes(self._known, self._seed)
        self._table = IdTable(hashes)
        return len(self._known)

    def numbers_of(self, column: Array, chunk: int) -> Array:
        if chunk != self._chunk and self._table is not None:
            names = pl.read_ipc(io.BytesIO(self._file(chunk).read_bytes()))["id"]  # all of them are known
            self._chunk, self._numbers = chunk, self._table.numbers_of(_hashes(names, self._seed))
            self._file(chunk).unlink()
        return self._numbers[column]

    def write_labels(self, folder: Path) -> Parts:
        sizes = self._known.str.len_bytes().to_numpy()
        offsets = np.zeros(sizes.size + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        blocks = (self._known.slice(first, BLOCK).to_list() for first in range(0, len(self._known), BLOCK))
        content = (np.frombuffer("".join(block).encode(), np.uint8) for block in blocks)
        return {
            "vertex_label_bytes": _write(folder / "vertex_label_bytes", np.dtype(np.uint8), content),
            "vertex_label_offsets": _write(folder / "vertex_label_offsets", offsets.dtype, iter([offsets])),
        }

    def forget(self) -> None:
        self._known, self._table, self._numbers = self._known.clear(), None, np.zeros(0, np.int64)
        self._budget.release("ids")

    def _file(self, chunk: int) -> Path:
        return self._folder / f"ids-{chunk}"

    def _add(self, distinct: pl.Series) -> None:
        size = _string_bytes(distinct)
        fresh_bytes, limit = self._fresh_bytes + size, self._budget.limit
        is_tight = 2 * (self._known_bytes + fresh_bytes) > limit // 4 * 3
        if is_tight or fresh_bytes > max(self._known_bytes, limit // TABLE_SHARE):
            self._join()
        self._fresh.append(distinct)
        self._fresh_bytes += size
        self._reserve()

    def _join(self) -> None:
        self._known = pl.concat([self._known, *self._fresh]).unique()
        self._known_bytes, self._fresh, self._fresh_bytes = _string_bytes(self._known), [], 0
        self._reserve()

    def _reserve(self) -> None:
        self._budget.release("ids")
        self._budget.take("ids", 2 * (self._known_bytes + self._fresh_bytes))


def _tell_apart(strings: pl.Series) -> tuple[Array, pl.Series]:
    """Return the distinct strings, and where every string is among them."""
    for seed in count():
        (positions,), _ = number_ids([_hashes(strings, seed)])
        examples = np.empty(int(positions.max(initial=-1)) + 1, np.int64)
        examples[positions] = np.arange(positions.size)
        distinct = strings.gather(examples)
        if (distinct.gather(positions) == strings).all():
            break
    return positions, distinct


def _hashes(strings: pl.Series, seed: int) -> Array:
    return strings.hash(seed).to_numpy().view(np.int64)


def _all_differ(values: Array) -> bool:
    ascending = np.sort(values)
    return bool((ascending[1:] != ascending[:-1]).all())


def _string_bytes(strings: pl.Series) -> int:
    return int(strings.str.len_bytes().sum()) + STRING_BYTES * len(strings)


def _places(present: Array) -> Iterator[Array]:
    """Yield the positions that are not 0."""
    for first in range(0, present.size, BLOCK):
        yield first + np.flatnonzero(present[first : first + BLOCK])


def _write(path: Path, dtype: np.dtype[Any], blocks: Iterator[Array]) -> tuple[Path, np.dtype[Any]]:
    with path.open("wb") as file:
        for block in blocks:
            write_array(file, block.astype(dtype, copy=False))
    return path, dtype
