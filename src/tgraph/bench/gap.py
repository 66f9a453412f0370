"""The GAP benchmark suite as a candidate: its programs in a folder where they were built.

Every turn starts a process that loads the graph from an `.sg` or `.wsg` file and runs the kernel twice; the second
"Trial Time" counts, when memory is touched and threads exist, as for candidates that stay alive. Loading is not part of
it. What the programs print with `-a` is compared with our answer, and their own check `-v` runs in the first turn.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tgraph.bench.candidate import CandidateError, Outcome, environment
from tgraph.bench.checks import Verdict
from tgraph.bench.graphs import load
from tgraph.bench.peers import Parameters
from tgraph.io import write

PROGRAMS = {
    "bfs": "bfs",
    "sssp": "sssp",
    "wcc": "cc",
    "pagerank_f32": "pr",
    "triangles": "tc",
    "betweenness": "bc",
}
SLOW_CHECKS = ("triangles", "betweenness")  # the whole answer is printed, or rounding makes their own check fail
TOP_TOLERANCE = 0.05  # of the five largest ranks; the suite's own check looks at all of them
DELTAS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class GapCandidate:
    """The programs of the suite."""

    name = "gap"

    def __init__(self, folder: Path, threads: int, limit_seconds: float) -> None:
        self.folder, self.threads, self.limit_seconds = folder, threads, limit_seconds
        self.loaded: tuple[Path, bool] | None = None
        self.delta: dict[Path, int] = {}
        self._checked: set[tuple[str, Path]] = set()

    def skips(self, task: str, directed: bool) -> str:
        """Return why the suite does not take part in a task, empty if it does."""
        if task not in PROGRAMS or directed:
            return "has no such algorithm"
        return "" if (self.folder / PROGRAMS[task]).exists() else f"{PROGRAMS[task]} is not built"

    def load(self, file: Path, weighted: bool) -> Outcome:
        """Write the graph as the suite's own file, unless it is there already."""
        self.file = file.with_suffix(".wsg" if weighted else ".sg")
        if not self.file.exists():
            write(load(file, weighted), self.file)
        self.loaded = (file, weighted)
        return Outcome(float("nan"))

    def run(self, task: str, parameters: Parameters, wants_answer: bool) -> Outcome:
        """Run a program; a task from several sources runs it once for each."""
        if task == "sssp" and self.file not in self.delta:
            self.delta[self.file] = self._best_delta(parameters)
        sources = parameters.get("sources", [parameters.get("source")])
        parts = [self._start(task, source, parameters, wants_answer) for source in sources]
        return Outcome(sum(seconds for seconds, _ in parts), [text for _, text in parts])

    def close(self) -> None:
        """Nothing stays alive between turns."""

    def _start(self, task: str, source: int | None, parameters: Parameters, wants_answer: bool) -> tuple[float, str]:
        command = [str(self.folder / PROGRAMS[task]), "-f", str(self.file), "-n", "2"]
        if source is not None:
            command += ["-r", str(source)]
        if task == "sssp":
            command += ["-d", str(parameters.get("delta") or self.delta[self.file])]
        if PROGRAMS[task] == "pr":
            command += ["-i", str(parameters["max_iterations"]), "-t", str(parameters["tol_l1"])]
        if wants_answer:
            command.append("-a")
            if task not in SLOW_CHECKS and parameters.get("tol_l1") != 0.0 and (task, self.file) not in self._checked:
                command.append("-v")
                self._checked.add((task, self.file))
        return self._seconds_and_text(command)

    def _seconds_and_text(self, command: list[str]) -> tuple[float, str]:
        try:
            done = subprocess.run(
                command, env=environment(self.threads), capture_output=True, text=True, timeout=self.limit_seconds
            )
        except subprocess.TimeoutExpired:
            raise CandidateError(f"ended after {self.limit_seconds:.0f} s") from None
        times = re.findall(r"Trial Time:\s+([\d.]+)", done.stdout)
        if done.returncode or not times:
            raise CandidateError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
        return float(times[-1]), done.stdout

    def _best_delta(self, parameters: Parameters) -> int:
        """Try the bucket widths that the suite's authors would try, and keep its best."""
        seconds = {d: self._start("sssp", parameters["source"], {**parameters, "delta": d}, False)[0] for d in DELTAS}
        return min(seconds, key=lambda delta: seconds[delta])


def judge(task: str, ours: Any, printed: list[str]) -> Verdict:
    """Compare what the suite printed with our answer.

    >>> judge("triangles", 7, ["6 triangles"]).note
    'prints 6, ours 7'
    """
    if any("FAIL" in text for text in printed):
        return Verdict(False, "its own check failed")
    text = printed[0]
    if task in ("bfs", "sssp", "wcc", "triangles"):
        return _judge_count(task, np.asarray(ours), text)
    return _judge_top(task, np.asarray(ours, np.float64), text)


def _judge_count(task: str, ours: Any, text: str) -> Verdict:
    patterns = {
        "bfs": r"Tree has (\d+) nodes",
        "sssp": r"reaches (\d+) nodes",
        "wcc": r"are (\d+) components",
        "triangles": r"(\d+) triangles",
    }
    if task == "triangles":
        mine = int(ours)
    elif task == "wcc":
        mine = np.unique(ours).size
    else:
        mine = int(np.count_nonzero(ours >= 0 if task == "bfs" else np.isfinite(ours)))
    found = re.search(patterns[task], text)
    if found is None:
        return Verdict(False, "prints no answer")
    return Verdict(int(found[1]) == mine, "" if int(found[1]) == mine else f"prints {found[1]}, ours {mine}")


def _judge_top(task: str, ours: Any, text: str) -> Verdict:
    """Compare the five largest scores, relative to the largest."""
    pairs = [(int(vertex), float(score)) for vertex, score in re.findall(r"^(\d+):([\d.e+-]+)$", text, re.MULTILINE)]
    if not pairs:
        return Verdict(False, "prints no answer")
    if task == "betweenness":
        return Verdict(None, "answer not compared: it has one source per process")
    vertices, scores = zip(*pairs, strict=True)
    mine = ours[list(vertices)] / ours[vertices[0]]
    error = float(np.abs(mine - np.asarray(scores) / scores[0]).max())
    return Verdict(error <= TOP_TOLERANCE, "" if error <= TOP_TOLERANCE else f"top scores differ by {error:.1e}")
