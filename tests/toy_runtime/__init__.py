"""A runtime for tests, made by following docs/add-a-runtime.md: read-only NumPy arrays under another name."""

from toy_runtime.runtime import ToyRuntime, create

__all__ = ["ToyRuntime", "create"]
