"""Every error that tgraph raises on purpose.

A message gives the argument, its value, the limit and the next step. Each class also inherits the built-in exception
that a Python user would catch.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any


class TGraphError(Exception):
    """The base of all errors of this package. They can be pickled, so that worker processes can hand them back."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[TGraphError], args: tuple[Any, ...], attributes: dict[str, Any]) -> TGraphError:
    """Rebuild an error without `__init__`, whose arguments are gone: only the message made of them is left."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InvalidArgumentError(TGraphError, ValueError):
    """An argument has a value that the function cannot work with."""


class InvalidGraphError(TGraphError, ValueError):
    """The tensors of a graph contradict each other; `problems` lists every contradiction that was found."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(f"the graph is broken in {len(problems)} way(s): " + "; ".join(problems))


class InvalidProgramError(TGraphError, TypeError):
    """A program breaks a rule that the engines rely on."""


class OutOfRangeError(TGraphError, IndexError):
    """A position lies outside the tensor it points into."""


class VertexNotFoundError(TGraphError, KeyError):
    """A vertex id does not occur in the graph."""

    def __str__(self) -> str:
        return str(self.args[0])


class VerificationError(TGraphError, AssertionError):
    """A result breaks a rule that right answers keep; `found` names the first vertex or edge that breaks `rule`."""

    def __init__(self, rule: str, found: str) -> None:
        self.rule, self.found = rule, found
        super().__init__(f"{found} breaks the rule: {rule}")


class FileFormatError(TGraphError, ValueError):
    """A file is not what its name says; `path` and `where` say where reading stopped."""

    def __init__(self, path: str | PathLike[str], where: str, reason: str) -> None:
        self.path, self.where, self.reason = fspath(path), where, reason
        super().__init__(f"{self.path}: {where}: {reason}")


class MemoryBudgetError(TGraphError, MemoryError):
    """A run needs more near memory than it may have; nothing was computed."""


class StoreReadError(TGraphError, OSError):
    """The file of a graph larger than memory could not be read, is too short, or was changed while it was used."""


class JournalError(TGraphError, OSError):
    """A journal could not be written, or another process uses it; what it holds is as it was."""


class GroupError(TGraphError, ConnectionError):
    """A process of a group ended or is silent; the others cannot go on without it."""


class DeclaredGapError(TGraphError, NotImplementedError):
    """Something does not run there, and `tgraph.gaps` says why."""


class MissingDependencyError(TGraphError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, purpose: str, extra: str | None = None) -> None:
        what = f'"tgraph[{extra}]"' if extra else package
        super().__init__(f"{purpose} needs the package {package}, which is not installed; run: pip install {what}")


class InterruptedRunError(KeyboardInterrupt):
    """The user stopped a run; `result` holds what had been computed, with its trace, or None if that is of no use."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


def check_choice(argument: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`.

    >>> check_choice("direction", "sideways", ("push", "pull"))
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidArgumentError: direction='sideways' is not known; use one of 'push', 'pull'
    """
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidArgumentError(f"{argument}={value!r} is not known; use one of {listed}")


def check_flag(argument: str, value: object) -> None:
    """Raise unless `value` is True or False, of Python or of NumPy: a text such as "no" would count as True.

    >>> check_flag("directed", "no")
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidArgumentError: directed='no' must be True or False
    """
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise InvalidArgumentError(f"{argument}={value!r} must be True or False")


def check_program(program: object) -> None:
    """Raise unless `program` is one: an object of a class of programs, not the class.

    >>> check_program(None)
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidProgramError: program is a NoneType, no tgraph.Program
    """
    if isinstance(program, type):
        raise InvalidProgramError(f"program is a {type(program).__name__}; use {program.__name__}(...)")
    if not hasattr(program, "init"):
        raise InvalidProgramError(f"program is a {type(program).__name__}, no tgraph.Program")


GRAPHS_OF_OTHERS = {
    "networkx": "tgraph.from_networkx",
    "igraph": "tgraph.from_igraph",
    "networkit": "tgraph.from_networkit",
    "scipy": "tgraph.from_scipy",
    "pandas": "tgraph.from_pandas",
    "polars": "tgraph.from_pandas",
    "pyarrow": "tgraph.from_arrow",
    "torch_geometric": "tgraph.from_pyg",
    "dgl": "tgraph.from_dgl",
    "cugraph": "tgraph.from_cugraph",
}


def check_graph(graph: object) -> None:
    """Raise unless `graph` is one of ours; say how to make one of what it is.

    >>> check_graph("web.csv")
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidArgumentError: graph is a str, no graph; use tgraph.read(path) first
    """
    if hasattr(graph, "is_sharded"):
        return
    kind = type(graph)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    if isinstance(graph, (str, PathLike)):
        advice = "use tgraph.read(path) first"
    elif hasattr(graph, "snapshot"):
        advice = "use graph.snapshot(), or tgraph.stream(graph).keep(...) for a result that stays current"
    elif kind.__module__.split(".")[0] in GRAPHS_OF_OTHERS:
        advice = f"use {GRAPHS_OF_OTHERS[kind.__module__.split('.')[0]]}(graph) first"
    else:
        advice = "make one with tgraph.from_edges or tgraph.read"
    raise InvalidArgumentError(f"graph is a {name}, no graph; {advice}")
