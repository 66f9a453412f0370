"""The trace: what a run did, iteration by iteration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from tgraph.runtime import Array


@dataclass(frozen=True)
class Iteration:
    """One iteration of a run."""

    direction: str  # push or pull; in an algorithm that is no program, the name of a step
    active_vertices: int  # vertices that sent
    active_edges: int  # edges of those vertices
    seconds: float
    residual: float | None = None  # None = the program has no residual
    moved: dict[str, int] | None = None  # bytes from far memory by way of transfer; None = all edges are near
    blocks: dict[str, int] | None = None  # of edges, used by way of transfer; kept: near already; cached_rows: rows


@dataclass
class Trace:
    """The iterations of a run, and the seconds of its parts.

    >>> trace = Trace(engine="in_memory")
    >>> trace.add(Iteration("push", 1, 3, 0.001))
    >>> len(trace), trace.total_edges
    (1, 3)
    """

    engine: str
    kernel: str = "plain"  # or fused: compiled code
    seconds: dict[str, float] = field(default_factory=dict)  # part of the run -> seconds
    parameters: dict[str, Any] = field(default_factory=dict)  # what was asked for, by name
    _parts: list[Iteration | tuple[Array, Array]] = field(default_factory=list, repr=False)
    _count: int = field(default=0, repr=False)

    def add(self, iteration: Iteration) -> None:
        """Record one iteration."""
        self._parts.append(iteration)
        self._count += 1

    def add_all(self, rows: Array, seconds: Array) -> None:
        """Record the iterations of a kernel: rows (pulled, vertices, edges) `[I, 3]` and seconds `[I]`."""
        self._parts.append((rows, seconds))
        self._count += len(rows)

    @property
    def iterations(self) -> list[Iteration]:
        """All iterations; those of a kernel are made when they are first asked for."""
        if len(self._parts) != self._count or any(isinstance(part, tuple) for part in self._parts):
            self._parts = [one for part in self._parts for one in _iterations_of(part)]
        return self._parts  # type: ignore[return-value]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Iteration]:
        return iter(self.iterations)

    def __getitem__(self, position: int) -> Iteration:
        return self.iterations[position]

    @property
    def total_edges(self) -> int:
        """The number of active edges over all iterations."""
        return sum(
            part.active_edges if isinstance(part, Iteration) else int(part[0][:, 2].sum()) for part in self._parts
        )

    @property
    def moved_bytes(self) -> int:
        """The bytes that came from far memory over all iterations."""
        return sum(sum(one.moved.values()) for one in self._parts if isinstance(one, Iteration) and one.moved)

    @property
    def total_seconds(self) -> float:
        """The seconds of all iterations."""
        return sum(one.seconds if isinstance(one, Iteration) else float(one[1].sum()) for one in self._parts)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary per iteration."""
        return [{"iteration": number, **asdict(iteration)} for number, iteration in enumerate(self, 1)]

    def to_json(self) -> str:
        """Return the whole trace as JSON."""
        parts = {"engine": self.engine, "kernel": self.kernel, "parameters": self.parameters}
        return json.dumps({**parts, "seconds": self.seconds, "iterations": self.to_dicts()}, indent=1, default=str)

    def to_pandas(self) -> Any:
        """Return one row per iteration as a pandas DataFrame."""
        from tgraph.results.result import import_pandas

        return import_pandas().DataFrame(self.to_dicts())

    def __repr__(self) -> str:
        counted = Counter(iteration.direction for iteration in self)
        directions = ", ".join(f"{count} {direction}" for direction, count in counted.items())
        return (
            f"Trace({self.engine}, {self.kernel}: {len(self)} iterations ({directions or 'none'}), "
            f"{self.total_edges:,} active edges, {self.total_seconds:.3f} s)"
        )


def _iterations_of(part: Iteration | tuple[Array, Array]) -> list[Iteration]:
    if isinstance(part, Iteration):
        return [part]
    rows, seconds = part
    return [
        Iteration("pull" if pulled else "push", vertices, edges, share)
        for (pulled, vertices, edges), share in zip(rows.tolist(), seconds.tolist(), strict=True)
    ]
