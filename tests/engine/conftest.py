"""Fixtures for tests of engines."""

from __future__ import annotations

import pytest

from tgraph.memory import edge_stream


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few edges, none kept near, so that small graphs have many of them and rows in pieces."""
    monkeypatch.setattr(edge_stream, "SMALLEST_BLOCK_BYTES", 32)
    monkeypatch.setattr(edge_stream, "BLOCK_BYTES", 32)
