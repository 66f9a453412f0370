"""One benchmark run: for every graph and task, all candidates in turn, answers compared, times kept."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tgraph.bench import graphs
from tgraph.bench.candidate import CandidateError, LibraryCandidate, Outcome
from tgraph.bench.checks import Verdict
from tgraph.bench.gap import GapCandidate, judge
from tgraph.bench.measure import Timing
from tgraph.bench.peers import PEERS, load_peer
from tgraph.bench.settings import Settings
from tgraph.bench.tasks import NUM_SOURCES, TASKS, Task, tasks_for
from tgraph.errors import InvalidArgumentError, VerificationError, check_choice
from tgraph.graph import Graph

OURS = "tgraph"
SHORT_SECONDS = 1.0
Say = Callable[[str], None]
Candidate = LibraryCandidate | GapCandidate


@dataclass
class Cell:
    """One candidate's part in a task: its times, whether its answer was right, or why there are none."""

    timing: Timing = field(default_factory=Timing)
    skipped: str = ""  # why it did not take part
    agrees: bool | None = None  # None: not compared
    note: str = ""


@dataclass
class Row:
    """One task on one graph."""

    graph: str
    task: str
    cells: dict[str, Cell]
    proof: str = ""  # how our own answer was checked by itself


@dataclass
class Outcomes:
    """All that a run found."""

    rows: list[Row] = field(default_factory=list)
    graphs: dict[str, str] = field(default_factory=dict)  # name: what it is
    machine_loads: dict[str, float] = field(default_factory=dict)  # graph: largest load average while it was measured
    loads: dict[str, dict[str, float]] = field(default_factory=dict)  # graph: candidate: seconds
    peers: dict[str, str] = field(default_factory=dict)  # name: version, or that it is not installed
    deltas: dict[str, int] = field(default_factory=dict)  # graph: bucket width chosen for GAP's sssp
    memory: list[dict[str, Any]] = field(default_factory=list)
    cold: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with all raw seconds."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Outcomes:
        """Return what `to_dict` was made from."""
        rows = []
        for row in saved["rows"]:
            cells = {name: Cell(**{**cell, "timing": Timing(**cell["timing"])}) for name, cell in row["cells"].items()}
            rows.append(Row(**{**row, "cells": cells}))
        return cls(**{**saved, "rows": rows})


def run_benchmarks(
    settings: Settings,
    say: Say = print,
    save: Callable[[Outcomes], None] = lambda outcomes: None,
    earlier: Outcomes | None = None,
) -> Outcomes:
    """Measure what the settings ask for.

    Args:
        settings: Which tasks, graphs and peers, and how often.
        say: Called with a line of text whenever something is done.
        save: Called with what was found so far after every task, so that a long run leaves something if it is ended.
        earlier: What another run found; its tasks are not repeated.
    """
    _check(settings)
    outcomes = earlier or Outcomes()
    outcomes.peers |= _versions(settings)
    for name in settings.graphs or graphs.graph_names(settings.data):
        _GraphRun(name, settings, outcomes, say).run(lambda: save(outcomes))
    if settings.memory:
        memory = importlib.import_module("tgraph.bench.memory")
        outcomes.memory = memory.measure_memory(settings, say)
        save(outcomes)
    if settings.cold:
        outcomes.cold = importlib.import_module("tgraph.bench.cold").measure_cold(settings, say)
        save(outcomes)
    return outcomes


def _check(settings: Settings) -> None:
    for name in settings.tasks:
        check_choice("--tasks", name, tuple(TASKS))
    for name in settings.peers:
        check_choice("--peers", name, PEERS)
    if settings.rounds < 1:
        raise InvalidArgumentError(
            f"--rounds {settings.rounds} must be 1 or more; 5 or more give a median worth having"
        )
    if settings.gap is not None and not (settings.gap / "bfs").exists():
        raise InvalidArgumentError(f"--gap {settings.gap} has no program bfs; give the folder of a built GAP suite")


def _versions(settings: Settings) -> dict[str, str]:
    found = {OURS: load_peer(OURS).version}
    for name in settings.peers or PEERS:
        peer = load_peer(name)
        found[name] = peer.version if peer.available else "not installed"
    if settings.gap is not None:
        found["gap"] = "built from source"
    return found


class _GraphRun:
    """All tasks on one graph."""

    def __init__(self, name: str, settings: Settings, outcomes: Outcomes, say: Say) -> None:
        self.name, self.settings, self.outcomes, self.say = name, settings, outcomes, say

    def run(self, save: Callable[[], None]) -> None:
        """Prepare the graph, start the candidates, do the tasks, end the candidates."""
        started = time.perf_counter()
        self.files = graphs.prepare(self.name, self.settings.cache, self.settings.data)
        base = graphs.load(self.files["undirected"], weighted=False)
        self.outcomes.graphs[self.name] = base.describe()
        self.outcomes.loads.setdefault(self.name, {})
        labels = base.runtime.to_numpy(importlib.import_module("tgraph").wcc(base, progress="off").labels)
        self.sources = graphs.pick_sources(base, labels, NUM_SOURCES)
        self.say(f"{self.name}: {base.describe()}, ready after {time.perf_counter() - started:.1f} s")
        self.checked: tuple[str, bool, Graph] = ("undirected", False, base)
        self.candidates = self._candidates()
        done = {row.task for row in self.outcomes.rows if row.graph == self.name}
        try:
            for task in tasks_for(self.settings.tasks, self.name, base.num_arcs):
                if task.name in done:
                    continue
                self.outcomes.rows.append(self._run_task(task, base.num_arcs))
                load = max(os.getloadavg()[0], self.outcomes.machine_loads.get(self.name, 0.0))
                self.outcomes.machine_loads[self.name] = load
                save()
        finally:
            for candidate in self.candidates.values():
                candidate.close()

    def _candidates(self) -> dict[str, Candidate]:
        settings, limit = self.settings, self.settings.hard_limit_seconds
        found: dict[str, Candidate] = {}
        for name, version in self.outcomes.peers.items():
            if name == "gap" and settings.gap is not None:
                found[name] = GapCandidate(settings.gap.resolve(), settings.threads, limit)
            elif version != "not installed":
                found[name] = LibraryCandidate(name, settings.threads, limit)
        return found

    def _graph(self, version: str, weighted: bool) -> Graph:
        if self.checked[:2] != (version, weighted):
            self.checked = (version, weighted, graphs.load(self.files[version], weighted))
        return self.checked[2]

    def _run_task(self, task: Task, num_arcs: int) -> Row:
        version = "directed" if task.directed and "directed" in self.files else "undirected"
        graph = self._graph(version, task.weighted)
        cells = {name: Cell(skipped=self._skips(name, task, num_arcs, version)) for name in self.outcomes.peers}
        row = Row(self.name, task.name, cells)
        if cells[OURS].skipped:
            self.say(f"{self.name} {task.name}: tgraph {cells[OURS].skipped}")
            return row
        _TaskRun(self, task, graph, row).run(self.files[version])
        self.say(describe(row))
        return row

    def _skips(self, name: str, task: Task, num_arcs: int, version: str) -> str:
        if self.outcomes.peers[name] == "not installed":
            return "not installed"
        candidate = self.candidates[name]
        if isinstance(candidate, GapCandidate):
            return candidate.skips(task.name, directed=version == "directed")
        return load_peer(name).skips(task.name, num_arcs)


class _TaskRun:
    """One task on one graph: load, warm up, take turns."""

    def __init__(self, parent: _GraphRun, task: Task, graph: Graph, row: Row) -> None:
        self.parent, self.task, self.graph, self.row = parent, task, graph, row
        self.parameters = task.parameters(graph, parent.sources)
        self.unseen = set(range(len(self.parameters)))  # parameter sets whose answers are still to be compared

    def run(self, file: Path) -> None:
        """Fill the cells of the row."""
        taking_part = [name for name, cell in self.row.cells.items() if not cell.skipped]
        ready = [name for name in taking_part if self._try(self._load, name, file)]
        answers: dict[str, Any] = {}
        repeated = []
        for name in ready:
            outcome = self._try(self._do, name, 0, True)
            if outcome is None:
                continue
            self.row.cells[name].timing.first_seconds = outcome.seconds
            answers[name] = outcome.answer
            if name == OURS or outcome.seconds <= self.parent.settings.limit_seconds:  # our first call compiles
                repeated.append(name)
        self._compare(answers, 0)
        self._take_turns(repeated)
        gap = self.parent.candidates.get("gap")
        if isinstance(gap, GapCandidate) and self.task.name == "sssp" and gap.delta:
            self.parent.outcomes.deltas[self.row.graph] = list(gap.delta.values())[-1]

    def _take_turns(self, names: list[str]) -> None:
        """Let everyone do each round, starting with another one each time."""
        for number in range(self.parent.settings.rounds):
            which = number % len(self.parameters)
            answers = {}
            for name in names[number % max(len(names), 1) :] + names[: number % max(len(names), 1)]:
                wants = which in self.unseen
                if self._is_short(name):  # others have used the caches since its last turn
                    self._try(self._do, name, which, False)
                outcome = self._try(self._do, name, which, wants)
                if outcome is not None:
                    self.row.cells[name].timing.seconds.append(outcome.seconds)
                    answers[name] = outcome.answer
            if which in self.unseen:
                self._compare(answers, which)

    def _is_short(self, name: str) -> bool:
        """Whether a candidate does the task in so little time that it matters what is in the caches."""
        timing = self.row.cells[name].timing
        last = timing.seconds[-1] if timing.seconds else timing.first_seconds
        return name != "gap" and last is not None and last < SHORT_SECONDS

    def _load(self, name: str, file: Path) -> Outcome:
        candidate = self.parent.candidates[name]
        if candidate.loaded == (file, self.task.weighted):
            return Outcome(0.0)
        outcome = candidate.load(file, self.task.weighted)
        if name != "gap":
            key = f"{name}{', weighted' if self.task.weighted else ''}"
            self.parent.outcomes.loads[self.row.graph].setdefault(key, outcome.seconds)
        return outcome

    def _do(self, name: str, which: int, wants_answer: bool) -> Outcome:
        return self.parent.candidates[name].run(self.task.name, self.parameters[which], wants_answer)

    def _try(self, step: Callable[..., Outcome], name: str, *arguments: Any) -> Outcome | None:
        """Do a step; a failure is written into the candidate's cell and ends its part in the task."""
        cell = self.row.cells[name]
        if cell.skipped:
            return None
        try:
            return step(name, *arguments)
        except CandidateError as error:
            cell.skipped, cell.timing = str(error), Timing()
            return None

    def _compare(self, answers: dict[str, Any], which: int) -> None:
        self.unseen.discard(which)
        if OURS not in answers:
            return
        ours, parameters = answers[OURS], self.parameters[which]
        if not self.row.proof:
            self._note(OURS, self._prove(ours, which))
        for name, theirs in answers.items():
            if name == OURS:
                continue
            why = "" if name == "gap" else load_peer(name).algorithms[self.task.name].unchecked
            if why:
                self.row.cells[name].note = why
            elif name == "gap":
                self._note(name, judge(self.task.name, ours, theirs))
            else:
                self._note(name, self.task.check(self.graph, ours, theirs, parameters))

    def _prove(self, ours: Any, which: int) -> Verdict | None:
        """Check our answer alone, where there are rules for that and the graph is not too large for them."""
        self.row.proof = "none"
        if self.task.prove is None or self.graph.num_arcs > self.task.max_proved_arcs:
            return None
        try:
            verdict = self.task.prove(self.graph, ours, self.parameters[which])
        except VerificationError as error:
            verdict = Verdict(False, str(error))
        self.row.proof = "holds" if verdict.agrees else "fails"
        return verdict

    def _note(self, name: str, verdict: Verdict | None) -> None:
        if verdict is None:
            return
        cell = self.row.cells[name]
        if verdict.agrees is not None:
            cell.agrees = verdict.agrees and cell.agrees is not False
        if verdict.note and (not verdict.agrees or not cell.note):
            cell.note = verdict.note


def describe(row: Row) -> str:
    """Return a row in one line of text."""
    words = []
    for name, cell in row.cells.items():
        if cell.timing.first_seconds is not None:
            mark = "" if cell.agrees is not False else f" DIFFERS ({cell.note})"
            words.append(f"{name} {cell.timing.median:.4f}{mark}")
        elif cell.skipped not in ("has no such algorithm", "not installed"):
            words.append(f"{name}: {cell.skipped}")
    return f"{row.graph} {row.task}: " + ", ".join(words)
