"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("repeatable", derandomize=True)  # CI tries the same examples each time, developers new ones
if os.environ.get("CI"):
    settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real graphs beside the repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real graphs are not here: {folder} is absent")
    return folder


@pytest.fixture(params=["torch", "numpy"])
def runtime_name(request: pytest.FixtureRequest) -> str:
    """Every runtime, by name."""
    return str(request.param)
