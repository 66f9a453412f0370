"""Candidates without processes of their own, so that the benchmark's logic is tested in little time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tgraph.bench import run
from tgraph.bench.candidate import CandidateError, Outcome
from tgraph.bench.peers import load_peer
from tgraph.bench.worker import Worker

Change = Callable[[str, str, Any], Any]  # candidate, task, answer -> answer, or an error is raised


def replace_candidates(monkeypatch: pytest.MonkeyPatch, change: Change = lambda name, task, answer: answer) -> None:
    """Let the benchmark run its candidates in this process; `change` may falsify an answer."""

    class InProcess:
        def __init__(self, name: str, threads: int, limit_seconds: float) -> None:
            self.name, self.worker = name, Worker(load_peer(name), threads)
            self.loaded: tuple[Path, bool] | None = None

        def load(self, file: Path, weighted: bool) -> Outcome:
            self.loaded = (file, weighted)
            return Outcome(*self.worker.load(str(file), weighted))

        def run(self, task: str, parameters: dict[str, Any], wants_answer: bool) -> Outcome:
            seconds, answer = self.worker.run(task, parameters, wants_answer)
            return Outcome(seconds, change(self.name, task, answer))

        def close(self) -> None:
            self.loaded = None

    monkeypatch.setattr(run, "LibraryCandidate", InProcess)


def one_level_off(name: str, task: str, answer: Any) -> Any:
    """Falsify what SciPy says about the levels."""
    return answer if name != "scipy" or answer is None else np.asarray(answer) + 1


def all_at_the_start(name: str, task: str, answer: Any) -> Any:
    """Falsify what tgraph says about the levels."""
    return answer if name != "tgraph" or answer is None else np.zeros_like(answer)


def fail(name: str, task: str, answer: Any) -> Any:
    """Let SciPy fail."""
    if name == "scipy":
        raise CandidateError("ended after 3 s")
    return answer
