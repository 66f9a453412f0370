"""Declared gaps: what does not run where, and why. Code that meets one raises; `docs/matrix.md` lists them all."""

from __future__ import annotations

from dataclasses import dataclass

from tgraph.errors import DeclaredGapError


@dataclass(frozen=True)
class Gap:
    """An engine that does not run on some runtimes."""

    engine: str
    runtimes: tuple[str, ...]
    reason: str
    instead: str


GAPS = (
    Gap(
        "out_of_memory",
        ("jax", "tensorflow"),
        "its tensors cannot lie in a mapped file, so that all edges would be copied into memory",
        "use runtime='torch' or 'numpy' for a graph with a memory budget",
    ),
)


def find_gap(engine: str, runtime: str) -> Gap | None:
    """Return what is declared about an engine on a runtime, None if it runs there.

    >>> find_gap("in_memory", "jax")
    """
    return next((gap for gap in GAPS if gap.engine == engine and runtime in gap.runtimes), None)


def check_gap(engine: str, runtime: str) -> None:
    """Raise `DeclaredGapError` if the engine does not run on that runtime."""
    gap = find_gap(engine, runtime)
    if gap is not None:
        raise DeclaredGapError(f"runtime={runtime!r} does not run {engine}: {gap.reason}; {gap.instead}")
