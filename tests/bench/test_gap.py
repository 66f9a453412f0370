"""The GAP suite's adapter, with programs that only print what the real ones would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tgraph.bench.candidate import CandidateError
from tgraph.bench.gap import GapCandidate, judge
from tgraph.bench.graphs import prepare

PRINTS = """#!/bin/sh
echo "$@" >> {log}
echo "Trial Time:          0.50000"
echo "Trial Time:          0.25000"
echo "{answer}"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "gap"
    folder.mkdir()
    answers = {"bfs": "BFS Tree has 3 nodes and 4 edges", "sssp": "SSSP Tree reaches 3 nodes", "bc": "1:1"}
    for name, answer in answers.items():
        program = folder / name
        program.write_text(PRINTS.format(log=folder / "log", answer=answer))
        program.chmod(0o755)
    return folder


@pytest.fixture
def candidate(suite: Path, tmp_path: Path) -> GapCandidate:
    candidate = GapCandidate(suite, threads=2, limit_seconds=20)
    candidate.load(prepare("rmat4", tmp_path)["undirected"], weighted=False)
    return candidate


def test_the_second_trial_counts(candidate: GapCandidate, suite: Path) -> None:
    outcome = candidate.run("bfs", {"source": 7}, wants_answer=True)
    assert outcome.seconds == 0.25
    command = (suite / "log").read_text().split()
    assert command[command.index("-r") + 1] == "7"
    assert command[command.index("-n") + 1] == "2"


def test_several_sources_are_several_processes(candidate: GapCandidate, suite: Path) -> None:
    assert candidate.run("betweenness", {"sources": [1, 2, 3, 4]}, wants_answer=False).seconds == 1.0
    assert len((suite / "log").read_text().splitlines()) == 4


def test_the_best_bucket_width_is_looked_for_once(candidate: GapCandidate, suite: Path) -> None:
    for _ in range(2):
        candidate.run("sssp", {"source": 1}, wants_answer=False)
    widths = [line.split()[line.split().index("-d") + 1] for line in (suite / "log").read_text().splitlines()]
    assert widths == ["1", "2", "4", "8", "16", "32", "64", "128", "256", "1", "1"]


def test_a_program_that_fails_is_reported(candidate: GapCandidate, suite: Path) -> None:
    (suite / "bfs").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(CandidateError, match="ended with 3: broken"):
        candidate.run("bfs", {"source": 1}, wants_answer=False)


def test_only_what_is_built_takes_part(candidate: GapCandidate) -> None:
    assert candidate.skips("bfs", directed=False) == ""
    assert candidate.skips("triangles", directed=False) == "tc is not built"
    assert candidate.skips("louvain", directed=False) == "has no such algorithm"


def test_scores_of_single_sources_do_not_count_as_compared() -> None:
    assert judge("betweenness", [1.0, 2.0], ["1:1"]).agrees is None


@pytest.mark.parametrize(
    ("task", "ours", "printed", "agrees"),
    [
        ("bfs", [0, 1, 1, -1], "BFS Tree has 3 nodes and 4 edges", True),
        ("bfs", [0, 1, -1, -1], "BFS Tree has 3 nodes and 4 edges", False),
        ("bfs", [0, 1, 1, -1], "BFS Tree has 3 nodes\nVerification: FAIL", False),
        ("sssp", [0.0, 2.0, np.inf], "SSSP Tree reaches 2 nodes", True),
        ("wcc", [0, 0, 2], "There are 2 components", True),
        ("wcc", [0, 0, 0], "There are 2 components", False),
        ("triangles", 12, "12 triangles", True),
        ("triangles", 12, "nothing", False),
        ("pagerank", [0.6, 0.3, 0.1], "0:0.12\n1:0.06", True),
        ("pagerank", [0.6, 0.5, 0.1], "0:0.12\n1:0.06", False),
    ],
)
def test_what_it_prints_is_compared_with_our_answer(task: str, ours: object, printed: str, agrees: bool) -> None:
    assert judge(task, ours, [printed]).agrees == agrees
