"""The functions of the back end by their dispatch names, each with what NetworkX's dispatcher has to know of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import islice
from typing import Any

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX

Arguments = Mapping[str, Any]
Refusal = Callable[[Arguments], bool | str]  # of the bound arguments; a reason, or False
EFFORTS = ("trivial", "linear", "heavy")


@dataclass(frozen=True)
class Function:
    """A function that the back end runs.

    `effort` says how much longer NetworkX takes than reading its graph: not at all (`trivial`), about as long
    (`linear`), or much longer (`heavy`).
    """

    name: str
    run: Callable[..., Any]
    effort: str
    multigraph: bool
    refuses: Refusal | None

    @cached_property
    def signature(self) -> inspect.Signature:
        """The parameters, those of NetworkX's function."""
        return inspect.signature(self.run)

    def bind(self, args: tuple[Any, ...], kwargs: Arguments) -> Arguments:
        """Return all arguments of a call by name, defaults included."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments


FUNCTIONS: dict[str, Function] = {}


def networkx_function(
    name: str | None = None,
    *,
    effort: str = "linear",
    multigraph: bool = False,
    generator: bool = False,
    refuses: Refusal | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function serve NetworkX's function of the same dispatch name and parameters.

    Args:
        name: The dispatch name, where it is not the function's.
        effort: See `Function`.
        multigraph: Whether it also serves multigraphs; it then sees parallel edges as one.
        generator: NetworkX's function is a generator: nothing is done before its first value is asked for.
        refuses: Returns the reason why some arguments are left to NetworkX, before the graph is converted.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        key = name or function.__name__

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except LeaveToNetworkX:
                return networkx_runs(key, args, kwargs)

        @wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Iterator[Any]:
            count = 0
            try:
                for value in function(*args, **kwargs):
                    yield value
                    count += 1
            except LeaveToNetworkX:  # it goes on where this ended
                yield from islice(networkx_runs(key, args, kwargs), count, None)

        FUNCTIONS[key] = Function(key, generate if generator else run, effort, multigraph, refuses)
        return function

    return register


def networkx_runs(name: str, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Return what NetworkX's own function returns for a call."""
    from networkx.utils.backends import _registered_algorithms

    def original(value: Any) -> Any:
        return value.original if isinstance(value, ConvertedGraph) else value

    function = _registered_algorithms[name].orig_func
    return function(*map(original, args), **{key: original(value) for key, value in kwargs.items()})
