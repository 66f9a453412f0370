"""Tensor runtimes: one folder each, found by name, imported when first used."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from tgraph.config import RUNTIMES, config
from tgraph.errors import InvalidArgumentError, MissingDependencyError, check_choice
from tgraph.runtime.protocol import Array, Runtime, Tensor

__all__ = ["Array", "Runtime", "Tensor", "get", "is_tensor", "of", "register"]


def get(name: str | None = None, device: str | None = None) -> Runtime:
    """Return the runtime called `name` on `device`; the configured ones where they are not given.

    >>> get("numpy").full(2, 7, "int32")
    array([7, 7], dtype=int32)
    """
    name = config.runtime if name is None else name
    check_choice("runtime", name, tuple(RUNTIMES))
    if device is None:
        device = config.device if name == config.runtime else "cpu"
    return _load(name, str(device))


def register(name: str, module: str) -> None:
    """Make a runtime known that is not part of the package: `module` has its `create(device)`; see add-a-runtime.md."""
    RUNTIMES[name] = module


def of(tensor: Tensor) -> Runtime:
    """Return the runtime and device that a tensor belongs to."""
    name = _runtime_name(tensor)
    if name is None:
        raise InvalidArgumentError(f"a {type(tensor).__name__} is not a tensor of a known runtime {tuple(RUNTIMES)}")
    return _load(name, str(getattr(tensor, "device", "cpu")))


def is_tensor(value: Any) -> bool:
    """Say whether `value` is a tensor of a known runtime, not a scalar."""
    return _runtime_name(value) is not None and getattr(value, "ndim", 0) > 0


def _runtime_name(value: Any) -> str | None:
    """Return the name of the runtime that a tensor belongs to: its class says it, or its library is called so."""
    kind = type(value)
    name = getattr(kind, "runtime_name", None) or kind.__module__.partition(".")[0].removesuffix("lib")
    return name if name in RUNTIMES else None


@cache
def _load(name: str, device: str) -> Runtime:
    try:
        module = importlib.import_module(RUNTIMES[name])
    except ModuleNotFoundError as error:
        raise MissingDependencyError(name, f"runtime={name!r}", extra=name) from error
    runtime: Runtime = module.create(device)
    return runtime
