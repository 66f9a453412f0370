"""`edges.aggregate` for programs that override `compute`: one pull over all edges."""

from __future__ import annotations

from typing import Any

import torch

from tgraph.kernels.cpu.fused.pieces import KernelProgram, Side
from tgraph.kernels.gpu.fused.pull import Pull, pull_entry
from tgraph.kernels.gpu.fused.sweep import edge_dtypes
from tgraph.kernels.gpu.fused.text import Module, ProgramText


class GatherRun:
    """A message function on one graph: called with values, it returns what reaches each vertex."""

    def __init__(self, program: KernelProgram, sides: list[Side]) -> None:
        offsets, neighbors, _ = sides[0].rows
        text = ProgramText(program, neighbors.dtype, edge_dtypes(sides[0], program), ("message",))
        self._module = Module(text, [pull_entry(text, tests_active=False, makes_messages=True)])
        self._pull = Pull(text, sides, offsets.device)
        self._made = text.constant_tensors(offsets.device)
        self._made["done"] = torch.zeros(1, dtype=torch.bool, device=offsets.device)

    def __call__(self, fields: dict[str, Any]) -> torch.Tensor:
        """Return the reduction of the messages for every vertex, `[V]`; `fields` are the senders' by name."""
        values = {**self._made, **{f"F_{name}": tensor.contiguous() for name, tensor in fields.items()}}
        found = self._pull.reduce(self._module, values)
        if "counts" not in found:
            return found["reduced"]
        return found["reduced"] / found["counts"].clamp(min=1).to(found["reduced"].dtype)
