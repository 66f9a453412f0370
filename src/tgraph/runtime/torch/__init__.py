"""The runtime on PyTorch tensors, on any device that PyTorch has."""

from tgraph.runtime.torch.runtime import TorchRuntime, create

__all__ = ["TorchRuntime", "create"]
