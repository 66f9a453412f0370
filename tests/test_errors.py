"""Errors: what a user can catch, and that each message helps."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import scipy.sparse as sp

import tgraph as tg
from tgraph import errors
from tgraph.algorithms.bfs import BFS
from tgraph.errors import (
    FileFormatError,
    InterruptedRunError,
    InvalidArgumentError,
    InvalidGraphError,
    InvalidProgramError,
    MissingDependencyError,
    OutOfRangeError,
    TGraphError,
    VertexNotFoundError,
    check_choice,
)

BUILT_IN = {
    InvalidArgumentError: ValueError,
    InvalidGraphError: ValueError,
    InvalidProgramError: TypeError,
    OutOfRangeError: IndexError,
    VertexNotFoundError: KeyError,
    FileFormatError: ValueError,
    MissingDependencyError: ImportError,
}


OTHERS = [
    (None, "graph is a NoneType, no graph; make one with tgraph.from_edges or tgraph.read"),
    (Path("web.csv"), r"graph is a pathlib.*Path, no graph; use tgraph.read\(path\) first"),
    (nx.path_graph(3), r"graph is a networkx.classes.graph.Graph, no graph; use tgraph.from_networkx\(graph\) first"),
    (sp.eye_array(3), r"use tgraph.from_scipy\(graph\) first"),
    (tg.DynamicGraph(), r"use graph.snapshot\(\), or tgraph.stream\(graph\)"),
]
TAKE_A_GRAPH: list[Callable[[Any], Any]] = [
    tg.pagerank,
    tg.distance_matrix,
    lambda graph: tg.bfs(graph=graph, source=0),
    lambda graph: tg.random_walks(graph, length=2),
    lambda graph: tg.run(BFS(0), graph),
    lambda graph: tg.write(graph, "never.txt"),
    tg.compress,
]


@pytest.mark.parametrize("call", TAKE_A_GRAPH)
@pytest.mark.parametrize(("given", "message"), OTHERS)
def test_what_is_no_graph_says_how_to_make_one(call: Callable[[Any], Any], given: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call(given)


def test_a_changing_graph_begins_with_a_graph() -> None:
    with pytest.raises(InvalidArgumentError, match="graph is a list, no graph"):
        tg.DynamicGraph([(0, 1)])  # type: ignore[arg-type]


def test_a_missing_graph_is_a_missing_argument() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'graph'"):
        tg.pagerank()  # type: ignore[call-arg]


def test_what_is_no_program() -> None:
    graph = tg.from_edges([0], [1])
    with pytest.raises(InvalidProgramError, match=r"program is a type; use BFS\(...\)"):
        tg.run(BFS, graph)  # type: ignore[arg-type]
    with pytest.raises(InvalidProgramError, match=r"program is a Graph, no tgraph.Program"):
        tg.run(graph, BFS(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("error", BUILT_IN)
def test_errors_are_caught_by_their_built_in_name(error: type[Exception]) -> None:
    assert issubclass(error, TGraphError)
    assert issubclass(error, BUILT_IN[error])


def test_every_error_of_the_package_is_a_tgraph_error() -> None:
    classes = [
        member for _, member in inspect.getmembers(errors, inspect.isclass) if member.__module__ == errors.__name__
    ]
    others = {member for member in classes if not issubclass(member, TGraphError)}
    assert others == {InterruptedRunError}
    assert issubclass(InterruptedRunError, KeyboardInterrupt)
    assert all(member.__doc__ for member in classes)


def test_messages() -> None:
    assert str(VertexNotFoundError("vertex 'a' is not in the graph")) == "vertex 'a' is not in the graph"
    broken = InvalidGraphError(["one thing", "another"])
    assert str(broken) == "the graph is broken in 2 way(s): one thing; another"
    assert broken.problems == ["one thing", "another"]
    damaged = FileFormatError(Path("roads.mtx"), "line 7", "has 2 numbers, not 3")
    assert str(damaged) == "roads.mtx: line 7: has 2 numbers, not 3"
    assert (damaged.path, damaged.where, damaged.reason) == ("roads.mtx", "line 7", "has 2 numbers, not 3")
    assert 'pip install "tgraph[plots]"' in str(MissingDependencyError("matplotlib", "plot()", extra="plots"))
    assert "pip install scipy" in str(MissingDependencyError("scipy", "from_scipy"))
    assert InterruptedRunError("stopped", 5).result == 5


def test_check_choice() -> None:
    check_choice("side", "left", ("left", "right"))
    with pytest.raises(InvalidArgumentError, match="side='up' is not known; use one of 'left', 'right'"):
        check_choice("side", "up", ("left", "right"))


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgumentError("k=1 is wrong"),
        VertexNotFoundError("vertex 1 is not in the graph"),
        InvalidGraphError(["one", "two"]),
        FileFormatError("a.txt", "line 1", "is empty"),
        MissingDependencyError("scipy", "from_scipy", "networkx"),
    ],
)
def test_errors_survive_pickling(error: Exception) -> None:
    """A worker process hands its errors back pickled."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
