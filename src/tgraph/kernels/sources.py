"""What a kernel is compiled from: its own text, and every module of kernels that it imports, one through another.

Compilers that keep their code look at the file of a function alone, and would go on with the old code of another one
that is compiled into it.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_IMPORT = re.compile(r"^from tgraph\.kernels([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def fingerprint(text: str) -> bytes:
    """Return what tells a text and all that it is compiled with from any other.

    >>> one, other = "from tgraph.kernels.cpu.team import part", "from tgraph.kernels.cpu.team import JIT"
    >>> fingerprint(one) == fingerprint(one), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    found: set[Path] = set()
    waiting = _imported(text)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _read(path)[1]
    digest = hashlib.sha256(text.encode())
    for path in sorted(found):
        digest.update(_read(path)[0])
    return digest.digest()


@cache
def _read(path: Path) -> tuple[bytes, list[Path]]:
    """Return the hash of a module's text, and the modules that it imports."""
    text = path.read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).digest(), _imported(text)


def _imported(text: str) -> list[Path]:
    """Return the files of the kernels' modules that a text imports, or imports something from."""
    found = []
    for match in _IMPORT.finditer(text):
        module = _FOLDER.joinpath(*match[1].split("."))
        names = re.findall(r"\w+", match[2])
        found += [module.with_suffix(".py"), module / "__init__.py", *(module / f"{name}.py" for name in names)]
    return [path for path in found if path.is_file()]
