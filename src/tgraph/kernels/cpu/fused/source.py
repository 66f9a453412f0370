"""Numba kernels that are written while the program runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.watch import new_shared
from tgraph.kernels.generated import load_generated


@cache
def load_kernel(text: str) -> ModuleType:
    """Return the module of a kernel's text, compiled before or not."""
    return load_generated(text, (numba.__version__, np.__version__))


def compile_worker(worker: Callable[..., None], args: list[Any]) -> None:
    """Compile a worker for these arguments, with which it has nothing to do, or take its code from the disk."""
    try:
        worker(0, 1, new_shared(1), *args)
    except NumbaError as error:
        raise NotTranslatableError(f"Numba cannot compile it: {str(error).strip().splitlines()[-1]}") from error
