"""Errors: what a user can catch, and that each message helps."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import pytest

from tgraph import errors
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
