"""Dropout with a kernel on the CPU, where torch's own can take most of the time of training a small model.

Which numbers are left out follows from one number of torch's random generator (`torch.manual_seed`) and from their
places, not from how many threads there are. No mask is kept for the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tgraph.kernels.cpu.dropped import drop
from tgraph.kernels.cpu.tensor_calls import as_arrays

LARGEST_KEY = 2**63 - 1


class Dropout(nn.Dropout):
    """torch's `Dropout`, with other random numbers on the CPU.

    >>> _ = torch.manual_seed(1)
    >>> sorted(set(Dropout(0.5)(torch.ones(100)).tolist()))
    [0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        is_served = input.device.type == "cpu" and input.dtype in (torch.float32, torch.float64) and 0 < self.p < 1
        if not self.training or not is_served:
            return super().forward(input)
        key = int(torch.randint(LARGEST_KEY, ()))
        dropped: Tensor = _Drop.apply(input, self.p, key)
        return dropped


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, share: float, key: int) -> Tensor:
        ctx.how = share, key
        dropped = torch.empty(x.shape, dtype=x.dtype)
        drop(*as_arrays(x, share, key, dropped))
        return dropped

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Drop.apply(gradient, *ctx.how), None, None
