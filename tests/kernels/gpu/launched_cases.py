"""Calls that launch every kernel for every type and reduction that docs/gpu.md lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import tgraph as tg
from tgraph.kernels import registry
from tgraph.kernels.gpu import far_memory, launch, operators, row_operators, sampling_operators, tuning

DEFINED = (far_memory, operators, row_operators, sampling_operators)  # whose import defines the operators
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
    count = 2 * launch.DEFAULTS.pull_edges
    ends = np.arange(count) % 7, np.arange(count) % 5
    return tg.from_edges(*ends, np.ones(count, np.float32), runtime="torch")


def run_program(some: tg.Graph, dtype: str, reduce: str) -> None:
    for direction in ("push", "pull"):
        tg.run(Sent(reduce, dtype, "changed"), some, kernel="fused", direction=direction, max_iterations=1)
    tg.run(Sent(reduce, dtype, "all"), some, kernel="fused", max_iterations=1)


def reduce_segments(dtype: str, reduce: str) -> None:
    count = 2 * launch.DEFAULTS.pull_edges
    operators.segment_reduce(torch.ones(count, dtype=getattr(torch, dtype)), torch.tensor([0, 3, 3, count]), reduce)


EMBEDDINGS = ("float16", "bfloat16", "float32", "float64")
WIDTH = 100  # features: fewer than a program has lanes for


def aggregate(dtype: str, width: int) -> None:
    """Launch every kernel on embeddings."""
    calls, kind = torch.ops.tgraph, getattr(torch, dtype)
    offsets, ids = torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1], dtype=torch.int32)
    x, y = (torch.ones(2, 2, width, dtype=kind) for _ in range(2))
    scores, winners = torch.ones(3, 2, dtype=kind), torch.zeros(2, 2, width, dtype=torch.int32)
    for weights in (None, scores):
        calls.sum_rows(offsets, ids, weights, x)
        calls.max_rows(offsets, ids, weights, x, weights is not None, winners)
        calls.sum_won(offsets, ids, ids, winners, weights, y)
    products = (offsets, ids, x[:, 0], ids, x[:, 1])
    calls.sum_products(*products)
    for adds in (False, True):
        calls.max_weighted_by_products(*products, y[:, 0], adds, winners[:, 0].contiguous())
    for embeddings in (None, x):
        calls.dot_won(offsets, ids, winners, embeddings, y)
    calls.dot_edges(offsets, ids, x, y)
    calls.leaky_dot_edges(offsets, ids, x, y, x[0], 0.2)
    for places in (None, ids):
        calls.leaky_sums(offsets, ids, places, scores, x, y, 0.2)
        calls.sum_edges(offsets, places, scores)
    calls.softmax_edges(offsets, scores)
    calls.softmax_gradients(offsets, scores, scores)


def add_rows(dtype: str, width: int) -> None:
    """Launch one kernel of each shape on embeddings: a result per row, two per row, and one per edge."""
    calls, x = torch.ops.tgraph, torch.ones(2, 2, width, dtype=getattr(torch, dtype))
    offsets, ids = torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1], dtype=torch.int32)
    calls.sum_rows(offsets, ids, None, x)
    calls.max_rows(offsets, ids, None, x, False, torch.zeros(2, 2, width, dtype=torch.int32))
    calls.dot_edges(offsets, ids, x, x)


def sample(ids: str) -> None:
    """Launch every way of drawing."""
    places = [torch.ones(3, dtype=torch.int64) for _ in range(3)] + [torch.arange(4)]
    neighbors = torch.zeros(9, dtype=getattr(torch, ids))
    for fanout, replace, sums in (
        (-1, False, None),
        (4, True, None),
        (4, True, torch.ones(9).double()),
        (4, False, None),
    ):
        torch.ops.tgraph.draw_edges(places, neighbors, sums, fanout, replace, 2**40, 3, 1)


def read_far(dtype: str) -> None:
    torch.ops.tgraph.gather_far(torch.ones(5, 7, dtype=getattr(torch, dtype)), torch.arange(3))


def with_sizes(sizes: dict[str, int], multiprocessors: int, run: Callable[[], None]) -> None:
    """Launch with other sizes than the defaults."""
    device, count = torch.device("cpu"), launch.multiprocessors
    launch.use_sizes(device, dataclasses.replace(launch.DEFAULTS, **sizes))
    launch.multiprocessors = lambda device: multiprocessors
    try:
        run()
    finally:
        launch.use_sizes(device, launch.DEFAULTS)
        launch.multiprocessors = count


def everything() -> dict[str, Callable[[], None]]:
    """Return every case by name; kernels then serve CPU tensors."""
    registry.KERNELS["cpu"] = "gpu"
    some = graph()
    cases: dict[str, Callable[[], None]] = {}
    for dtype, reduce in PAIRS:
        cases[f"program {reduce} {dtype}"] = partial(run_program, some, dtype, reduce)
        cases[f"segment_reduce {reduce} {dtype}"] = partial(reduce_segments, dtype, reduce)
    for dtype in EMBEDDINGS:
        cases[f"embeddings {dtype}"] = partial(aggregate, dtype, WIDTH)
        cases[f"gather_far {dtype}"] = partial(read_far, dtype)
    for ids in ("int32", "int64"):
        cases[f"sampling {ids}"] = partial(sample, ids)
    return cases | cases_of_other_sizes(some)


def cases_of_other_sizes(some: tg.Graph) -> dict[str, Callable[[], None]]:
    """Return a case for each candidate of tuning, and one for frontiers of few edges; in the widest type."""
    on_edges, on_rows = partial(run_program, some, "float64", "mean"), partial(add_rows, "float64", WIDTH)
    cases: dict[str, Callable[[], None]] = {"few edges": partial(with_sizes, {}, 100, on_edges)}
    for kind, candidates in tuning.CANDIDATES.items():
        for sizes in candidates:
            run = on_rows if kind == "rows" else on_edges
            cases[f"tuned {kind} {sizes}"] = partial(with_sizes, sizes, 1, run)
    return cases
