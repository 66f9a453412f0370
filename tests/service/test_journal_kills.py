"""Processes that are killed at random points lose nothing that they acknowledged.

`benchmarks/journal_kills.py --kills 200` does the same at length.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "journal_kills.py"


def test_processes_that_are_killed() -> None:
    command = [sys.executable, str(SCRIPT), "--kills", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 kills" in done.stdout
    assert "none lost, none applied twice, all results right" in done.stdout
