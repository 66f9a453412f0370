"""The page of what runs where is what the code says, and the code does what the page says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import tgraph as tg
from tgraph.errors import DeclaredGapError, InvalidArgumentError
from tgraph.gaps import NEEDS_MEMORY, NEEDS_ROWS, NO_PLAIN_FORM

MAKER = Path(__file__).resolve().parents[1] / "docs" / "make_matrix.py"
MATRIX = runpy.run_path(str(MAKER))
NEEDED: dict[str, dict[str, Any]] = {
    "bfs": {"source": 0},
    "distance_matrix": {"sources": [0, 1]},
    "multi_source_bfs": {"sources": [0, 1]},
    "php": {"source": 0},
    "random_walks": {"starts": [0, 1], "length": 3},
    "sssp": {"source": 0},
}
ALGORITHMS = MATRIX["algorithms"]()


@pytest.fixture(scope="module")
def graph() -> tg.Graph:
    return tg.generate.rmat(6, 6, seed=1, weights=(1, 9), runtime="numpy").symmetrize()


def test_the_page_is_current() -> None:
    stale = "docs/matrix.md is not what the code says; run: python docs/make_matrix.py"
    assert MATRIX["PAGE"].read_text() == MATRIX["make_page"](), stale


@pytest.mark.parametrize("name", ALGORITHMS)
def test_plain_forms_are_there_or_declared_missing(name: str, graph: tg.Graph) -> None:
    def run() -> Any:
        return getattr(tg, name)(graph, **NEEDED.get(name, {}), kernel="plain")

    if name not in NO_PLAIN_FORM:
        assert run() is not None
        return
    with pytest.raises(InvalidArgumentError, match="kernel='plain' is not there for"):
        run()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_results_are_kept_or_the_gap_is_declared(name: str, graph: tg.Graph) -> None:
    stream, parameters = tg.stream(graph), {**NEEDED.get(name, {}), **({"alpha": 0.01} if name == "katz" else {})}
    if MATRIX["cell"](name, "streaming", "numpy", "cpu") == "kept":
        kept = stream.keep(name, **parameters)
        stream.apply(insert=([0], [5], [1]))
        assert kept.how in ("monotonic", "accumulative")
        return
    with pytest.raises(InvalidArgumentError, match="is not known; use one of"):
        stream.keep(name, **parameters)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_budgets_are_kept_or_the_gap_is_declared(name: str, graph: tg.Graph, tmp_path: Path) -> None:
    tg.write(graph, tmp_path / "graph.safetensors", reverse=True)
    far = tg.open(tmp_path / "graph.safetensors", "8MiB", "numpy")
    if name not in NEEDS_MEMORY:
        assert getattr(tg, name)(far, **NEEDED.get(name, {})) is not None
        return
    with pytest.raises(DeclaredGapError, match=rf"{name} does not run on a graph with a memory budget.* tgraph\.read"):
        getattr(tg, name)(far, **NEEDED.get(name, {}))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_compressed_graphs_are_taken_or_the_gap_is_declared(name: str, graph: tg.Graph) -> None:
    small = tg.compress(graph, drop_weights=True)
    if name not in NEEDS_ROWS:
        assert getattr(tg, name)(small, **NEEDED.get(name, {})) is not None
        return
    with pytest.raises(DeclaredGapError, match=rf"{name} does not run on a compressed graph.* graph\.decompress\(\)"):
        getattr(tg, name)(small, **NEEDED.get(name, {}))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in NO_PLAIN_FORM])
def test_plain_forms_run_on_jax(name: str, graph: tg.Graph) -> None:
    result = getattr(tg, name)(graph, **NEEDED.get(name, {}), runtime="jax", kernel="plain")
    tensor = result if name == "distance_matrix" else result.values
    assert tg.runtime.of(tensor).name == "jax"
