"""NetworkX's own tests judge the back end, and the page that says what they found is current."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from networkx_suite import FAMILIES, run_suite

from tgraph.interop.networkx.differences import DIFFERENCES
from tgraph.interop.networkx.dispatch import backend
from tgraph.interop.networkx.registry import FUNCTIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "networkx_coverage.md"


def test_networkxs_own_tests_pass() -> None:
    if "tgraph" not in entry_points(group="networkx.backends").names:
        pytest.skip("the entry points are not installed: this environment was made before they were; install again")
    run = run_suite(FAMILIES)
    assert run.is_as_expected, run.summary
    assert len(run.tests) > 120, sorted(run.tests)
    assert run.num_tests > 1000


def test_few_differences_each_with_a_reason() -> None:
    assert len(DIFFERENCES) <= 25
    assert all(len(reason) > 20 for reason in DIFFERENCES.values())
    assert callable(backend.on_start_tests)


def test_the_page_of_coverage_lists_the_functions() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == sorted(FUNCTIONS), "run: python docs/make_networkx_coverage.py"
