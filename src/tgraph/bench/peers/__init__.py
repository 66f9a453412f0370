"""The candidates: tgraph itself and its peers, one file each, all with the same shape.

Each file has `PEER`: how the library takes a graph over, and a table from a task's name to how the library does it.
`run` is what is timed; `answer` turns the library's own result into arrays in vertex order and is not timed. Libraries
are imported by name when a candidate starts, so that none of them is needed to list the others.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tgraph.graph import Graph

PEERS = ("networkx", "scipy", "igraph", "networkit", "graphblas", "sknetwork", "rustworkx")

Parameters = Mapping[str, Any]


def _as_it_is(result: Any, _view: Any, _parameters: Parameters) -> Any:
    return result


@dataclass(frozen=True)
class Algorithm:
    """How a library does a task."""

    run: Callable[[Any, Parameters], Any]
    answer: Callable[[Any, Any, Parameters], Any] = _as_it_is
    unchecked: str = ""  # why the answer cannot be compared with others
    max_arcs: int | None = None  # larger graphs would take minutes


@dataclass(frozen=True)
class Peer:
    """A library."""

    name: str
    package: str  # on PyPI
    convert: Callable[[Graph], Any]
    algorithms: Mapping[str, Algorithm]
    max_arcs: int = 1 << 40
    set_threads: Callable[[int], None] = field(default=lambda threads: None)

    @property
    def available(self) -> bool:
        """Whether the library is installed."""
        return importlib.util.find_spec(self.name) is not None

    @property
    def version(self) -> str:
        """The installed version."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "unknown"

    def skips(self, task: str, num_arcs: int) -> str:
        """Return why the library does not take part in a task, empty if it does."""
        if task not in self.algorithms:
            return "has no such algorithm"
        limit = min(self.max_arcs, self.algorithms[task].max_arcs or self.max_arcs)
        return f"not run above {limit:,} stored edges" if num_arcs > limit else ""


def load_peer(name: str) -> Peer:
    """Return the peer of this name.

    >>> load_peer("scipy").skips("coloring", 10)
    'has no such algorithm'
    """
    peer: Peer = importlib.import_module(f"tgraph.bench.peers.{name}").PEER
    return peer
