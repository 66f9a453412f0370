"""Write docs/matrix.md from the code: algorithms, engines and runtimes by their lists, gaps as `tgraph.gaps` says.

python docs/make_matrix.py
"""

from __future__ import annotations

from pathlib import Path

import tgraph.algorithms
from tgraph.config import RUNTIMES
from tgraph.gaps import GAPS, NEEDS_MEMORY, NEEDS_ONE_MACHINE, NEEDS_ROWS, NO_PLAIN_FORM, NOT_KEPT, find_gap
from tgraph.run import ENGINES
from tgraph.service.kept_programs import PROGRAMS

PAGE = Path(__file__).with_name("matrix.md")
PACKAGE_RUNTIMES = [name for name, module in RUNTIMES.items() if module.startswith("tgraph.")]
DEVICES = ("cpu", "other devices")
HEAD = """# What runs where

Written by `docs/make_matrix.py` from the code. A test compares the page with it, and tries every algorithm plain, with
a memory budget and on JAX.

- **fused**: compiled kernels, on the CPU's memory whatever the runtime; `kernel="plain"` runs primitives instead where
  that is said.
- **plain**: the runtime's own primitives. On other devices this is tested on a fake one; no GPU has run it yet. With
  Triton, the part of an algorithm that is a program is compiled for torch's GPUs too ([GPUs](gpu.md)).
- **runs**: within the budget, on a [compressed graph](compression.md), or on a graph divided among
  [the ranks of a group](distributed.md), fused or plain as the program allows; the trace says which. Beside a device of
  torch (`tg.offload`) see [larger than memory](larger_than_memory.md).
- **kept**: brought up to date after every batch by `tg.stream(graph).keep(name)`, on the CPU's memory whatever the
  runtime ([graphs that change](changing_graphs.md)).
- **CPU**: the graph is copied to the CPU, and the result back.
- **gap**: declared in `tgraph.gaps`; the reasons are below.

"""


def algorithms() -> list[str]:
    """Return the names of the built-in algorithms."""
    return [name for name in tgraph.algorithms.__all__ if name.islower()]


def cell(algorithm: str, engine: str, runtime: str, device: str) -> str:
    """Return how an algorithm runs somewhere."""
    has_plain = algorithm not in NO_PLAIN_FORM
    if find_gap(engine, runtime) is not None or (engine == "out_of_memory" and algorithm in NEEDS_MEMORY):
        return "gap"
    if engine == "compressed" and algorithm in NEEDS_ROWS:
        return "gap"
    if engine == "distributed" and algorithm in NEEDS_ONE_MACHINE:
        return "gap"
    if engine == "streaming":
        return "kept" if algorithm in PROGRAMS else "gap"
    if engine in ("out_of_memory", "compressed", "distributed"):
        return "runs"
    if device != "cpu":
        if runtime == "numpy":
            return "no device"
        return "plain" if has_plain else "CPU"
    return "fused, plain" if has_plain else "fused"


def make_page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for engine in (*ENGINES, "streaming"):
        devices = DEVICES if engine == "in_memory" else DEVICES[:1]
        columns = [(runtime, device) for device in devices for runtime in PACKAGE_RUNTIMES]
        parts.append(f"## {engine}\n\n| | {' | '.join(f'{runtime}, {device}' for runtime, device in columns)} |\n")
        parts.append("|---" * (len(columns) + 1) + "|\n")
        for name in algorithms():
            cells = [cell(name, engine, *column) for column in columns]
            parts.append(f"| `{name}` | {' | '.join(cells)} |\n")
        parts.append("\n")
    return "".join([*parts, _reasons()])


def _reasons() -> str:
    lines = ["## Gaps and their reasons\n\n"]
    for gap in GAPS:
        lines.append(f"- `{gap.engine}` on {' and '.join(gap.runtimes)}: {gap.reason}; {gap.instead}.\n")
    lines += [f"- `out_of_memory` for `{name}`: {reason}.\n" for name, reason in NEEDS_MEMORY.items()]
    lines += [f"- `compressed` for `{name}`: {reason}.\n" for name, reason in NEEDS_ROWS.items()]
    lines += [f"- `distributed` for `{name}`: {reason}.\n" for name, reason in NEEDS_ONE_MACHINE.items()]
    lines.append(f"- `streaming` for all but {', '.join(f'`{name}`' for name in PROGRAMS)}: {NOT_KEPT}.\n")
    lines += [f'- `kernel="plain"` for `{name}`: {reason}.\n' for name, reason in NO_PLAIN_FORM.items()]
    return "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(make_page())
