"""Runs NetworkX's own tests in the back end, in processes of their own, and tells what failed and what ran here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
OPTIONS = ("-c", os.devnull, "-p", "suite_counter", "-p", "no:cacheprovider", "-q", "--tb=short")  # no settings of ours
FAMILIES = (  # where most of the functions that run here are tested; all of the suite takes three times as long
    "algorithms/assortativity",
    "algorithms/bipartite/tests/test_basic.py",
    "algorithms/centrality",
    "algorithms/coloring",
    "algorithms/community/tests/test_louvain.py",
    "algorithms/community/tests/test_quality.py",
    "algorithms/community/tests/test_label_propagation.py",
    "algorithms/components",
    "algorithms/link_analysis",
    "algorithms/operators",
    "algorithms/shortest_paths",
    "algorithms/tests/test_bridges.py",
    "algorithms/tests/test_cluster.py",
    "algorithms/tests/test_core.py",
    "algorithms/tests/test_cuts.py",
    "algorithms/tests/test_dag.py",
    "algorithms/tests/test_efficiency.py",
    "algorithms/tests/test_euler.py",
    "algorithms/tests/test_link_prediction.py",
    "algorithms/tests/test_matching.py",
    "algorithms/tests/test_reciprocity.py",
    "algorithms/tests/test_regular.py",
    "algorithms/tests/test_richclub.py",
    "algorithms/tests/test_tournament.py",
    "algorithms/tests/test_voronoi.py",
    "algorithms/tests/test_wiener.py",
    "algorithms/traversal",
    "algorithms/tree",
    "generators/tests/test_classic.py",
)


@dataclass(frozen=True)
class SuiteRun:
    """What came of it: pytest's last lines, whether all is as expected, and the tests that each function ran in."""

    summary: str
    is_as_expected: bool
    tests: dict[str, set[str]]

    @property
    def num_tests(self) -> int:
        """How many tests ran at least one function of the back end."""
        return len(set().union(*self.tests.values()))


def run_suite(families: tuple[str, ...] = (), workers: int = 2) -> SuiteRun:
    """Run some families of the suite, or all of it."""
    import networkx

    root = Path(networkx.__file__).parent
    with TemporaryDirectory() as folder:
        paths = [str(root / family) for family in families] or [str(root)]
        settings = {"NETWORKX_TEST_BACKEND": "tgraph", "NETWORKX_FALLBACK_TO_NX": "True", "TGRAPH_SUITE_COUNTS": folder}
        places = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, "-n", str(workers), *paths],
            env={**os.environ, **settings, "PYTHONPATH": places},
            cwd=folder,
            capture_output=True,
            text=True,
        )
        return SuiteRun("\n".join(run.stdout.splitlines()[-60:]), run.returncode == 0, _read_counts(Path(folder)))


def _read_counts(folder: Path) -> dict[str, set[str]]:
    tests: dict[str, set[str]] = {}
    for file in folder.glob("*.json"):
        for name, found in json.loads(file.read_text()).items():
            tests.setdefault(name, set()).update(found)
    return tests
