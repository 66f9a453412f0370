"""Triton modules that are written while the program runs, and what they are compiled with."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch
import triton

from tgraph.kernels.generated import load_generated
from tgraph.kernels.gpu import accumulators, segments
from tgraph.kernels.gpu.fused import elements


@cache
def load_kernel(text: str) -> ModuleType:
    """Return the module of a kernel's text."""
    return load_generated(text, (accumulators, elements, segments), (triton.__version__, torch.__version__))
