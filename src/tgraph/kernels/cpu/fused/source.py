"""Numba kernels that are written while the program runs, and what they are compiled with."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from tgraph.kernels.cpu import atomics, barrier, clock, gapped_rows, hot_places, pages, prefetch, short_floats, team
from tgraph.kernels.cpu.fused import functions, momentum
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.watch import SHARED_SIZE
from tgraph.kernels.generated import load_generated

_SHARED = (atomics, barrier, clock, gapped_rows, hot_places, pages, prefetch, short_floats, team)
_COMPILED_WITH = (*_SHARED, functions, momentum)


@cache
def load_kernel(text: str) -> ModuleType:
    """Return the module of a kernel's text, compiled before or not."""
    return load_generated(text, _COMPILED_WITH, (numba.__version__, np.__version__))


def compile_worker(worker: Callable[..., None], *args: Any) -> None:
    """Compile a worker for these arguments, with which it has nothing to do, or take its code from the disk."""
    try:
        worker(0, 1, np.zeros(SHARED_SIZE, np.int64), *args)
    except NumbaError as error:
        raise NotTranslatableError(f"Numba cannot compile it: {str(error).strip().splitlines()[-1]}") from error
