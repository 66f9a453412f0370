"""The runtime on JAX arrays: see `tgraph.runtime.jax.tensor` for how their shapes stay few."""

from tgraph.runtime.jax.runtime import JaxRuntime, create
from tgraph.runtime.jax.tensor import JaxTensor

__all__ = ["JaxRuntime", "JaxTensor", "create"]
