"""The runtime on NumPy arrays: needs nothing beyond the package's own dependencies."""

from tgraph.runtime.numpy.runtime import NumpyRuntime, create

__all__ = ["NumpyRuntime", "create"]
