"""The page of a benchmark run: per graph a table of ratios, then loading, first calls, memory and what was compared.

A ratio is our time over theirs: below 1 tgraph is faster.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tgraph.bench.measure import geometric_mean, ratio
from tgraph.bench.run import OURS, Cell, Outcomes, Row
from tgraph.bench.settings import Settings
from tgraph.bench.tasks import TASKS

TITLES = {"gap": "GAP", "best": "best of pip", "sknetwork": "scikit-network", "graphblas": "python-graphblas"}
QUIET = ("", "has no such algorithm", "not installed")


def write_page(path: Path, outcomes: Outcomes, settings: Settings, command: str, plot: Path | None) -> None:
    """Write the page; `plot` is shown where it was drawn."""
    parts = [_head(outcomes, settings, command)]
    if plot is not None:
        parts.append([f"![Our time over theirs, per task]({os.path.relpath(plot, path.parent)})"])
    for name in outcomes.graphs:
        parts.append(_graph_part(name, outcomes))
    parts += [_load_part(outcomes), _memory_part(outcomes), _cold_part(outcomes), _task_part(outcomes)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join("\n".join([*part, ""]) for part in parts if part))


def ratio_of(row: Row, name: str) -> float:
    """Return our time over a candidate's, NaN where there is none; `best` is the fastest pip package that is right."""
    if name == "best":
        name = best_peer(row)
    ours, theirs = row.cells[OURS], row.cells.get(name)
    if theirs is None or not _has_times(theirs) or not _has_times(ours):
        return math.nan
    return ratio(ours.timing, theirs.timing)


def best_peer(row: Row) -> str:
    """Return the fastest pip package whose answer was compared and is right, empty if there is none."""
    times = {
        name: cell.timing.median
        for name, cell in row.cells.items()
        if name not in (OURS, "gap") and _has_times(cell) and cell.agrees
    }
    return min(times, key=lambda name: times[name], default="")


def mean_ratio(rows: Iterable[Row], name: str) -> float:
    """Return the geometric mean of the ratios to answers that were compared and are right."""
    values = [ratio_of(row, name) for row in rows if name == "best" or _is_right(row, name)]
    return geometric_mean(value for value in values if not math.isnan(value))


def _is_right(row: Row, name: str) -> bool:
    cell = row.cells.get(name)
    return cell is not None and cell.agrees is True


def _has_times(cell: Cell) -> bool:
    return cell.timing.first_seconds is not None and not cell.skipped


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _head(outcomes: Outcomes, settings: Settings, command: str) -> list[str]:
    versions = ", ".join(f"{TITLES.get(name, name)} {version}" for name, version in outcomes.peers.items())
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    return [
        "# Benchmarks",
        "",
        f"Made by `{command}` on {machine}; {settings.threads} threads for everyone.",
        f"{versions}.",
        "",
        f"Numbers are **our time over theirs: below 1 tgraph is faster**, medians of {settings.rounds} rounds. Every",
        "candidate has a process of its own that holds the graph in its own form; they take turns in every round, on",
        "the same graph, from the same vertices, with the same threads and huge pages (`glibc.malloc.hugetlb=1`).",
        "Loading and the first call, which compiles, are not part of the times. GAP's programs load the graph in every",
        "turn, run twice, and their second own `Trial Time` counts; the others run twice too where they take less than",
        "a second, and the second counts. tgraph runs on its numpy runtime.",
        "",
        "`-`: not there, or too slow for a graph of this size. `¹`: slower than the limit of "
        f"{settings.limit_seconds:g} s, so run once. `?`: an answer that cannot be compared. `✗`: another answer, see",
        "below the table. Neither counts in the geometric mean. A time marked `¹` is a first call, against our median",
        "of warm ones: it favours tgraph. `noise` is half the distance between the quartiles of our times, relative to",
        "their median.",
    ]


def _graph_part(name: str, outcomes: Outcomes) -> list[str]:
    rows = [row for row in outcomes.rows if row.graph == name]
    measured = [row for row in rows if _has_times(row.cells[OURS])]
    columns = ["gap", "best", *(peer for peer in outcomes.peers if peer not in (OURS, "gap"))]
    columns = [peer for peer in columns if any(not math.isnan(ratio_of(row, peer)) for row in measured)]
    head = ["task", "tgraph, s", *(TITLES.get(peer, peer) for peer in columns), "noise", "answer checked by"]
    lines = [
        [
            row.task,
            _seconds(row.cells[OURS].timing.median),
            *(_cell(row, peer) for peer in columns),
            f"{row.cells[OURS].timing.noise:.0%}",
            _checked_by(row),
        ]
        for row in measured
    ]
    means = ["**geometric mean**", "", *(f"**{_number(mean_ratio(measured, peer))}**" for peer in columns), "", ""]
    notes = [note for row in rows for note in _notes(row)]
    if name in outcomes.deltas:
        notes.append(f"- sssp: GAP's best bucket width here is {outcomes.deltas[name]}")
    load = f"Load average of the machine meanwhile: up to {outcomes.machine_loads.get(name, 0.0):.1f}."
    return [f"## {name}", "", f"{outcomes.graphs[name]}. {load}", "", *_table(head, [*lines, means]), "", *notes]


def _cell(row: Row, name: str) -> str:
    value = ratio_of(row, name)
    if math.isnan(value):
        return "-"
    peer = best_peer(row) if name == "best" else name
    cell = row.cells[peer]
    mark = "" if cell.timing.repeated else "¹"
    mark += "✗" if cell.agrees is False else "?" if cell.agrees is None else ""
    shown = f"{_number(value)}{mark}"
    return f"{shown} ({TITLES.get(peer, peer)})" if name == "best" else shown


def _checked_by(row: Row) -> str:
    compared = [cell for name, cell in row.cells.items() if name != OURS and cell.agrees is not None]
    words = [f"{sum(cell.agrees is True for cell in compared)} of {len(compared)} peers"] if compared else []
    if row.cells[OURS].agrees is not None:
        words.append("proof" if row.cells[OURS].agrees else "**proof fails**")
    return ", ".join(words) or "nobody"


def _notes(row: Row) -> list[str]:
    found = []
    for name, cell in row.cells.items():
        title = TITLES.get(name, name)
        if cell.agrees is False:
            found.append(f"- {row.task}: **{title} differs**: {cell.note}")
        elif cell.note:
            found.append(f"- {row.task}: {title}: {cell.note}")
        if cell.skipped not in QUIET or (name == OURS and cell.skipped):
            found.append(f"- {row.task}: {title} {cell.skipped}")
    return found


def _load_part(outcomes: Outcomes) -> list[str]:
    """How long a library takes to make its own graph from CSR arrays, and the first call beyond the usual time."""
    names = list(dict.fromkeys(name for loads in outcomes.loads.values() for name in loads))
    rows = [
        [graph, *(_seconds(loads.get(name, math.nan)) for name in names)] for graph, loads in outcomes.loads.items()
    ]
    firsts = [
        [row.graph, row.task, _seconds(first), _seconds(row.cells[OURS].timing.median)]
        for row in outcomes.rows
        if (first := row.cells[OURS].timing.first_seconds) is not None
    ]
    return [
        "## Loading and first calls",
        "",
        "Seconds to take the graph over from CSR arrays in memory (tgraph uses them as they are).",
        "",
        *_table(["graph", *names], rows),
        "",
        "tgraph's first call in a process: it loads compiled code from the disk cache (or compiles), and prepares what",
        "the graph keeps, such as its reverse direction.",
        "",
        *_table(["graph", "task", "first call, s", "median, s"], firsts),
    ]


def _memory_part(outcomes: Outcomes) -> list[str]:
    if not outcomes.memory:
        return []
    head = ["task", "graph, bytes", "peak, bytes", "peak / graph", "(peak - 2 graph) / vertices, bytes"]
    rows = []
    for found in outcomes.memory:
        graph, peak = found["graph_bytes"], found["peak_bytes"]
        each = (peak - 2 * graph) / found["num_vertices"]
        rows.append([found["task"], f"{graph:,}", f"{peak:,}", f"{peak / graph:.2f}", f"{each:.1f}"])
    note = (
        "Resident memory of a process of its own, the graph included, beyond the process before the graph was loaded."
    )
    return ["## Memory", "", f"{outcomes.memory[0]['graph']}. {note}", "", *_table(head, rows)]


def _cold_part(outcomes: Outcomes) -> list[str]:
    if not outcomes.cold:
        return []
    rows = [
        [name, _seconds(first["seconds"]), _seconds(first["cpu_seconds"])]
        for name, first in outcomes.cold["compile"].items()
    ]
    return [
        "## Cold start",
        "",
        f"First `tg.bfs` in a fresh process, compiled code on disk: {outcomes.cold['first_bfs_seconds']:.3f} s "
        f"beyond the imports, which take {outcomes.cold['import_seconds']:.2f} s.",
        "",
        "First call with an empty cache: compiling, beyond the imports and building the graph.",
        "",
        *_table(["task", "seconds", "CPU seconds (what a quiet machine would take)"], rows),
    ]


def _task_part(outcomes: Outcomes) -> list[str]:
    names = list(dict.fromkeys(row.task for row in outcomes.rows))
    return [
        "## What is compared",
        "",
        "All graphs are simple and undirected, with whole weights from 1 to 255 where a task uses weights; hits and",
        "scc take the directed version where there is one.",
        "",
        *_table(["task", "what, and how answers are compared"], [[name, TASKS[name].what] for name in names]),
    ]


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.1g}" if value >= 1e-4 else f"{value:.0e}"


def _seconds(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}" if value >= 0.01 else f"{value:.5f}"
