"""Dense products of a layer, by the kernel that is faster on this processor."""

from __future__ import annotations

import torch
from torch import Tensor

from tgraph.kernels.cpu import dense_products
from tgraph.kernels.cpu.tensor_calls import as_arrays

FEWEST = 1 << 19  # multiplications; below that starting a kernel takes as long as torch's product


def multiplied(a: Tensor, b: Tensor, is_transposed: bool = False, bias: Tensor | None = None) -> Tensor:
    """Return `a @ b`, or `a.T @ b`, with a bias added to every row; without gradients.

    >>> multiplied(torch.ones(3, 2), torch.ones(3, 1), is_transposed=True, bias=torch.ones(1)).tolist()
    [[4.0], [4.0]]
    """
    if not _is_for_kernel(a, b):
        product = (a.t() if is_transposed else a) @ b
        return product if bias is None else product.add_(bias)
    shape = (a.shape[1] if is_transposed else a.shape[0], b.shape[1])
    new = a.new_empty(shape) if bias is None else bias.detach().expand(shape).contiguous()
    dense_products.multiply(*as_arrays(a, b, is_transposed, bias is not None, new))
    return new


def _is_for_kernel(a: Tensor, b: Tensor) -> bool:
    is_known = a.device.type == "cpu" and a.dtype == b.dtype and a.dtype in (torch.float32, torch.float64)
    return is_known and a.numel() * b.shape[1] >= FEWEST and dense_products.is_faster_here()
