"""Programs: the maths of an algorithm, apart from how it is run.

```python
class WidestPath(tg.Program):
    reduce, monotonic = "max", True

    def __init__(self, source):
        self.source = source

    def init(self, graph):
        widths = graph.full(0.0, "float64", at={self.source: math.inf})
        return widths, graph.full(False, "bool", at={self.source: True})

    def message(self, value, weight):
        return tg.minimum(value, weight)

    def update(self, value, incoming):
        return tg.maximum(value, incoming)
```
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tgraph import runtime
from tgraph.dtypes import IDEMPOTENT_REDUCTIONS, REDUCTIONS
from tgraph.elementwise import absolute, where
from tgraph.errors import InvalidProgramError, check_choice
from tgraph.operators import changed_mask
from tgraph.runtime import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tgraph.graph import Graph

ACTIVE = ("changed", "all")
ALONG = ("out", "in", "both")


@dataclass
class State:
    """What a program has computed so far: named tensors `[V]`, and how far it is."""

    fields: dict[str, Tensor]
    iteration: int = 0
    residual: float = float("inf")


class Edges(Protocol):
    """What an engine gives to `Program.compute`: sums and the like over all edges, wherever the edges are."""

    graph: Graph

    def aggregate(
        self, values: Tensor, reduce: str, *, along: str = "out", message: Callable[..., Tensor] | None = None
    ) -> Tensor:
        """Send `values [V]` along every edge and return what reaches each vertex, `[V]`.

        `message(value, weight)` changes a value on its way; it is element-wise. `along="in"` sends against the edges.
        """

    def most_frequent(self, labels: Tensor) -> Tensor:
        """Return the label (0 to V - 1) that most neighbours of each vertex have, along both directions, `[V]`.

        Of several the smallest; a neighbour counts once per edge, and who has none keeps its own.
        """


class Program:
    """The base of all programs. A program has `init`, `message` and `update`; the rest has defaults.

    Parameters of `message`, `update`, `total`, `change`, `settled` and `priority` are matched **by name**:

    | name | in | meaning |
    |---|---|---|
    | a field's name (`value` if there is one) | all | the vertex's field; in `message` that of the sender |
    | `target_` + a field's name | message | the field of the receiver |
    | `weight` | message | the edge's weight, 1 in an unweighted graph |
    | `source`, `target` | message | vertex numbers of the sender and the receiver |
    | a name from `edge_data` | message | that edge's entry |
    | `incoming` | update | the reduction of all messages that reached the vertex |
    | `total` | update, change | the sum of `total(...)` over all vertices |
    | `new_` + a field's name | change | the field after the update |

    They are element-wise: they are called on whole tensors, and with `tgraph.where`, `minimum` and the like instead of
    `if`.
    """

    reduce: str = "min"
    """How messages meet: min, max, sum, mean, any or count."""

    monotonic: bool = False
    """Values only move in the direction of `reduce`, so that a message sent twice, or early, does no harm.

    Pull then takes messages from all neighbours, active or not: `init` must not hold back values that would count.
    `tgraph.check` proves it, or finds numbers that refute it.
    """

    active: str = "changed"
    """Who sends in the next iteration: the vertices that changed, or all."""

    along: str = "out"
    """Messages travel along the edges, against them (in), or both ways."""

    asynchronous: bool = False
    """With `active = "all"`: a new value may be used as soon as it is known, in the same iteration.

    The fixed point is the same and is reached in fewer iterations; which values an iteration sees is up to the kernel,
    and the same in every run. The plain path uses them in the next iteration.
    """

    linear: bool = False
    """With `reduce = "sum"`: the values are the solution of linear equations.

    `message` and `total` are multiples of the main field; `update` is a multiple of `incoming`, one of `total` and a
    number of the vertex, added up, and does not ask for the old value.

    Then changes can be sent instead of values, and who has little to change need not send: `schedule="delta"`. If it is
    asynchronous too, steps are made longer on undirected graphs where values settle slowly, so that there are fewer of
    them. `tgraph.check` proves it.
    """

    tolerance: float = 0.0
    """With `active = "all"` the run ends when the sum of `change(...)` is not above this."""

    by_parts: bool = False
    """`init` and `finish` treat every vertex by itself, and add up over vertices by `graph.total` only.

    On a graph divided among ranks they are then called with the vertex data of the rank's own vertices, one entry each;
    without it, with those of all vertices, which takes that memory on every rank.
    """

    compute_bytes: int = 24
    """Bytes per vertex of the tensors that `compute` holds at a time beside the fields, for runs in a memory budget."""

    vertex_fields: tuple[str, ...] = ()
    """Results whose values are vertex numbers; they are shown as the user's ids."""

    def init(self, graph: Graph) -> tuple[Any, Tensor | None]:
        """Return the fields and the mask of active vertices (None = all).

        Fields are one tensor `[V]`, then called `value`, or a mapping of names to tensors, the main one first.
        """
        raise InvalidProgramError(f"{type(self).__name__} has no init(graph); it returns (values, active mask or None)")

    def edge_data(self, graph: Graph) -> Mapping[str, Tensor]:
        """Return named tensors with one entry per stored edge, in the order of `graph.out_targets`, for `message`."""
        return {}

    message: Callable[..., Any]
    update: Callable[..., Any]

    total: Callable[..., Any] | None = None
    """Element-wise; its sum over all vertices, before each iteration, is given to `update` and `change` as `total`."""

    settled: Callable[..., Any] | None = None
    """Element-wise; True where a vertex cannot change any more if iterations are synchronous. Saves work in pull."""

    change: Callable[..., Any] | None = None
    """Element-wise; its sum is the residual of an iteration. Unless given: the magnitude of the main field's change."""

    priority: Callable[..., Any] | None = None
    """Element-wise; how urgent it is that a vertex sends: the smallest first. Only the speed depends on it.

    For monotonic programs whose messages never are more urgent than their sender, as distances are.
    """

    def bucket_width(self, graph: Graph) -> float:
        """Return how much priorities may differ and still be served together; 1 unless overridden."""
        return 1.0

    def is_done(self, iteration: int, residual: float) -> bool:
        """Say whether to stop after an iteration in which all vertices were active."""
        return residual <= self.tolerance

    def compute(self, state: State, edges: Edges) -> Any:
        """Do one iteration with whole tensors instead of `message` and `update`: change `state.fields`.

        Returns the residual (a number or a tensor with one element). Only for what an element-wise program cannot say;
        `edges.aggregate` is the only way to the edges, so that every engine can run it.
        """
        raise NotImplementedError

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of the result by name, the main one first."""
        return fields


@dataclass(frozen=True)
class Plan:
    """A program looked through once: which names each function asks for, and what follows for the engine."""

    program: Program
    field_names: tuple[str, ...]
    edge_names: tuple[str, ...]
    has_compute: bool
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def main_field(self) -> str:
        """The field that `update` returns and that `Result.values` shows."""
        return self.field_names[0]

    @property
    def needs_total(self) -> bool:
        """Whether any function asks for the sum of `total(...)`."""
        return any("total" in self.parameters.get(function, ()) for function in ("update", "change"))

    @property
    def is_message_per_vertex(self) -> bool:
        """Whether a message depends on its sender alone, so that it is made once per vertex and not per edge."""
        return set(self.parameters["message"]) <= {*self.field_names, "source"}

    @property
    def may_resend(self) -> bool:
        """Whether vertices that did not change may send again: then pull need not ask who is active."""
        return self.program.monotonic and self.program.reduce in IDEMPOTENT_REDUCTIONS

    def call(self, function: str, values: Callable[[str], Any]) -> Any:
        """Call one of the program's functions with `values(name)` for each of its parameters."""
        arguments = {name: values(name) for name in self.parameters[function]}
        name = f"{type(self.program).__name__}.{function}"
        try:
            returned = getattr(self.program, function)(**arguments)
        except (RuntimeError, ValueError) as error:
            if "ambiguous" not in str(error):
                raise
            raise InvalidProgramError(
                f"{name} asks whether a whole tensor is true (if, and, or, not, min, max); it is called on all values "
                "at once: use tgraph.where, &, |, tgraph.minimum or tgraph.maximum"
            ) from error
        if returned is None or isinstance(returned, str):
            raise InvalidProgramError(f"{name} returned {returned!r}; it must return a tensor or a number")
        return returned


def plan(program: Program, field_names: tuple[str, ...], edge_names: tuple[str, ...] = ()) -> Plan:
    """Check a program and return its plan.

    >>> class Typo(Program):
    ...     def message(self, value, wieght): return value
    ...     def update(self, value, incoming): return value
    >>> plan(Typo(), ("value",))
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidProgramError: Typo.message asks for 'wieght'; it can ask for value, target_value, weight, \
source, target
    """
    check_choice("Program.reduce", program.reduce, REDUCTIONS)
    check_choice("Program.active", program.active, ACTIVE)
    check_choice("Program.along", program.along, ALONG)
    has_compute = type(program).compute is not Program.compute
    parameters = {}
    for function, known in _known_names(field_names, edge_names).items():
        _check_distinct(program, known)
        if getattr(program, function, None) is None:
            if function in ("message", "update") and not has_compute:
                raise InvalidProgramError(f"{type(program).__name__} has no {function}; write one, or override compute")
            continue
        parameters[function] = _parameter_names(program, function, known)
    return Plan(program, field_names, edge_names, has_compute, parameters)


def default_change(old: Tensor, new: Tensor) -> Tensor:
    """Return the magnitude of a field's change, as float64: above 0 where, and only where, it changed."""
    changed = changed_mask(old, new)  # infinity minus infinity would be NaN
    difference = where(changed, new, 0) - where(changed, old, 0)
    return absolute(runtime.of(difference).astype(difference, "float64"))


def _known_names(fields: tuple[str, ...], edge_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    targets = tuple(f"target_{name}" for name in fields)
    return {
        "message": (*fields, *targets, "weight", "source", "target", *edge_names),
        "update": (*fields, "incoming", "total"),
        "total": fields,
        "settled": fields,
        "priority": fields,
        "change": (*fields, *(f"new_{name}" for name in fields), "total"),
    }


def _check_distinct(program: Program, names: tuple[str, ...]) -> None:
    for name in names:
        if names.count(name) > 1:
            problem = f"{type(program).__name__} has {name!r} with two meanings"
            raise InvalidProgramError(f"{problem}; give that field or edge data another name")


def _parameter_names(program: Program, function: str, known: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(inspect.signature(getattr(program, function)).parameters)
    for name in names:
        if name not in known:
            where = f"{type(program).__name__}.{function}"
            raise InvalidProgramError(f"{where} asks for {name!r}; it can ask for {', '.join(known)}")
    if function in ("update", "change") and "total" in names and program.total is None:
        where = f"{type(program).__name__}.{function}"
        raise InvalidProgramError(f"{where} asks for 'total' but the program has no total(...)")
    return names
