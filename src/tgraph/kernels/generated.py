"""Kernels that are written while the program runs: kept on disk under a name made from what they say.

Compilers keep their code beside a module's file, or under the hash of its text. A module named by the hash of its text,
of every module that it is compiled with, and of the versions, is found again by any process and never stands for
anything else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

from tgraph.config import config
from tgraph.kernels.sources import fingerprint


def load_generated(text: str, versions: Iterable[str]) -> ModuleType:
    """Return the module of a kernel's text, written before or not."""
    name = f"tgraph_kernel_{_name(text, versions)}"
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


def _name(text: str, versions: Iterable[str]) -> str:
    digest = hashlib.sha256(fingerprint(text))
    digest.update(repr((*versions, sys.version, platform.machine())).encode())
    return digest.hexdigest()[:24]


def _write(path: Path, text: str) -> None:
    """Write to a name of this thread and rename: others see the whole file or none."""
    temporary = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    temporary.write_text(text)
    os.replace(temporary, path)
