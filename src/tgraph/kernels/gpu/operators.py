"""The kernels as operators of torch, `torch.ops.tgraph.*`: one implementation for GPUs, one for CPU tensors.

On CUDA, ROCm (which torch calls CUDA too) and XPU an operator launches its kernel. On CPU tensors it does so in
Triton's interpreter, where that is switched on, and otherwise calls a twin made of torch's own operations or of the CPU
kernels; a device of the tests that hides CPU tensors arrives there as well. So who calls an operator need not know.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from tgraph.errors import InvalidProgramError
from tgraph.kernels.gpu import compaction, launch, segments
from tgraph.runtime.torch import reductions
from tgraph.runtime.torch.runtime import numpy_dtype

_library = torch.library.Library("tgraph", "DEF")  # operators stay registered while it lives
_GPU_KEYS = ("CUDA", "XPU")


def define(schema: str, kernel: Callable[..., Any], twin: Callable[..., Any], shapes: Callable[..., Any]) -> None:
    """Define an operator: what it launches on GPUs, its twin on the CPU, and which tensors it returns."""
    name = schema.partition("(")[0]
    _library.define(schema)
    for key in _GPU_KEYS:
        _library.impl(name, _on_its_device(kernel), key)
    _library.impl(name, kernel if launch.is_interpreted() else twin, "CPU")
    torch.library.register_fake(f"tgraph::{name}", shapes, lib=_library)


def _on_its_device(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Launch on the device of the tensors, also where that is not the current one."""

    def run(*args: Any) -> Any:
        tensor = next(one for one in _flat(args) if isinstance(one, torch.Tensor) and one.device.type != "cpu")
        with torch.get_device_module(tensor.device).device(tensor.device):
            return kernel(*args)

    return run


def _flat(values: Any) -> Any:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _run_program(
    module: str, entry: str, size: int, read: Any, written: Any, numbers: Any, block: int, warps: int
) -> None:
    kernel = getattr(sys.modules[module], entry)
    kernel[launch.programs(size, block)](*read, *written, *numbers, BLOCK=block, num_warps=warps)


def _refuse_program(module: str, *_: Any) -> None:
    raise InvalidProgramError(
        f"{module} is a Triton kernel and its tensors are on the CPU; use a graph on a GPU, or set TRITON_INTERPRET=1"
    )


def _segment_reduce_plainly(values: torch.Tensor, offsets: torch.Tensor, reduce: str) -> torch.Tensor:
    return reductions.segment_reduce(values, offsets, reduce, numpy_dtype(values.dtype))


def _fill_queue_plainly(mask: torch.Tensor, new_queue: torch.Tensor) -> torch.Tensor:
    places = torch.nonzero(mask).flatten()
    new_queue[: places.shape[0]] = places
    return torch.full((1,), places.shape[0])


define(
    "run_program(str module, str entry, int size, Tensor[] read, Tensor(a!)[] written, int[] numbers, int block, "
    "int warps) -> ()",
    _run_program,
    _refuse_program,
    lambda *_: None,
)
define(
    "join_rows(Tensor offsets, Tensor rows, Tensor heads, Tensor tails, Tensor nothing, Tensor(a!) new_reduced, "
    "str reduce, int num_blocks, int block) -> ()",
    segments.join_rows,
    lambda *_: _refuse_program("join_rows"),
    lambda *_: None,
)
define(
    "segment_reduce(Tensor values, Tensor offsets, str reduce) -> Tensor",
    segments.segment_reduce,
    _segment_reduce_plainly,
    lambda values, offsets, reduce: values.new_empty(
        offsets.shape[0] - 1, dtype=torch.int64 if reduce == "count" else values.dtype
    ),
)
define(
    "fill_queue(Tensor mask, Tensor(a!) new_queue) -> Tensor",
    compaction.fill_queue,
    _fill_queue_plainly,
    lambda mask, new_queue: mask.new_empty(1, dtype=torch.int64),
)

run_program = torch.ops.tgraph.run_program
segment_reduce = torch.ops.tgraph.segment_reduce
fill_queue = torch.ops.tgraph.fill_queue
