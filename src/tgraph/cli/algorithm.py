"""One frame for all algorithm verbs: read the graph, run, show, write.

A verb is a function `verb(graph, *own options, how) -> Result`; the decorator gives it the options that all share.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tgraph.cli import options as opt
from tgraph.cli.launched import launched_group
from tgraph.cli.output import check_out, check_trace, show_result

if TYPE_CHECKING:
    import typer

    from tgraph.results import Result

Verb = Callable[..., "Result"]


def algorithm(app: "typer.Typer", field: str, smallest: bool = False) -> Callable[[Verb], Verb]:
    """Register a verb; the table shows the vertices with the largest (or smallest) values of `field`."""

    def register(verb: Verb) -> Verb:
        def command(**given: Any) -> None:
            shared = {name: given.pop(name) for name in _SHARED}
            with launched_group():
                check_out(shared["out"])
                check_trace(shared["trace"])
                graph = opt.read_graph(given.pop("file"), **{name: shared[name] for name in opt.READING})
                if "source" in given:
                    given["source"] = opt.vertex_id(graph, given["source"])
                result = verb(graph, **given, how=_run_options(shared))
                show_result(result, shared["top"], field, smallest, shared["out"], shared["trace"])

        _give_signature(command, verb)
        app.command(name=verb.__name__)(command)
        return verb

    return register


def _shared_options(
    out: opt.Out = None,
    top: opt.Top = 10,
    trace: opt.TraceFile = None,
    undirected: opt.Undirected = False,
    unweighted: opt.Unweighted = False,
    skip_rows: opt.SkipRows = 0,
    direction: opt.Direction = "auto",
    max_iterations: opt.MaxIterations = None,
    runtime: opt.RuntimeName = "numpy",
    device: opt.Device = None,
    threads: opt.Threads = None,
    memory: opt.Memory = None,
    checkpoint: opt.CheckpointFolder = None,
    quiet: opt.Quiet = False,
) -> None:
    """Carry the options of every algorithm verb; only its signature is used."""


def _file_argument(file: opt.GraphFile) -> None:
    """Carry the argument of every algorithm verb; only its signature is used."""


_SHARED = tuple(inspect.signature(_shared_options).parameters)


def _give_signature(command: Callable[..., None], verb: Verb) -> None:
    """Make `command` look as if it were written with the file, the verb's own options and the shared ones."""
    own = [p for p in inspect.signature(verb).parameters.values() if p.name not in ("graph", "how")]
    file = inspect.signature(_file_argument).parameters.values()
    shared = inspect.signature(_shared_options).parameters.values()
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*file, *own, *shared)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = verb.__doc__


def _run_options(shared: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a run; `max_iterations` only where it was given, so that each verb keeps its default."""
    how = {"direction": shared["direction"], "threads": shared["threads"], "checkpoint": shared["checkpoint"]}
    how["progress"] = "off" if shared["quiet"] else "auto"
    return how if shared["max_iterations"] is None else {**how, "max_iterations": shared["max_iterations"]}
