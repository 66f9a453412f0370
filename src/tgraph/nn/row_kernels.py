"""The kernels on embeddings for the device at hand: those of the CPU on CPU tensors, operators elsewhere.

All have the names and arguments of `tgraph.kernels.cpu.tensor_calls`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from tgraph.kernels.cpu import tensor_calls
from tgraph.kernels.registry import kernels_on


def kernels_of(tensor: Tensor) -> str | None:
    """Return which kernels serve a tensor, `cpu` or `gpu`; None: there are none, `tgraph.nn.plain` is used."""
    return kernels_on(tensor.device.type)


def row_kernels(tensor: Tensor) -> ModuleType | Any:
    """Return the kernels that serve a tensor."""
    if kernels_of(tensor) == "cpu":
        return tensor_calls
    import tgraph.kernels.gpu.row_operators  # noqa: F401 - which defines the operators

    return torch.ops.tgraph
