"""What a program's functions return, checked and brought into shape: one tensor with one entry per vertex each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tgraph.errors import InvalidProgramError
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.runtime import Array, Runtime, Tensor, is_tensor


def initial_fields(program: Program, graph: Graph) -> tuple[dict[str, Tensor], Tensor | None]:
    """Call `init`; return its fields, which a run may write into, and the active mask (None = all).

    They have `graph.num_values` entries each.
    """
    size = graph.num_values
    returned = program.init(graph)
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} values" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
        raise InvalidProgramError(f"{_name(program)}.init gave {got}; it must return (values, active mask or None)")
    initial, active = returned
    named = dict(initial) if isinstance(initial, Mapping) else {"value": initial}
    if not named:
        raise InvalidProgramError(f"{_name(program)}.init gave no field; it must return at least one")
    for name in named:
        _check_shape(program, f"init gave {name!r}", named[name], size, "vertices")
    if active is not None:
        _check_shape(program, "init gave 'active'", active, size, "vertices")
        active = graph.runtime.asarray(active)
        kind = graph.runtime.dtype(active)
        if kind.kind != "b":
            raise InvalidProgramError(f"{_name(program)}.init gave an active mask of {kind.name}; it must be bool")
    del initial, returned  # what nobody but `named` refers to need not be copied
    return _take_over(graph.runtime, named), active


def _take_over(runtime: Runtime, named: dict[str, Any]) -> dict[str, Tensor]:
    """Take the tensors out of `named`; those that somebody else could see change are copied."""
    nobodys = object()
    fields = {}
    for name in tuple(named):
        tensor = runtime.asarray(named.pop(name))
        is_ours = sys.getrefcount(tensor) == sys.getrefcount(nobodys) and runtime.has_own_memory(tensor)
        fields[name] = tensor if is_ours else runtime.copy(tensor)
    return fields


def take_arrays(runtime: Runtime, fields: Mapping[str, Tensor]) -> dict[str, Array]:
    """Return the fields as arrays that a kernel may write into: their own memory, or copies where it never changes."""
    arrays = {name: runtime.to_numpy(tensor) for name, tensor in fields.items()}
    return {name: array if array.flags.writeable else array.copy() for name, array in arrays.items()}


def put_back(runtime: Runtime, fields: dict[str, Tensor], arrays: Mapping[str, Array]) -> None:
    """Make what a kernel wrote into copies the fields' values."""
    for name, array in arrays.items():
        if not runtime.to_numpy(fields[name]).flags.writeable:
            fields[name] = runtime.asarray(array)


def edge_fields(program: Program, graph: Graph) -> dict[str, Tensor]:
    """Call `edge_data` and return its tensors."""
    named = dict(program.edge_data(graph))
    for name, tensor in named.items():
        _check_shape(program, f"edge_data gave {name!r}", tensor, graph.num_arcs, "stored edges")
    return {name: graph.runtime.asarray(tensor) for name, tensor in named.items()}


def new_fields(
    program: Program, runtime: Runtime, old: Mapping[str, Tensor], returned: Any, main_field: str, size: int
) -> dict[str, Tensor]:
    """Return what `update` gave as tensors `[size]` of the fields' types; a number is spread over all vertices."""
    named = dict(returned) if isinstance(returned, Mapping) else {main_field: returned}
    fields = {}
    for name, new in named.items():
        if name not in old:
            known = ", ".join(old)
            raise InvalidProgramError(f"{_name(program)}.update gave {name!r}, which is no field; it has {known}")
        dtype = runtime.dtype(old[name])
        if not is_tensor(new) or tuple(new.shape) == (1,):
            new = runtime.full(size, runtime.item(new) if hasattr(new, "item") else new, dtype)
        _check_shape(program, f"update gave {name!r}", new, size, "vertices that it was given")
        fields[name] = runtime.astype(new, dtype)
    return fields


def _check_shape(program: Program, what: str, tensor: Any, size: int, things: str) -> None:
    if hasattr(tensor, "shape") and tuple(tensor.shape) == (size,):
        return
    got = f"shape {tuple(tensor.shape)}" if hasattr(tensor, "shape") else type(tensor).__name__
    expected = f"a tensor with one entry for each of the {size} {things}"
    raise InvalidProgramError(f"{_name(program)}.{what} as {got}; it must be {expected}")


def _name(program: Program) -> str:
    return type(program).__name__
