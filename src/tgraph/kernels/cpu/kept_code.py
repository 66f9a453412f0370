"""When the compiled code that Numba keeps on disk is used again: while nothing that it was compiled from has changed.

Numba looks at the file of the function alone. A new version of tgraph in which another module changed, of which the
function calls a kernel, would run the old code of that kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CacheImpl

from tgraph.kernels.sources import fingerprint

_FOLDER = str(Path(__file__).parent)


class KernelLocator:
    """Where Numba keeps the code of one of our kernels: where it would do so anyway, with another stamp."""

    def __init__(self, locator: Any, path: str) -> None:
        self._locator, self._path = locator, path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._locator, name)

    def get_source_stamp(self) -> bytes:
        """Return what must be the same for the code to be used again."""
        return _stamp(self._path)

    @classmethod
    def from_function(cls, function: Callable[..., Any], path: str) -> KernelLocator | None:
        """Return the locator of a function, or None for one that is not ours."""
        if not path.startswith(_FOLDER):
            return None
        others = (other for other in CacheImpl._locator_classes if other is not cls)
        found = next(filter(None, (other.from_function(function, path) for other in others)), None)
        return None if found is None else cls(found, path)


def keep_by_sources() -> None:
    """Let Numba ask for our stamp for the kernels of this package."""
    if KernelLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, KernelLocator)


@cache
def _stamp(path: str) -> bytes:
    return fingerprint(Path(path).read_text(encoding="utf-8"))
