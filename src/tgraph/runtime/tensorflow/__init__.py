"""The runtime on TensorFlow's eager tensors."""

from tgraph.runtime.tensorflow.runtime import TensorFlowRuntime, create
from tgraph.runtime.tensorflow.tensor import TensorFlowTensor

__all__ = ["TensorFlowRuntime", "TensorFlowTensor", "create"]
