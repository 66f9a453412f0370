"""Calls that launch every kernel for every type and reduction that docs/gpu.md lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import tgraph as tg
from tgraph.kernels import registry
from tgraph.kernels.gpu import launch, operators

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


def reductions_of(dtype: str) -> tuple[str, ...]:
    """Return the reductions that keep values of a type exact: those of `tgraph.dtypes.check_reduction`."""
    if dtype == "bool":
        return ("min", "max", "any", "count")
    return ("min", "max", "sum", "mean", "count") if dtype.startswith("float") else ("min", "max", "sum", "count")


PAIRS = [(dtype, reduce) for dtype in DTYPES for reduce in reductions_of(dtype)]


class Sent(tg.Program):
    """Sends its value; takes what comes."""

    def __init__(self, reduce: str, dtype: str, active: str) -> None:
        self.reduce, self.dtype, self.active = reduce, dtype, active

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(1, self.dtype), None

    def message(self, value: Any, weight: Any) -> Any:
        return tg.where(weight > 0, value, value)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.where(incoming == incoming, value, value)


def graph() -> tg.Graph:
    """Enough edges for several programs, so that rows are cut."""
    count = 2 * launch.EDGES
    ends = np.arange(count) % 7, np.arange(count) % 5
    return tg.from_edges(*ends, np.ones(count, np.float32), runtime="torch")


def run_program(some: tg.Graph, dtype: str, reduce: str) -> None:
    for direction in ("push", "pull"):
        tg.run(Sent(reduce, dtype, "changed"), some, kernel="fused", direction=direction, max_iterations=1)
    tg.run(Sent(reduce, dtype, "all"), some, kernel="fused", max_iterations=1)


def reduce_segments(dtype: str, reduce: str) -> None:
    values = torch.ones(2 * launch.EDGES, dtype=getattr(torch, dtype))
    operators.segment_reduce(values, torch.tensor([0, 3, 3, 2 * launch.EDGES]), reduce)


def everything() -> dict[str, Callable[[], None]]:
    """Return every case by name; kernels then serve CPU tensors."""
    registry.KERNELS["cpu"] = "gpu"
    some = graph()
    cases: dict[str, Callable[[], None]] = {}
    for dtype, reduce in PAIRS:
        cases[f"program {reduce} {dtype}"] = partial(run_program, some, dtype, reduce)
        cases[f"segment_reduce {reduce} {dtype}"] = partial(reduce_segments, dtype, reduce)
    return cases
