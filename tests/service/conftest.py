"""What tests of journals share."""

from __future__ import annotations

from pathlib import Path

import pytest

import tgraph as tg
from journals import small_batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of 7 batches, with snapshots after 3 and 6."""
    with tg.stream.open(tmp_path / "journal", weighted=True, snapshot_every=3) as stream:
        for number in range(1, 8):
            stream.apply(small_batch(number))
    return tmp_path / "journal"
