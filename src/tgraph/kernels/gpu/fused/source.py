"""Triton modules that are written while the program runs."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch
import triton

from tgraph.kernels.generated import load_generated


@cache
def load_kernel(text: str) -> ModuleType:
    """Return the module of a kernel's text."""
    return load_generated(text, (triton.__version__, torch.__version__))
