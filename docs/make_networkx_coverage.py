"""Write docs/networkx_coverage.md: run all of NetworkX's tests in the back end, and measure the functions.

python docs/make_networkx_coverage.py  (ten minutes; the package must be installed with its entry points)
"""

from __future__ import annotations

import importlib
import inspect
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import networkx as nx
from networkx.utils.backends import _registered_algorithms

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "interop" / "networkx"))
from networkx_suite import SuiteRun, run_suite  # noqa: E402

from tgraph.interop.networkx.differences import DIFFERENCES  # noqa: E402
from tgraph.interop.networkx.dispatch import FUNCTIONS  # noqa: E402

PAGE = Path(__file__).with_name("networkx_coverage.md")
NODES, EDGES_PER_NODE, LIMIT_SECONDS, RUNS = 2000, 5, 5, 3
SOURCES = {
    "source": 0,
    "sources": [0, 1, 2],
    "target": NODES - 1,
    "n": 0,
    "S": range(NODES // 2),
    "distance": 2,
    "k": 3,
}
HEAD = """# Coverage of NetworkX

Written by `docs/make_networkx_coverage.py`. {functions} functions, {without_graphs} of which do not return graphs. With
NetworkX {version}, {tests:,} tests of its own suite ran {exercised} of them in the back end; a test is counted only if
the function ran here to its end, not if it was left to NetworkX.

Speed-up: NetworkX's time over the back end's on a graph that was converted before, {nodes:,} nodes with {degree} edges
each (Barabási-Albert, its directed form for functions of directed graphs), the best of three calls, on a shared machine
with 2 cores. `>` means that NetworkX was stopped after {limit} seconds of processor time. Functions that need other
arguments than nodes were not measured. 0 and 1: NetworkX stops at the first edge that decides, or returns a copy of the
graph. The larger the graph, the larger the gain; [NetworkX](networkx.md) has larger ones.

"""


def expire(number: int, frame: FrameType | None) -> None:
    """End a call that takes too long."""
    raise TimeoutError


def arguments(name: str) -> list[Any] | None:
    """Return values for what the function needs beside the graph, None if it is unknown what that is."""
    needed = list(inspect.signature(_registered_algorithms[name].orig_func).parameters.values())
    if not needed or needed[0].name != "G":
        return None
    needed = [parameter.name for parameter in needed[1:] if parameter.default is parameter.empty]
    values = [SOURCES.get(parameter) for parameter in needed]
    return None if None in values else [list(value) if isinstance(value, range) else value for value in values]


def seconds(function: Any, args: list[Any], **options: Any) -> float:
    """Return the shortest time of a call, iterators read to the end; raises what the call raises."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        result = function(*args, **options)
        if hasattr(result, "__next__"):
            for _ in result:
                pass
        times.append(time.perf_counter() - began)
    return min(times)


def speedup(name: str, graphs: list[Any]) -> str:
    """Return how many times faster a function is in the back end, or nothing."""
    inner, extra = _registered_algorithms[name], arguments(name)
    function = getattr(importlib.import_module(inner.__module__), inner.__name__)
    if extra is None:
        return ""
    for graph in graphs:
        try:
            seconds(function, [graph, *extra], backend="tgraph")  # compiles and converts
            ours = seconds(function, [graph, *extra], backend="tgraph")
        except Exception:  # not for this kind of graph
            continue
        signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
        try:
            return f"{seconds(function, [graph, *extra]) / ours:.0f}"
        except TimeoutError:
            return f"> {LIMIT_SECONDS / ours:.0f}"
        except Exception:  # NetworkX refuses the graph as well
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def make_page(run: SuiteRun) -> str:
    """Return the whole page."""
    signal.signal(signal.SIGPROF, expire)
    nx.config.warnings_to_ignore.add("cache")
    graph = nx.barabasi_albert_graph(NODES, EDGES_PER_NODE, seed=1)
    graphs = [graph, graph.to_directed(), nx.DiGraph(list(graph.edges))]
    without_graphs = [name for name in FUNCTIONS if not _registered_algorithms[name]._returns_graph]
    lines = [
        HEAD.format(
            functions=len(FUNCTIONS),
            without_graphs=len(without_graphs),
            version=nx.__version__,
            tests=run.num_tests,
            exercised=len(run.tests),
            nodes=NODES,
            degree=EDGES_PER_NODE,
            limit=LIMIT_SECONDS,
        ),
        "| function | tests that ran it here | speed-up |\n|---|---|---|\n",
        *(f"| `{name}` | {len(run.tests.get(name, ()))} | {speedup(name, graphs)} |\n" for name in sorted(FUNCTIONS)),
        "\n## Tests that are expected to fail\n\n",
        *(f"- `{test}`: {reason}.\n" for test, reason in DIFFERENCES.items()),
    ]
    return "".join(lines)


if __name__ == "__main__":
    found = run_suite()
    if not found.is_as_expected:
        sys.exit(f"NetworkX's tests do not pass:\n{found.summary}")
    PAGE.write_text(make_page(found))
