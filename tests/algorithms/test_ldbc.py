"""LDBC Graphalytics: every reference output of BFS, SSSP, WCC, CDLP, LCC and PageRank, by the benchmark's own rules.

BFS and CDLP are compared exactly, WCC as a partition, SSSP, LCC and PageRank within 0.01 % of the reference; CDLP
and PageRank run a fixed number of iterations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from small_graphs import DIRECTIONS
from tgraph.algorithms.cdlp import cdlp
from tgraph.algorithms.lcc import lcc

ALGORITHMS = ("BFS", "SSSP", "WCC", "CDLP", "LCC", "PR")
NOT_REACHED = 9223372036854775807
EPSILON = 1e-4


def _references(folder: Path) -> list[tuple[Path, str]]:
    found = [
        (properties, algorithm)
        for properties in sorted(folder.glob("*.properties"))
        for algorithm in ALGORITHMS
        if properties.with_name(f"{properties.stem}-{algorithm}").exists()
    ]
    listed = {path for algorithm in ALGORITHMS for path in folder.glob(f"*-{algorithm}")}
    assert listed == {properties.with_name(f"{properties.stem}-{algorithm}") for properties, algorithm in found}
    return found


def _parameters(properties: Path) -> dict[str, str]:
    lines = [line.split("=", 1) for line in properties.read_text().splitlines() if "=" in line and line[0] != "#"]
    prefix = f"graph.{properties.stem}."
    return {name.strip().removeprefix(prefix): value.strip() for name, value in lines}


def _run(algorithm: str, graph: tg.Graph, parameters: dict[str, str], direction: str) -> np.ndarray:
    if algorithm == "BFS":
        return tg.bfs(graph, int(parameters["bfs.source-vertex"]), direction=direction).to_numpy()
    if algorithm == "SSSP":
        return tg.sssp(graph, int(parameters["sssp.source-vertex"]), direction=direction).to_numpy()
    if algorithm == "WCC":
        return tg.wcc(graph, direction=direction).to_numpy()
    if algorithm == "CDLP":
        count = int(parameters["cdlp.max-iterations"])
        return cdlp(graph, max_iterations=count, direction=direction).column("labels")
    if algorithm == "LCC":
        return lcc(graph, direction=direction).to_numpy()
    damping, count = float(parameters["pr.damping-factor"]), int(parameters["pr.num-iterations"])
    result = tg.pagerank(graph, damping, tol_l1=0.0, max_iterations=count, direction=direction)
    assert result.iterations == count
    return result.to_numpy()


def _matches(algorithm: str, found: np.ndarray, expected: np.ndarray) -> bool:
    if algorithm == "BFS":
        return np.where(found < 0, NOT_REACHED, found.astype(np.int64)).tolist() == expected.tolist()
    if algorithm == "CDLP":
        return found.tolist() == expected.tolist()
    if algorithm == "WCC":
        pairs = set(zip(found.tolist(), expected.tolist(), strict=True))
        return len(pairs) == np.unique(found).size == np.unique(expected).size
    finite = np.isfinite(expected)
    if not np.array_equal(np.isfinite(found), finite):
        return False
    return bool((np.abs(found[finite] - expected[finite]) <= EPSILON * np.abs(expected[finite])).all())


def _read_reference(path: Path, algorithm: str) -> tuple[np.ndarray, np.ndarray]:
    kind: Any = np.int64 if algorithm in ("BFS", "WCC", "CDLP") else np.float64
    rows = [line.split() for line in path.read_text().splitlines()]
    return np.asarray([int(row[0]) for row in rows]), np.asarray([kind(row[1]) for row in rows])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_reference_output(
    shared_data: Path, runtime_name: str, direction: str, capsys: pytest.CaptureFixture[str]
) -> None:
    references = _references(shared_data / "ldbc")
    checked = dict.fromkeys(ALGORITHMS, 0)
    for properties, algorithm in references:
        graph, parameters = tg.read(properties, runtime=runtime_name), _parameters(properties)
        assert graph.num_vertices == int(parameters["meta.vertices"])
        assert graph.directed == (parameters["directed"] == "true")
        ids, expected = _read_reference(properties.with_name(f"{properties.stem}-{algorithm}"), algorithm)
        found = _run(algorithm, graph, parameters, direction)[graph.vertices_of(ids)]
        assert ids.size == graph.num_vertices
        assert _matches(algorithm, found, expected), f"{properties.stem} {algorithm}: {found} is not {expected}"
        checked[algorithm] += 1
    with capsys.disabled():
        print(f"\nLDBC on {runtime_name}, {direction}: {sum(checked.values())} references checked: {checked}")
    assert checked == dict.fromkeys(ALGORITHMS, 4)
