"""The Triton kernels in Triton's interpreter: every file of the folder `interpreted`, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.parametrize("file", sorted(path.name for path in (HERE / "interpreted").glob("test_*.py")))
def test_kernels_in_the_interpreter(file: str) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    paths = [str(ROOT / "src"), str(ROOT / "tests"), str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "interpreted" / file)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
