"""`run`: give a program and a graph to an engine.

Engines are found by name, `tgraph/engine/<name>.py`, when they are first used: an algorithm that calls `run` does not
know any engine, and importing tgraph loads none.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from tgraph.config import PROGRESS, check_num_threads, config
from tgraph.errors import InvalidArgumentError, check_choice, check_graph, check_program
from tgraph.group import current

if TYPE_CHECKING:
    from tgraph.graph import Graph
    from tgraph.program import Program
    from tgraph.results import Result

ENGINES = ("in_memory", "compressed", "out_of_memory", "distributed")
DIRECTIONS = ("auto", "push", "pull")
KERNELS = ("auto", "fused", "plain")
TRANSFERS = ("hybrid", "filter", "compact", "zero_copy")
SCHEDULES = ("auto", "sweep", "delta")
CACHES = ("blocks", "rows")


class How(TypedDict, total=False):
    """How a run is done: keywords that every algorithm and `run` take."""

    engine: str
    direction: str
    kernel: str
    transfer: str
    schedule: str
    cache: str
    checkpoint: str | os.PathLike[str] | None
    runtime: str | None
    device: str | None
    threads: int | None
    progress: bool | str


@dataclass(frozen=True)
class Options:
    """The checked keywords of a run."""

    direction: str = "auto"
    max_iterations: int | None = None
    progress: str = "auto"
    kernel: str = "auto"
    transfer: str = "hybrid"
    checkpoint: str | os.PathLike[str] | None = None
    schedule: str = "auto"
    cache: str = "blocks"


def run(program: Program, graph: Graph, *, max_iterations: int | None = None, **how: Unpack[How]) -> Result:
    """Run a program on a graph and return its result.

    Args:
        program: What to compute.
        graph: On which graph.
        max_iterations: Stop after this many; the result then says `converged=False`. None = no limit.
        how: Keywords, the same for every algorithm:

            - engine: `in_memory`, `compressed` for graphs from `tgraph.compress`, `out_of_memory` for those from
              `tgraph.open` and `tgraph.offload`, or `distributed` in a block of `tgraph.distributed`; each graph runs
              where it belongs unless told.
            - direction: `push` (active vertices send), `pull` (vertices collect) or `auto` (chosen per iteration by the
              work of each). The answer is the same; sums of floats may differ in the last digits.
            - kernel: `fused` (compiled code, a program's functions inside the loop), `plain` (tensor primitives) or
              `auto` (fused where it can be).
            - transfer: For these graphs, how the edges of active vertices are moved: `filter` (whole blocks),
              `compact` (their rows, or the pages of them), `zero_copy` (read where they are) or `hybrid` (the cheapest
              of these for each block and iteration). Where all vertices are active, rows and whole blocks are the same.
            - schedule: For graphs from `tgraph.open` and programs over all vertices: `sweep` (all edges in every
              iteration), `delta` (linear programs: only changes are sent, where most wait first) or `auto` (sweeps, and
              changes if these would go on for long).
            - cache: For graphs from `tgraph.open`, what room near is left for: `blocks` that stay, or for one half the
              `rows` of the vertices that are active most often (monotonic programs only).
            - checkpoint: For graphs from `tgraph.open` and for groups of ranks, a folder in which the run notes now and
              then how far it is; the same call goes on from there after it was killed.
            - runtime, device: Move the graph there first.
            - threads: Threads of the CPU kernels during this run.
            - progress: True, False, or `auto`: on a terminal, after a second.

    >>> import tgraph as tg
    >>> class Reached(tg.Program):
    ...     reduce, monotonic = "any", True
    ...     def init(self, graph):
    ...         start = graph.full(False, "bool", at={0: True})
    ...         return start, start
    ...     def message(self, value): return value
    ...     def update(self, value, incoming): return value | incoming
    >>> tg.run(Reached(), tg.from_edges([0, 1, 3], [1, 2, 2])).values.tolist()
    [True, True, True, False]
    """
    check_program(program)
    check_graph(graph)
    options = check_how(max_iterations, how)
    engine = how.get("engine") or _engine_of(graph)
    if options.checkpoint is not None and engine not in ("out_of_memory", "distributed"):
        raise InvalidArgumentError(
            f"checkpoint={os.fspath(options.checkpoint)!r} is for graphs from tgraph.open and for groups; leave it out"
        )
    module: Any = importlib.import_module(f"tgraph.engine.{engine}")
    with use_threads(how.get("threads")):
        result: Result = module.run(program, placed(graph, how), options)
    return result


def _engine_of(graph: Graph) -> str:
    if graph.is_sharded or current() is not None:
        return "distributed"
    if graph.is_compressed:
        return "compressed"
    return "out_of_memory" if graph.is_far else "in_memory"


def placed(graph: Graph, how: How) -> Graph:
    """Return the graph on the runtime and device that were asked for."""
    if how.get("runtime") or how.get("device"):
        return graph.to(how.get("runtime") or graph.runtime.name, how.get("device"))
    return graph


def check_how(limit: int | None, how: How) -> Options:
    """Return the checked options of a run, or raise `InvalidArgumentError`."""
    unknown = set(how) - set(How.__annotations__)
    if unknown:
        known = ", ".join(How.__annotations__)
        raise InvalidArgumentError(f"the keyword {min(unknown)!r} is not known here; a run takes {known}")
    check_choice("engine", how.get("engine", "in_memory"), ENGINES)
    direction = how.get("direction", "auto")
    check_choice("direction", direction, DIRECTIONS)
    kernel = how.get("kernel", "auto")
    check_choice("kernel", kernel, KERNELS)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, Integral) or limit < 0):
        raise InvalidArgumentError(f"max_iterations={limit!r} must be a whole number, 0 or more, or None for no limit")
    transfer = how.get("transfer", "hybrid")
    check_choice("transfer", transfer, TRANSFERS)
    schedule = how.get("schedule", "auto")
    check_choice("schedule", schedule, SCHEDULES)
    cache = how.get("cache", "blocks")
    check_choice("cache", cache, CACHES)
    progress = how.get("progress", config.progress)
    if isinstance(progress, bool):
        progress = "on" if progress else "off"
    check_choice("progress", progress, PROGRESS)
    checkpoint = how.get("checkpoint")
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise InvalidArgumentError(f"checkpoint={checkpoint!r} must be the path of a folder")
    count = None if limit is None else int(limit)
    return Options(direction, count, progress, kernel, transfer, checkpoint, schedule, cache)


class use_threads:  # noqa: N801 - reads as a statement
    """Set the thread count for the length of a block."""

    def __init__(self, count: int | None) -> None:
        self.count = config.num_threads if count is None else check_num_threads("threads", count)

    def __enter__(self) -> None:
        self.before, config.num_threads = config.num_threads, self.count

    def __exit__(self, *_: object) -> None:
        config.num_threads = self.before
