"""docs/gpu.md lists the types and reductions that are compiled and tested."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")


def test_the_table_is_that_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    from launched_cases import DTYPES, PAIRS

    text = (Path(__file__).parents[3] / "docs" / "gpu.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    listed = [(row[0], reduce) for row in rows if row[0] in DTYPES for reduce in row[1].split(", ")]
    assert listed == PAIRS
