"""Step 3: the reductions."""

from __future__ import annotations

from typing import Any

from tgraph import runtime as runtimes
from toy_runtime.tensor import ToyTensor, unwrapped

_numpy = runtimes.get("numpy")


def reduce(tensor: Any, op: str) -> ToyTensor:
    return ToyTensor(_numpy.reduce(unwrapped(tensor), op))


def scatter_reduce(into: Any, positions: Any, values: Any, op: str) -> ToyTensor:
    return ToyTensor(_numpy.scatter_reduce(unwrapped(into), unwrapped(positions), unwrapped(values), op))


def segment_reduce(values: Any, offsets: Any, op: str) -> ToyTensor:
    return ToyTensor(_numpy.segment_reduce(unwrapped(values), unwrapped(offsets), op))
