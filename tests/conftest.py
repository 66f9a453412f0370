"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
