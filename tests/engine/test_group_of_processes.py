"""Groups of real processes, joined by gloo. Few and small: a launch takes seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from launch import ROOT, launch

RANKS = ROOT / "tests" / "ranks"


@pytest.mark.parametrize("size", [2, 4])
def test_answers_are_those_of_one_process(size: int) -> None:
    done = launch(size, str(RANKS / "answers.py"))
    assert done.returncode == 0, done.stderr
    assert f"all answers are right on {size}" in done.stdout


def test_a_silent_rank_is_named() -> None:
    done = launch(3, str(RANKS / "lost.py"), "hangs", timeout_seconds=60)
    assert done.returncode != 0
    assert "waited in vain for rank 2 of 3" in done.stdout, done.stderr


def test_a_rank_that_ends_is_the_end_of_the_group() -> None:
    done = launch(3, str(RANKS / "lost.py"), "ends", timeout_seconds=60)
    assert done.returncode != 0
    assert "Root Cause" in done.stderr  # torchrun names it, and ends the others


def test_a_process_that_nobody_launched_is_alone() -> None:
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "PATH": ""}
    done = subprocess.run([sys.executable, RANKS / "answers.py"], env=environment, capture_output=True, text=True)
    assert "all answers are right on 1" in done.stdout, done.stderr
