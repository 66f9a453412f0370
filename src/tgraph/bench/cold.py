"""How long a first call takes: in a fresh process with compiled code on disk, and with nothing compiled at all.

python -m tgraph.bench.cold TASK FILE
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tgraph.bench.settings import Settings

SMALL = "rmat8"


def measure_cold(settings: Settings, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the seconds of the imports, of a first search with a warm cache, and of each task with a cold one."""
    from tgraph.bench import graphs
    from tgraph.bench.peers import load_peer
    from tgraph.bench.tasks import tasks_for

    files = graphs.prepare(SMALL, settings.cache)
    _first_call("bfs", files["undirected"], {})
    warm = [_first_call("bfs", files["undirected"], {}) for _ in range(settings.rounds)]
    found: dict[str, Any] = {
        "import_seconds": statistics.median(each["import_seconds"] for each in warm),
        "first_bfs_seconds": statistics.median(each["call_seconds"] for each in warm),
        "compile": {},
    }
    ours = load_peer("tgraph")
    for task in tasks_for(settings.tasks, SMALL, 0):
        if ours.skips(task.name, 0):
            continue
        version = "directed" if task.directed else "undirected"
        with tempfile.TemporaryDirectory() as folder:
            empty = {"TGRAPH_CACHE_DIR": f"{folder}/tgraph", "NUMBA_CACHE_DIR": f"{folder}/numba"}
            first = _first_call(task.name, files[version], empty)
        found["compile"][task.name] = {"seconds": first["call_seconds"], "cpu_seconds": first["call_cpu_seconds"]}
        say(f"cold {task.name}: {first['call_seconds']:.2f} s")
    return found


def _first_call(task: str, file: Path, variables: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "tgraph.bench.cold", task, os.fspath(file)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _measure_here(name: str, file: Path) -> dict[str, float]:
    """Import what a call needs, load the graph, then time the first call."""
    started = time.perf_counter()
    for module in ("algorithms", "engine.in_memory", "kernels.cpu.team"):
        importlib.import_module(f"tgraph.{module}")
    from tgraph.bench import graphs
    from tgraph.bench.peers import load_peer
    from tgraph.bench.tasks import NUM_SOURCES, TASKS
    from tgraph.config import config

    import_seconds = time.perf_counter() - started
    config.progress = "off"
    task = TASKS[name]
    graph = graphs.load(file, task.weighted)
    parameters = task.parameters(graph, list(range(NUM_SOURCES)))[0]
    run = load_peer("tgraph").algorithms[name].run
    started, cpu_started = time.perf_counter(), time.process_time()
    run(graph, parameters)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return {"import_seconds": import_seconds, "call_seconds": seconds, "call_cpu_seconds": cpu_seconds}


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], Path(sys.argv[2]))))
