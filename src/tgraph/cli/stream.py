"""`tgraph stream`: apply updates to a graph batch by batch, and keep results current.

Annotations are read when the module loads, so they are not postponed here.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

from tgraph.cli import options as opt
from tgraph.cli.interrupt import Interrupted
from tgraph.cli.output import check_out, write_result
from tgraph.errors import InvalidArgumentError

if TYPE_CHECKING:
    from tgraph.graph import Batch, DynamicGraph
    from tgraph.service import Stream, Update

COLUMNS = ("source", "target", "weight", "time", "op")


def stream(
    file: opt.GraphFile,
    updates: Annotated[
        str, typer.Option("--updates", "-u", help="Edges with times or operations: text, .parquet, .arrow; - = stdin.")
    ],
    keep: Annotated[
        list[str] | None, typer.Option(help="A result to keep current: wcc, sssp:source=0. May be given repeatedly.")
    ] = None,
    batch: Annotated[
        str, typer.Option(help="Changes per batch (500, 10k, 1M) or a length of time (30s, 1h, 2d).")
    ] = "10k",
    window: Annotated[
        str | None, typer.Option(help="How long edges stay: a length of time, or a number of edges.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Which columns of the updates: source=0,target=1,weight=2,time=3,op=4, or names.")
    ] = "",
    sort: Annotated[bool, typer.Option("--sort", help="Sort the updates by time first, in memory.")] = False,
    multi_edges: Annotated[bool, typer.Option("--multi-edges", help="Allow parallel edges.")] = False,
    existing: Annotated[str, typer.Option(help="Edges to insert that are there: ignore, replace or error.")] = "ignore",
    missing: Annotated[str, typer.Option(help="Edges to delete that are not there: ignore or error.")] = "ignore",
    journal: Annotated[
        Path | None, typer.Option(help="A folder: batches are safe there, and the same command goes on after a crash.")
    ] = None,
    out: opt.Out = None,
    undirected: opt.Undirected = False,
    unweighted: opt.Unweighted = False,
    skip_rows: opt.SkipRows = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Apply updates to a graph batch by batch, and keep results current.

    Example: tgraph stream roads.safetensors --updates traffic.csv --keep sssp:source=0 --batch 10k --journal state
    """
    check_out(out)
    policies = {"multi_edges": multi_edges, "existing": existing, "missing": missing}
    applied = _Applied(journal)
    with _open(file, journal, policies, (undirected, unweighted, skip_rows)) as opened:
        try:
            for spec in keep or ():
                _keep(opened, spec)
            batches = _read(updates, batch, window, sort, _parse_columns(columns), opened.graph)
            named = _with_tokens(batches, updates) if journal is not None else ((one, None) for one in batches)
            for one, token in named:
                started = time.perf_counter()
                with _spinning(f"batch {opened.version + 1}", quiet):
                    update = opened.apply(one, token=token)
                applied.show(update, opened.version, time.perf_counter() - started)
        except KeyboardInterrupt as interrupt:
            raise applied.interrupted() from interrupt
        applied.finish(opened)
        if out is not None:
            _write(opened, out)


def _open(file: Path, journal: Path | None, policies: dict[str, Any], reading: tuple[bool, bool, int]) -> "Stream":
    """Open the stream of a journal, or begin one with the graph in the file."""
    import tgraph as tg
    from tgraph.service.journal import DATABASE

    if journal is not None and (journal / DATABASE).exists():
        return tg.stream.open(journal, **policies)
    graph = opt.read_graph(file, *reading)
    if journal is not None:
        return tg.stream.open(journal, graph, **policies)
    return tg.stream(tg.DynamicGraph(graph, **policies))


def _read(
    updates: str, batch: str, window: str | None, sort: bool, columns: dict[str, Any], graph: "DynamicGraph"
) -> "Iterator[Batch]":
    """Return the batches of the updates, with ids of the graph's kind and with weights if it has some."""
    import tgraph as tg
    from tgraph.io.edge_events import format_of

    if not graph.weighted:
        columns = {"weight": None, **columns}
    source: Any = sys.stdin.buffer if updates == "-" else Path(updates)
    how: dict[str, Any] = {}
    if graph.num_places and (updates == "-" or format_of(source) == "text"):
        how["ids"] = "string" if _has_text(graph) else "integer"
    return tg.read_stream(
        source, batch, window, sort=sort, directed=graph.directed, multi_edges=graph.multi_edges, **columns, **how
    )


def _with_tokens(batches: "Iterator[Batch]", updates: str) -> "Iterator[tuple[Batch, str | None]]":
    """Give each batch a token that depends on the file and all before it: the same command skips what it has done."""
    from tgraph.service.journal import digest
    from tgraph.service.journal_batches import encode

    token = "" if updates == "-" else str(Path(updates).resolve())
    for batch in batches:
        token = token and digest(token, encode(batch)).hex()
        yield batch, token or None


def _parse_columns(text: str) -> dict[str, Any]:
    """Return the columns by what they hold.

    >>> _parse_columns("source=from,time=3,weight=none")
    {'source': 'from', 'time': 3, 'weight': None}
    """
    columns: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in COLUMNS or not value:
            raise InvalidArgumentError(
                f"--columns {text}: {part!r} is not understood; use {', '.join(COLUMNS)} = column"
            )
        columns[name] = int(value) if value.isdigit() else None if value == "none" else value
    return columns


def _keep(stream: "Stream", spec: str) -> None:
    """Keep a result such as `sssp:source=0`, unless the journal has it already."""
    if spec in stream.results:
        return
    what, _, rest = spec.partition(":")
    parameters: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        name, sign, value = part.partition("=")
        if not sign:
            raise InvalidArgumentError(f"--keep {spec}: {part!r} is not understood; use name:parameter=value,...")
        is_text = name == "source" and _has_text(stream.graph)
        parameters[name] = value if is_text else _number(value)
    stream.keep(what, name=spec, **parameters)


def _has_text(graph: "DynamicGraph") -> bool:
    return graph.labels is not None and graph.labels.dtype.kind != "i"


def _number(text: str) -> Any:
    """Return a number or a truth value where the text is one."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _spinning(text: str, quiet: bool) -> AbstractContextManager[object]:
    """Show that something goes on, where somebody looks; lines on stdout are printed outside of it."""
    return nullcontext() if quiet or not sys.stderr.isatty() else Status(text, console=Console(stderr=True))


class _Applied:
    """What was applied so far, and lines about it."""

    def __init__(self, journal: Path | None) -> None:
        self._journal, self._started = journal, time.perf_counter()
        self._num_batches, self._num_skipped = 0, 0

    def show(self, update: "Update", number: int, seconds: float) -> None:
        """Print a line about a batch."""
        if update.is_repeated:
            self._num_skipped += 1
            return
        self._num_batches += 1
        changes = re.sub(r"^Applied\((.*)\)$", r"\1", repr(update.applied)) or "nothing"
        results = "".join(f"; {name}: {len(change):,} changed" for name, change in update.changes.items())
        failed = "".join(f"; {name}: failed" for name in update.failed)
        typer.echo(f"batch {number}: {changes}{results}{failed}; {seconds:.3f} s")

    def finish(self, stream: "Stream") -> None:
        """Print what was done in all."""
        skipped = f", {self._num_skipped:,} skipped that the journal had" if self._num_skipped else ""
        seconds = time.perf_counter() - self._started
        typer.echo(f"{self._num_batches:,} batches{skipped} in {seconds:.2f} s: {stream.graph!r}")

    def interrupted(self) -> Interrupted:
        """Return what ends the command after Ctrl-C."""
        left = "nothing was written" if self._journal is None else f"{self._journal} has them; the same command goes on"
        return Interrupted(f"stopped after {self._num_batches:,} batches", left)


def _write(stream: "Stream", out: Path) -> None:
    """Write every kept result; with several, each to a file of its own."""
    for name, kept in stream.results.items():
        plain = re.sub(r"[^\w]+", "-", name)
        path = out if len(stream.results) == 1 else out.with_name(f"{out.stem}-{plain}{out.suffix}")
        write_result(kept.result(), path)
        typer.echo(f"wrote {path}")
