"""The tour of the documentation, followed to the letter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "quickstart.md"


def test_the_tour_runs_from_its_first_line_to_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n2,3\n")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"nx_graph": nx.path_graph(3)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    assert names["result"]["cy"] == 3.0
