"""What all generated kernels share: the description of a program, its translated functions, the head of the text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tgraph.dtypes import identity, reduced_dtype
from tgraph.kernels.cpu.fused.translate import Translation, translate
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.runtime.protocol import Array

HEAD = '''"""A kernel that tgraph wrote. It is made anew when it is missing."""

import numpy as np
from math import inf, nan
from numba import njit

from tgraph.kernels.cpu.atomics import (
    compare_swap, fetch_add, fetch_min, fetch_or, load, store, trailing_zeros
)
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.coded_edges import DAMAGED, near_ids, window_end
from tgraph.kernels.cpu.direction import prefers_pull
from tgraph.kernels.cpu.fused.functions import (
    absolute, differs, either, exp, invert, log, maximum, minimum, sqrt, where
)
from tgraph.kernels.cpu.fused.functions import change as default_change
from tgraph.kernels.cpu.fused.momentum import new_course, next_omega
from tgraph.kernels.cpu.neighbor_sums import sum_gapped_row, sum_row
from tgraph.kernels.cpu.prefetch import AHEAD, prefetch
from tgraph.kernels.cpu.shares import begin_turn, take
from tgraph.kernels.cpu.team import BORROWING, JIT, part

ONE = np.uint64(1)
'''

Rows = tuple[Array, Array, "Array | None"]  # offsets, neighbours, weights


@dataclass(frozen=True)
class KernelProgram:
    """What a kernel is made from: functions and the names and types around them."""

    functions: dict[str, Callable[..., Any]]  # message, update, and the others that the program has
    parameters: dict[str, tuple[str, ...]]
    field_dtypes: dict[str, np.dtype[Any]]
    edge_names: tuple[str, ...]  # edge data beyond the weights
    weighted: bool
    message_dtype: np.dtype[Any]
    reduce: str
    is_message_per_vertex: bool
    main_field: str
    asynchronous: bool = False
    symmetric: bool = False  # linear equations on an undirected graph: real eigenvalues

    @cached_property
    def translations(self) -> dict[str, Translation]:
        """The functions as text. Raises `NotTranslatableError`."""
        return {name: translate(function, name) for name, function in self.functions.items()}

    @property
    def constants(self) -> dict[str, Any]:
        """The program's numbers by the names that they have in the text; they are the kernel's last arguments."""
        found: dict[str, Any] = {}
        for name, translation in self.translations.items():
            owner = getattr(self.functions[name], "__self__", None)
            found |= {f"self_{constant}": getattr(owner, constant) for constant in translation.constants}
        return found

    @property
    def updated(self) -> tuple[str, ...]:
        """The fields that `update` returns."""
        return self.translations["update"].returned or (self.main_field,)

    @property
    def feeds_back(self) -> bool:
        """Whether messages depend on what `update` changes."""
        read = {name.removeprefix("target_") for name in self.parameters["message"]}
        return bool(read & set(self.updated))

    @property
    def sent_field(self) -> str | None:
        """The field that is sent as it is and never changes, if that is what the program does."""
        words = self.translations["message"].source.partition("\n")[2].split()
        is_field = len(words) == 2 and words[0] == "return" and words[1] in self.field_dtypes
        return words[1] if is_field and not self.feeds_back else None

    @property
    def sent_fields(self) -> list[str]:
        """The sender's fields that a message is made from."""
        return [name for name in self.parameters["message"] if name in self.field_dtypes]

    @property
    def edge_arrays(self) -> tuple[str, ...]:
        """The names of the arrays with one entry per edge, beside the neighbours."""
        return (*(("weight",) if self.weighted else ()), *self.edge_names)

    @property
    def nothing(self) -> Any:
        """The reduction of no messages, in the type of reductions."""
        dtype = reduced_dtype(self.reduce, self.message_dtype)
        return dtype.type(identity("sum" if self.reduce == "mean" else self.reduce, self.message_dtype))

    @property
    def takes_over(self) -> bool:
        """Whether `update` does what the reduction does: the new value is the old one and all messages, reduced."""
        main = self.main_field
        forms = {
            "min": (f"minimum({main}, incoming)", f"minimum(incoming, {main})"),
            "max": (f"maximum({main}, incoming)", f"maximum(incoming, {main})"),
            "any": (f"{main} | incoming", f"incoming | {main}"),
        }
        body = self.translations["update"].source.partition("\n")[2].strip()
        return any(body == f"return {form}" for form in forms.get(self.reduce, ()))

    def text_of_functions(self, names: Iterable[str]) -> str:
        """Return the definitions of these functions, where the program has them."""
        found = [self.translations[name].source for name in names if name in self.translations]
        return "\n\n".join(f"@njit(**JIT)\n{source}\n" for source in found)

    def text_of_call(self, function: str, names: dict[str, str]) -> str:
        """Return a call of one function; `names` says what stands for each parameter."""
        arguments = [names[parameter] for parameter in self.parameters[function]]
        constants = [f"self_{constant}" for constant in self.translations[function].constants]
        return f"{function}({', '.join([*arguments, *constants])})"


@dataclass(frozen=True)
class Side:
    """One way that messages take: rows, and the program's edge data in their order."""

    rows: Rows
    edge_data: dict[str, Array]

    def arrays(self, program: KernelProgram) -> list[Array | None]:
        """Return what a kernel takes of it."""
        offsets, neighbors, weights = self.rows
        data = [weights if name == "weight" else self.edge_data[name] for name in program.edge_arrays]
        return [as_unsigned(offsets), as_unsigned(neighbors), *data]


def type_name(dtype: np.dtype[Any]) -> str:
    """Return NumPy's name of a type, as the text uses it.

    >>> type_name(np.dtype("bool")), type_name(np.dtype("int32"))
    ('bool_', 'int32')
    """
    return "bool_" if dtype.kind == "b" else dtype.name


def listed(names: Iterable[str]) -> str:
    """Return names as further parameters.

    >>> listed(["a", "b"])
    ', a, b'
    """
    return "".join(f", {name}" for name in names)


def block(text: str, depth: int) -> str:
    """Return lines moved in by `depth` steps, apart from the first, which stands where it is put."""
    return textwrap.indent(text.strip("\n"), " " * 4 * depth).lstrip(" ")


def type_lines(**types: np.dtype[Any]) -> str:
    """Return lines that name types for the text.

    >>> type_lines(Value=np.dtype("int32"))
    'Value = np.int32'
    """
    return "\n".join(f"{name} = np.{type_name(dtype)}" for name, dtype in types.items())
