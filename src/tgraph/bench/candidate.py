"""A candidate as the benchmark sees it: load a graph, do a task, say how long it took and what came out."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

from tgraph.bench.peers import Parameters

START_LIMIT_SECONDS, LOAD_LIMIT_SECONDS = 120.0, 600.0
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class CandidateError(Exception):
    """A candidate failed, or was ended at the time limit."""


@dataclass(frozen=True)
class Outcome:
    """How long a task took, and its answer where it was asked for."""

    seconds: float
    answer: Any = None


def environment(threads: int) -> dict[str, str]:
    """Return the environment of every candidate: the same threads and the same pages for all."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "TGRAPH_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, str(threads)), **HUGE_PAGES}


class LibraryCandidate:
    """A library in a process of its own, so that a failure or a time limit ends only this candidate."""

    def __init__(self, name: str, threads: int, limit_seconds: float) -> None:
        self.name, self.threads, self.limit_seconds = name, threads, limit_seconds
        self.loaded: tuple[Path, bool] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def load(self, file: Path, weighted: bool) -> Outcome:
        """Let the library take a graph over."""
        if self._process is None:
            self._start()
        self.loaded = None
        outcome = self._order(LOAD_LIMIT_SECONDS, "load", os.fspath(file), weighted)
        self.loaded = (file, weighted)
        return outcome

    def run(self, task: str, parameters: Parameters, wants_answer: bool) -> Outcome:
        """Do a task."""
        return self._order(self.limit_seconds, "run", task, dict(parameters), wants_answer)

    def close(self) -> None:
        """End the process."""
        self.loaded = None
        if self._process is not None:
            self._pipe.close()
            self._process.kill()
            self._process.wait()
            self._process = None
            self._errors.close()

    def _start(self) -> None:
        self._pipe, theirs = Pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        command = [sys.executable, "-m", "tgraph.bench.worker", self.name, str(self.threads), str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            env=environment(self.threads),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )
        theirs.close()
        self._receive(START_LIMIT_SECONDS)

    def _order(self, limit_seconds: float, *order: Any) -> Outcome:
        self._pipe.send(order)
        reply = self._receive(limit_seconds)
        if isinstance(reply, str):
            raise CandidateError(reply)
        return Outcome(*reply)

    def _receive(self, limit_seconds: float) -> Any:
        if not self._pipe.poll(limit_seconds):
            self.close()
            raise CandidateError(f"ended after {limit_seconds:.0f} s")
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            words = self._last_words()
            self.close()
            raise CandidateError(f"the process ended: {words}") from None

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a message"
