"""`import tgraph` stays quick: heavy packages are loaded when something needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tgraph as tg

RUNTIMES = ("torch", "jax", "tensorflow", "numba", "triton")
HEAVY = (*RUNTIMES, "polars", "pandas", "networkx", "scipy", "rich", "typer", "z3")


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy() -> None:
    loaded = run_python(f"import sys, tgraph; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]"


def test_a_graph_on_numpy_does_not_load_torch() -> None:
    code = """
        import sys, tgraph as tg
        graph = tg.from_edges([0, 1], [1, 2], runtime="numpy")
        tg.bfs(graph, 0), tg.pagerank(graph), tg.wcc(graph).to_numpy()
        print([name for name in ("torch", "pandas", "networkx", "rich", "typer") if name in sys.modules])
    """
    assert run_python("if True:" + code) == "[]"


@pytest.mark.parametrize("first", ["bfs", "from_edges", "Program", "generate", "config", "run", "errors"])
def test_names_mean_the_same_whatever_is_used_first(first: str) -> None:
    code = f"import tgraph as tg; tg.{first}; print(callable(tg.run), hasattr(tg.config, 'num_threads'))"
    assert run_python(code) == "True True"


@pytest.mark.parametrize("name", tg.__all__)
def test_public_names_resolve(name: str) -> None:
    assert getattr(tg, name) is not None


def test_dir_shows_the_public_names() -> None:
    assert set(tg.__all__) <= set(dir(tg))
    assert len(set(tg.__all__)) == len(tg.__all__)


def test_star_import() -> None:
    assert run_python("from tgraph import *; print(callable(bfs), callable(run), __version__)").startswith("True True ")


def test_unknown_names_raise() -> None:
    with pytest.raises(AttributeError, match="tgraph has no 'crystal_ball'"):
        tg.crystal_ball  # noqa: B018
    assert not hasattr(tg, "__wrapped__")
