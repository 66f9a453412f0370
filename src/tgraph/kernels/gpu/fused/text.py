"""The text of a program's kernels: its typed functions, and around them what happens at edges and at vertices.

An entry is one kernel. Its parameters are tensors that it reads, tensors that it writes, numbers, and `BLOCK`; `Entry`
keeps their names, and who launches it gives values by name.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.pieces import KernelProgram
from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.fused.source import load_kernel
from tgraph.kernels.gpu.fused.typed import TRITON_TYPES, sample_of, write_function
from tgraph.kernels.gpu.operators import run_program
from tgraph.kernels.gpu.segments import wide_dtype
from tgraph.runtime.torch.runtime import torch_dtype

HEAD = '''"""A kernel that tgraph wrote. It is made anew when it is missing."""

import triton
import triton.language as tl

from tgraph.kernels.gpu.accumulators import accumulate, append, from_cells, note_first, to_cells
from tgraph.kernels.gpu.fused import elements as el
from tgraph.kernels.gpu.segments import find_rows, store_rows

'''
_SAMPLES = {bool: True, int: 3, float: 0.7236}


@dataclass(frozen=True)
class Entry:
    """One kernel of a module: names of its parameters, and its lines."""

    name: str
    read: tuple[str, ...]
    written: tuple[str, ...]
    numbers: tuple[str, ...]
    lines: str

    @property
    def text(self) -> str:
        """The kernel's definition."""
        parameters = ", ".join([*self.read, *self.written, *self.numbers])
        body = textwrap.indent(self.lines.strip("\n"), "    ")
        return f"@triton.jit\ndef {self.name}({parameters}, BLOCK: tl.constexpr):\n{body}\n"


class ProgramText:
    """A program's functions as Triton text, and the pieces that its kernels share."""

    def __init__(
        self, program: KernelProgram, ids: torch.dtype, edge_dtypes: Mapping[str, torch.dtype], names: Iterable[str]
    ) -> None:
        """Write the functions `names`, where the program has them. Raises `NotTranslatableError`."""
        self.program, self.ids = program, ids
        self.message_dtype = torch_dtype(program.message_dtype)
        self.reduced_dtype = torch_dtype(reduced_dtype(program.reduce, program.message_dtype))
        self.wide = TRITON_TYPES[wide_dtype(self.reduced_dtype)]
        self.fields = tuple(f"F_{name}" for name in program.field_dtypes)
        self.edge_arrays = tuple(f"E_{name}" for name in program.edge_arrays)
        self.functions: list[str] = []
        self.returned: dict[str, list[torch.dtype]] = {}
        self._edge_dtypes = edge_dtypes
        for name in names:
            if name in program.functions:
                text, self.returned[name] = write_function(
                    program.translations[name], f"fn_{name}", self._samples(name)
                )
                self.functions.append(text)

    @cached_property
    def constants(self) -> dict[str, bool | int | float]:
        """The program's numbers by their names in the text."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.program.constants.items()
        }

    def constant_tensors(self, device: Any) -> dict[str, torch.Tensor]:
        """Return the numbers as kernels read them: a Python float would lose half of its digits as an argument."""
        floats = [value for value in self.constants.values() if isinstance(value, float)]
        integers = [int(value) for value in self.constants.values() if not isinstance(value, float)]
        return {
            "floats": torch.tensor(floats or [0.0], dtype=torch.float64, device=device),
            "integers": torch.tensor(integers or [0], dtype=torch.int64, device=device),
        }

    @property
    def constant_lines(self) -> str:
        """The lines that read the program's numbers."""
        lines, counts = [], {"floats": 0, "integers": 0}
        for name, value in self.constants.items():
            kind = "floats" if isinstance(value, float) else "integers"
            read = f"tl.load({kind} + {counts[kind]})"
            lines.append(f"{name} = {read} != 0" if isinstance(value, bool) else f"{name} = {read}")
            counts[kind] += 1
        return "\n".join(lines)

    def _samples(self, function: str) -> dict[str, Any]:
        """Return a sample for every parameter of a function."""
        fields = {name: sample_of(torch_dtype(dtype)) for name, dtype in self.program.field_dtypes.items()}
        samples: dict[str, Any] = {
            f"{prefix}{name}": one for prefix in ("", "target_", "new_") for name, one in fields.items()
        }
        samples |= {"weight": 1, "source": sample_of(self.ids), "target": sample_of(self.ids)}
        samples |= {name: sample_of(dtype) for name, dtype in self._edge_dtypes.items()}
        samples["incoming"] = sample_of(self.reduced_dtype)
        if "total" in self.returned:
            samples["total"] = sample_of(self.returned["total"][0])
        return samples | {name: _SAMPLES[type(value)] for name, value in self.constants.items()}

    def call(self, function: str, names: Mapping[str, str]) -> str:
        """Return the call of a function; `names` says what stands for each parameter."""
        arguments = [names[parameter] for parameter in self.program.parameters[function]]
        constants = [f"self_{constant}" for constant in self.program.translations[function].constants]
        return f"fn_{function}({', '.join([*arguments, *constants])})"

    # --- pieces ------------------------------------------------------------------------------------------------------
    def read_fields(
        self, function: str, at: str, mask: str, prefix: str, of: str = ""
    ) -> tuple[list[str], dict[str, str]]:
        """Return the lines that read the fields that a function asks for, and what they are called then.

        `of` is in front of a field's name among the parameters: `target_` for those of the receiver.
        """
        wanted = [name for name in self.program.field_dtypes if f"{of}{name}" in self.program.parameters[function]]
        lines = [f"{prefix}{name} = tl.load(F_{name} + {at}, mask={mask}, other=1)" for name in wanted]
        return lines, {f"{of}{name}": f"{prefix}{name}" for name in wanted}

    def make_message(self, sender: str, receiver: str, edge: str, mask: str) -> list[str]:
        """Return the lines that make `m`, the messages of edges, in the type that is reduced in."""
        if self.program.reduce == "count":
            return ["m = tl.full([BLOCK], 1, tl.int64)"]
        lines, names = self.read_fields("message", sender, mask, "s_")
        more, target_names = self.read_fields("message", receiver, mask, "t_", "target_")
        names |= target_names
        names |= {
            name: f"({at}).to({TRITON_TYPES[self.ids]})" for name, at in (("source", sender), ("target", receiver))
        }
        wanted = [name for name in self.program.edge_arrays if name in self.program.parameters["message"]]
        names |= {"weight": "tl.full([], 1, tl.int64)"} | {name: f"e_{name}" for name in wanted}
        read = [f"e_{name} = tl.load(E_{name} + {edge}, mask={mask}, other=1)" for name in wanted]
        made = f"m = ({self.call('message', names)}).to({TRITON_TYPES[self.message_dtype]}).to({self.wide})"
        return [*lines, *more, *read, made]

    def update_lines(self, at: str, mask: str) -> list[str]:
        """Return the lines that make `new_x` of every updated field x from `incoming`; the old one is `o_x`."""
        fields = self.program.field_dtypes
        lines = [f"o_{name} = tl.load(F_{name} + {at}, mask={mask}, other=1)" for name in fields]
        names = {"incoming": "incoming", "total": "total_sum", **{name: f"o_{name}" for name in fields}}
        updated = self.program.updated
        lines.append(f"{', '.join(f'r_{name}' for name in updated)} = {self.call('update', names)}")
        for name in updated:
            cast = f"(r_{name}).to({TRITON_TYPES[torch_dtype(fields[name])]})"
            lines.append(f"new_{name} = tl.where({mask}, {cast}, o_{name})")
        return lines

    def changed(self) -> str:
        """Return the expression for whether any updated field changed."""
        return " | ".join(f"el.differs(o_{name}, new_{name})" for name in self.program.updated)

    @property
    def incoming_lines(self) -> list[str]:
        """The lines that turn `wide_incoming` (and `got`, for means) into `incoming`."""
        found = "(wide_incoming)"
        if self.program.reduce == "mean":
            found = f"el.divide(wide_incoming, el.maximum(got, 1).to({self.wide}))"
        return [f"incoming = {found}.to({TRITON_TYPES[self.reduced_dtype]})"]


class Module:
    """The kernels of a program, loaded, to be launched by name."""

    def __init__(self, text: ProgramText, entries: Iterable[Entry]) -> None:
        self.entries = {entry.name: entry for entry in entries}
        parts = [HEAD, *text.functions, *(entry.text for entry in self.entries.values())]
        self.text = "\n\n".join(parts)
        self.name = load_kernel(self.text).__name__

    def launch_on_vertices(self, name: str, values: Mapping[str, Any], count: int) -> None:
        """Launch an entry whose lanes are `count` vertices."""
        sizes = launch.sizes_on(values["floats"].device)
        self.launch(name, count, values, sizes.vertices, sizes.vertex_warps)

    def launch(self, name: str, size: int, values: Mapping[str, Any], block: int, warps: int) -> None:
        """Launch an entry on `size` things; `values` has every parameter by its name, and may have more."""
        entry = self.entries[name]
        read, written = ([values[one] for one in names] for names in (entry.read, entry.written))
        run_program(self.name, name, size, read, written, [int(values[one]) for one in entry.numbers], block, warps)
