"""Peak memory of tgraph's algorithms, each in a process of its own.

    python -m tgraph.bench.memory TASK FILE THREADS < PARAMETERS_AS_JSON

The process runs the task on a tiny graph first, so that compiled code is loaded, then notes its resident memory, loads
the graph, asks the kernel to forget the peak so far, runs the task and reads the new peak (`VmHWM`). Linux only.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tgraph.bench import graphs
from tgraph.bench.candidate import environment
from tgraph.bench.peers import Parameters, load_peer
from tgraph.bench.settings import Settings
from tgraph.bench.tasks import NUM_SOURCES, Task, tasks_for
from tgraph.config import config

TINY = "rmat8"


def measure_memory(settings: Settings, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the peak of every task that this version has, on the settings' graph for memory."""
    name = settings.memory_graph
    files = graphs.prepare(name, settings.cache, settings.data)
    graphs.prepare(TINY, settings.cache)
    base = graphs.load(files["undirected"], weighted=False)
    degrees = base.runtime.to_numpy(base.out_degrees())
    sources = [int(vertex) for vertex in degrees.argsort()[-NUM_SOURCES:]]
    ours = load_peer("tgraph")
    found = []
    for task in tasks_for(settings.tasks, name, base.num_arcs):
        if ours.skips(task.name, base.num_arcs):
            continue
        version = "directed" if task.directed and "directed" in files else "undirected"
        parameters = {key: _plain(value) for key, value in task.parameters(base, sources)[0].items()}
        measured = _in_own_process(task, files[version], parameters, settings)
        found.append({"task": task.name, "graph": name, "num_vertices": base.num_vertices, **measured})
        say(f"memory {name} {task.name}: {measured}")
    return found


def _in_own_process(task: Task, file: Path, parameters: Parameters, settings: Settings) -> dict[str, int]:
    command = [sys.executable, "-m", "tgraph.bench.memory", task.name, str(file), str(settings.threads)]
    variables, text = environment(settings.threads), json.dumps(parameters)  # starts of walks exceed an argument's size
    done = subprocess.run(command, input=text, env=variables, capture_output=True, text=True, check=True)
    measured: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def measure_here(task: Task, file: Path, parameters: Parameters) -> dict[str, int]:
    """Return the bytes of the graph and the peak of the task in this process, the graph included."""
    run = load_peer("tgraph").algorithms[task.name].run
    tiny = file.parent / f"{TINY}-{'directed' if '-directed' in file.name else 'undirected'}.safetensors"
    small = graphs.load(tiny, task.weighted)
    run(small, task.parameters(small, list(range(NUM_SOURCES)))[0])
    before = _status_bytes("VmRSS")
    graph = graphs.load(file, task.weighted)
    Path("/proc/self/clear_refs").write_text("5")
    run(graph, parameters)
    peak = _status_bytes("VmHWM") - before
    return {"graph_bytes": _out_bytes(graph), "peak_bytes": peak}


def _out_bytes(graph: Any) -> int:
    return sum(array.nbytes for array in graph.adjacency("out").to_numpy() if array is not None)


def _status_bytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    config.progress, config.num_threads = "off", int(sys.argv[3])
    [wanted] = tasks_for((sys.argv[1],), "", 0)
    print(json.dumps(measure_here(wanted, Path(sys.argv[2]), json.load(sys.stdin))))
