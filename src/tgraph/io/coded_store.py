"""Coded neighbours in a native file: fewer bytes to be moved, beside the ids themselves or instead of them.

| name | type | meaning |
|---|---|---|
| `out_coded`, `in_coded` | uint8 `[B]` | frames of 1,024 neighbours (`kernels/cpu/coded_ids`), and 16 bytes more |
| `out_frames`, `in_frames` | int64 `[F+1]` | where each frame begins |

The metadata holds `num_arcs`, the number of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Adjacency
from tgraph.io.rows import FilePath
from tgraph.kernels.cpu.coded_ids import FRAME_IDS, PADDING_BYTES, decode_frames, encode_ids, last_frame_ids, num_frames
from tgraph.runtime import Array, Runtime, Tensor

NEIGHBORS = ("plain", "coded", "both")  # what a file holds
CODED_DTYPE = np.dtype(np.int32)  # of ids that can be coded


def check_can_be_coded(dtype: np.dtype[Any]) -> None:
    """Raise unless ids of this type can be coded."""
    if dtype != CODED_DTYPE:
        raise InvalidArgumentError(
            f"neighbors='coded' is for ids of 32 bits; a graph with 2^31 vertices or more has {dtype.name}: use 'plain'"
        )


def coded_tensors(side: str, ids: Array) -> dict[str, Array]:
    """Return the tensors of coded neighbours of one direction (`out` or `in`)."""
    check_can_be_coded(ids.dtype)
    coded, begins = encode_ids(ids)
    return {f"{side}_coded": np.append(coded, np.zeros(PADDING_BYTES, np.uint8)), f"{side}_frames": begins}


@dataclass(frozen=True)
class CodedIds:
    """Coded ids that are decoded where they are asked for, in slices."""

    path: FilePath
    name: str  # of the tensor
    coded: Array
    begins: Array  # [F+1]
    size: int
    limit: int  # ids are below it

    def __post_init__(self) -> None:
        if num_frames(self.size) != self.begins.size - 1:
            frames = f"{self.begins.size - 1} frames for {self.size} neighbours"
            raise FileFormatError(self.path, self.name, f"has {frames}, which need {num_frames(self.size)}")

    @property
    def shape(self) -> tuple[int]:
        """The number of ids."""
        return (self.size,)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a decoded id."""
        return CODED_DTYPE

    def __getitem__(self, wanted: slice) -> Array:
        """Return the ids of a slice, or raise if they are damaged."""
        first, last, _ = wanted.indices(self.size)
        if last <= first:
            return np.empty(0, CODED_DTYPE)
        frame, end = first // FRAME_IDS, num_frames(last)
        ids = np.empty((end - frame) * FRAME_IDS, np.uint32)
        begins, count = self.begins[frame : end + 1], last_frame_ids(frame, end, self.size)
        damaged = decode_frames(self.coded, begins[:-1], begins[1:], count, self.limit, ids)
        if damaged is not None:
            raise FileFormatError(self.path, self.name, f"frame {frame + damaged} is damaged; write the file again")
        return ids.view(CODED_DTYPE)[first - frame * FRAME_IDS : last - frame * FRAME_IDS]


class CodedRows(Adjacency):
    """Rows of a file whose neighbours are coded and stay there: all that is at hand are offsets and weights."""

    def __init__(self, runtime: Runtime, offsets: Tensor, ids: CodedIds, weights: Tensor | None) -> None:
        for name, value in {"runtime": runtime, "offsets": offsets, "weights": weights, "_ids": ids}.items():
            object.__setattr__(self, name, value)

    _ids: CodedIds

    @property
    def num_arcs(self) -> int:
        """The number of stored edges."""
        return self._ids.size

    @property
    def neighbors(self) -> NoReturn:
        """Raise: they would have to be decoded."""
        raise InvalidArgumentError(
            f"{self._ids.path} holds coded neighbours, which cannot be used in place; load the graph with "
            "tgraph.read, or write the file with neighbors='both'"
        )

    def to(self, runtime: Runtime) -> CodedRows:
        """Return the same rows with offsets and weights of another runtime."""
        weights = None if self.weights is None else runtime.share(self.weights)
        return CodedRows(runtime, runtime.share(self.offsets), self._ids, weights)

    def without_edges(self) -> Adjacency:
        """Return no rows, with neighbours and weights of the right types."""
        none = self.runtime.asarray(np.empty(0, CODED_DTYPE))
        return Adjacency(self.runtime, self.offsets[:1], none, None if self.weights is None else self.weights[:0])
