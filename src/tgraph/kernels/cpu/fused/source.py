"""Kernels that are written while the program runs: kept on disk under a name made from what they say.

Numba keeps compiled code beside a module's file. A module named by the hash of its text, of every module that it is
compiled with, and of the versions, is found again by any process and never stands for anything else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from tgraph.config import config
from tgraph.kernels.cpu import atomics, barrier, clock, gapped_rows, hot_places, pages, prefetch, team
from tgraph.kernels.cpu.fused import functions
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.watch import SHARED_SIZE

_COMPILED_WITH = (atomics, barrier, clock, gapped_rows, hot_places, pages, prefetch, team, functions)


@cache
def load_kernel(text: str) -> ModuleType:
    """Return the module of a kernel's text, compiled before or not."""
    name = f"tgraph_kernel_{_fingerprint(text)}"
    path = kernel_folder() / f"{name}.py"
    if not path.exists():
        _write(path, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compile_worker(worker: Callable[..., None], *args: Any) -> None:
    """Compile a worker for these arguments, with which it has nothing to do, or take its code from the disk."""
    try:
        worker(0, 1, np.zeros(SHARED_SIZE, np.int64), *args)
    except NumbaError as error:
        raise NotTranslatableError(f"Numba cannot compile it: {str(error).strip().splitlines()[-1]}") from error


@cache
def kernel_folder() -> Path:
    """Return the folder of kernels: the configured one, or one for this process where that cannot be written."""
    folder = Path(config.cache_dir) / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="tgraph-kernels-"))


def _fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for module in _COMPILED_WITH:
        digest.update(Path(str(module.__file__)).read_bytes())
    digest.update(repr((numba.__version__, np.__version__, sys.version, platform.machine())).encode())
    return digest.hexdigest()[:24]


def _write(path: Path, text: str) -> None:
    """Write to a name of this process and rename: others see the whole file or none."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(text)
    os.replace(temporary, path)
