"""The functions of the back end, one file per family; importing a file registers its functions."""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Import every family."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
