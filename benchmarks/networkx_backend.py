"""NetworkX's functions in the back end against plain NetworkX and other back ends, with and without conversion.

python benchmarks/networkx_backend.py --data FOLDER --graphs email-Enron --out table.md
    --peer graphblas=PYTHON --peer parallel=PYTHON   (other back ends, each with the Python that has it installed)

`with conversion` is the first call on a graph that was not converted yet, `cached` the best of three further calls;
code was compiled before on a small graph. Every result is compared with plain NetworkX's.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import math
import random
import subprocess
import sys
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx as nx

FILES = {
    "email-Enron": "email-Enron/email-Enron.txt.gz",
    "soc-Slashdot0902": "soc-Slashdot0902/soc-Slashdot0902.txt.gz",
    "web-NotreDame": "web-NotreDame/web-NotreDame.tar.gz",
}
UNDIRECTED = {"email-Enron"}
TASKS: dict[str, Callable[..., Any]] = {
    "PageRank": lambda graph, source, **how: nx.pagerank(graph, **how),
    "BFS (lengths)": lambda graph, source, **how: nx.single_source_shortest_path_length(graph, source, **how),
    "WCC (sets)": lambda graph, source, **how: list(_components(graph)(graph, **how)),
    "SSSP (lengths)": lambda graph, source, **how: nx.single_source_dijkstra_path_length(
        graph, source, weight="cost", **how
    ),
    "triangles": lambda graph, source, **how: nx.triangles(graph, **how),
    "core number": lambda graph, source, **how: nx.core_number(graph, **how),
    "betweenness, k=64": lambda graph, source, **how: nx.betweenness_centrality(graph, k=64, seed=1, **how),
    "Louvain": lambda graph, source, **how: nx.community.louvain_communities(graph, seed=1, **how),
}
WITHOUT_DIRECTION = {"triangles", "core number", "Louvain"}
RUNS = 3


def _components(graph: Any) -> Callable[..., Any]:
    return nx.weakly_connected_components if graph.is_directed() else nx.connected_components


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text file in a gz or tar.gz."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            member = max(archive.getmembers(), key=lambda member: member.size)
            file = archive.extractfile(member)
            assert file is not None
            yield from io.TextIOWrapper(file)
    else:
        with gzip.open(path, "rt") as file:
            yield from file


def read_graph(data: Path, name: str) -> Any:
    """Return a graph with whole costs from 1 to 100 on its edges, without self-loops."""
    graph = nx.Graph() if name in UNDIRECTED else nx.DiGraph()
    chance, is_first = random.Random(1), name == "web-NotreDame"  # whose first line has the sizes
    for line in lines_of(data / FILES[name]):
        if is_first or line.startswith("#"):
            is_first = False
            continue
        source, target = map(int, line.split()[:2])
        if source != target and not graph.has_edge(source, target):
            graph.add_edge(source, target, cost=chance.randint(1, 100))
    return graph


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of a call and its result; a mapping that is filled when it is read is read."""
    began = time.perf_counter()
    result = run()
    if isinstance(result, Mapping) and not isinstance(result, dict):
        result = dict(result)
    return time.perf_counter() - began, result


def source_of(graph: Any) -> Any:
    """Return the node with the most edges that leave it."""
    return max(graph, key=graph.out_degree if graph.is_directed() else graph.degree)


def measure(graph: Any, task: str, backend: str, runs: int = RUNS) -> tuple[float, float, Any]:
    """Return the time with conversion, the best time without, and the result."""
    source = source_of(graph)
    graph.__networkx_cache__.clear()
    first, result = seconds(lambda: TASKS[task](graph, source, backend=backend))
    return first, min(seconds(lambda: TASKS[task](graph, source, backend=backend))[0] for _ in range(runs)), result


def warm_up(task: str, backend: str) -> None:
    """Compile what a task needs, on small graphs, one of which has hubs."""
    for graph in (nx.gnm_random_graph(200, 1000, seed=1), nx.barabasi_albert_graph(1000, 12, seed=1)):
        nx.set_edge_attributes(graph, 1, "cost")
        for kind in (graph,) if task in WITHOUT_DIRECTION else (graph, graph.to_directed()):
            measure(kind, task, backend)


def is_same(found: Any, expected: Any) -> bool:
    """Compare results; numbers may differ by rounding."""
    if isinstance(expected, dict):
        close = (math.isclose(found[key], value, rel_tol=1e-9, abs_tol=1e-12) for key, value in expected.items())
        return list(found) == list(expected) and all(close)
    return bool(found == expected)


def measure_peer(python: str, backend: str, arguments: argparse.Namespace, graph: str, task: str) -> list[float] | None:
    """Return the times of another back end, measured by its own Python; None if it does not serve the task."""
    command = [python, __file__, "--data", str(arguments.data), "--graphs", graph, "--tasks", task, "--only", backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    return None if done.returncode else json.loads(done.stdout.splitlines()[-1])


def rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the rows of the table."""
    for name in arguments.graphs:
        graph = read_graph(arguments.data, name)
        plain = graph.to_undirected() if graph.is_directed() else graph
        for task in arguments.tasks:
            chosen = plain if task in WITHOUT_DIRECTION else graph
            warm_up(task, "tgraph")
            first, cached, found = measure(chosen, task, "tgraph")
            source = source_of(chosen)
            theirs, expected = seconds(lambda: TASKS[task](chosen, source))  # noqa: B023 - called at once
            same = "" if is_same(found, expected) else " **differs**"
            cells = [name, task + same, f"{theirs:.3f}", f"{first:.3f}", f"{theirs / first:.1f} x"]
            cells += [f"{cached:.4f}", f"{theirs / cached:.0f} x"]
            for backend, python in arguments.peer:
                other = measure_peer(python, backend, arguments, name, task)
                cells.append("-" if other is None else f"{other[0] / first:.1f} x, {other[1] / cached:.1f} x")
            yield f"| {' | '.join(cells)} |"


def measure_conversion(nodes: int = 100_000, edges: int = 1_000_000) -> Iterator[str]:
    """Yield how long it takes to convert a random graph, by the kind of its nodes, and to read a weight of edges."""
    from tgraph.interop.networkx.dispatch import backend

    backend.convert_from_nx(nx.path_graph(3)).weights("weight")  # loads the kernels
    numbered = nx.gnm_random_graph(nodes, edges, seed=1)
    nx.set_edge_attributes(numbered, 1.5, "weight")
    numbers = random.Random(1).sample(range(4 * nodes), nodes)
    kinds = {"0, 1, 2, ...": numbered, "other integers": nx.relabel_nodes(numbered, dict(enumerate(numbers)))}
    for kind, graph in {**kinds, "strings": nx.relabel_nodes(numbered, str)}.items():
        converting, converted = seconds(lambda: backend.convert_from_nx(graph))  # noqa: B023 - called at once
        reading, _ = seconds(lambda: converted.weights("weight"))  # noqa: B023 - called at once
        yield f"| {kind} | {converting:.2f} | {reading:.2f} |"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--graphs", nargs="+", default=list(FILES), choices=FILES)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--peer", action="append", default=[], type=lambda text: text.split("=", 1))
    parser.add_argument("--conversion", action="store_true", help="measure conversion alone")
    parser.add_argument("--only", help="measure this back end alone and print its two times")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--out", type=argparse.FileType("a"), default=sys.stdout)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.conversion:
        print("| nodes | converting s | reading weights s |\n|---|---|---|", *measure_conversion(), sep="\n")
        return
    if arguments.only:
        graph, task = read_graph(arguments.data, arguments.graphs[0]), arguments.tasks[0]
        graph = graph.to_undirected() if task in WITHOUT_DIRECTION and graph.is_directed() else graph
        warm_up(task, arguments.only)
        print(json.dumps(measure(graph, task, arguments.only)[:2]))
        return
    peers = "".join(f" {backend} |" for backend, _ in arguments.peer)
    print(f"| graph | task | NetworkX s | with conversion s | | cached s | |{peers}", file=arguments.out)
    print("|---" * (7 + len(arguments.peer)) + "|", file=arguments.out)
    for row in rows(arguments):
        print(row, file=arguments.out, flush=True)


if __name__ == "__main__":
    main()
