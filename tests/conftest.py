"""Fixtures for all tests."""

from __future__ import annotations

import gc
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from fake_accelerator import Counters

collect_ignore = ["fake_accelerator.py"]  # looking for doctests would import it again, and a device registers once
collect_ignore_glob = ["ranks/*"]  # programs that a launcher starts

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("repeatable", derandomize=True)  # CI tries the same examples each time, developers new ones
if os.environ.get("CI"):
    settings.load_profile("repeatable")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of what a shell runs in the background: Ctrl-C is tested too
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real graphs beside the repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real graphs are not here: {folder} is absent")
    return folder


@pytest.fixture(params=["torch", "numpy"])
def runtime_name(request: pytest.FixtureRequest) -> str:
    """The runtimes whose tensors are written in place; `tests/conformance` has the tests that run on every runtime."""
    return str(request.param)


@pytest.fixture
def fake_accelerator() -> Iterator[Counters]:
    """A strict torch device, `fake`: its counters, from zero, and its budget, to be set by the test."""
    from fake_accelerator import counters

    gc.collect()  # tensors that other tests left in cycles
    counters.reset()
    yield counters
    counters.budget_bytes, counters.refuses = math.inf, None
