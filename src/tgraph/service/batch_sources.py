"""Where batches come from: files of edges with times, and whatever yields edges."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import IO, Any, cast

import polars as pl

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Batch
from tgraph.graph.labels import to_array
from tgraph.io import check_file
from tgraph.io.edge_events import TimeUnit, check_events, format_of, read_file_events, read_text_events
from tgraph.io.event_columns import NAMES, EventColumns
from tgraph.service.lengths import parse_length
from tgraph.service.windows import build_netting

TEXT_OPTIONS = ("separator", "comments", "header", "skip_rows", "ids")
ROWS_AHEAD = 256  # that are taken from an iterable before they are looked at


def read_stream(
    path: str | PathLike[str] | IO[bytes],
    batch: Any = 100_000,
    window: Any = None,
    *,
    source: str | int = "auto",
    target: str | int = "auto",
    weight: str | int | None = "auto",
    time: str | int | None = "auto",
    op: str | int | None = "auto",
    sort: bool = False,
    directed: bool = True,
    multi_edges: bool = False,
    time_unit: TimeUnit = "s",
    **options: Any,
) -> Iterator[Batch]:
    r"""Read a file of edges with times as batches, one behind the other, without loading all of it.

    Lines of text (`source target time`, `source target weight time`, or columns that a header names; also compressed),
    Parquet and Arrow files. Batches delete first and insert then; the graph after each is the one that the changes
    would have made one by one.

    Args:
        path: The file, or a binary one that is open, such as `sys.stdin.buffer`, for lines of text.
        batch: How much goes into a batch: a number of edges (`100_000`, `"100k"`, `"2M"`), or a length of time
            (`"30s"`, `"10min"`, `"1h"`, `"2d"`, `"1w"`) counted from the first time; those without edges are left out.
        window: How long edges stay: a length of time, or the number of the latest edges. In the batch at whose last
            time an edge is as old as that, it is deleted. None = for ever.
        source: The column of sources, by name or position; so for the others.
        target: The column of targets.
        weight: The column of weights, None = none. `"auto"`: by its name; without names the third of four.
        time: The column of times, None = none. `"auto"`: by its name; without names the last of three or four.
        op: The column of operations: + or -, insert or delete, or numbers above and below 0. `"auto"`: by its name.
        sort: Sort by time, which loads the file; else times must ascend.
        directed: Whether (a, b) and (b, a) are two edges, as in the graph that the batches are for.
        multi_edges: Whether the graph has parallel edges. If not, an edge stays in the window until its last insertion
            leaves it. If so, each one leaves by itself; edges that the graph had before must not have the same ends.
        time_unit: Of times that are numbers: `s`, `ms`, `us` or `ns`.
        **options: Of text: `separator`, `comments`, `header`, `skip_rows` and `ids`, as `tgraph.io.text.read` has them.

    An edge that is inserted and deleted within one batch is deleted only, so that a graph with `missing="error"` may
    refuse it; leave `missing="ignore"` there.

    >>> import pathlib, tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "mails.txt")
    ...     _ = file.write_text("ann bob 0\nbob cy 10\nann bob 50\ncy dan 65\nann dan 115\n")
    ...     list(tg.read_stream(file, batch=2, window="1min"))
    [Batch(2 to insert), Batch(2 to insert), Batch(1 to insert, 2 to delete)]
    """
    columns = EventColumns(source, target, weight, time, op)
    for option, value in options.items():
        if option not in TEXT_OPTIONS:
            raise InvalidArgumentError(f"{option}={value!r} is no option; text takes {', '.join(TEXT_OPTIONS)}")
    how = {**options, "is_sorted": not sort}
    if hasattr(path, "read"):
        file = cast(IO[bytes], path)
        events = read_text_events(str(getattr(file, "name", "<stream>")), _Pipe(file), columns, **how)
    else:
        check_file(path)
        if options and format_of(path) != "text":
            raise InvalidArgumentError(f"{next(iter(options))}= is an option of text, and {path} is a table")
        events = read_file_events(path, columns, time_unit=time_unit, **how)
    return _batches(events, batch, window, sort, directed, multi_edges, time_unit)


def batches(
    edges: Iterable[Any],
    batch: Any = 1000,
    window: Any = None,
    *,
    columns: tuple[str, ...] = ("source", "target"),
    sort: bool = False,
    directed: bool = True,
    multi_edges: bool = False,
    time_unit: TimeUnit = "s",
) -> Iterator[Batch]:
    """Make batches of whatever yields edges.

    Args:
        edges: Yields edges as tuples or dictionaries, or many at once as tuples or dictionaries of columns.
        batch: As in `read_stream`.
        window: As in `read_stream`.
        columns: What the entries of a tuple are, or which of a dictionary to take: `source`, `target`, `weight`,
            `time`, `op`.
        sort: As in `read_stream`.
        directed: As in `read_stream`.
        multi_edges: As in `read_stream`.
        time_unit: As in `read_stream`.

    >>> import tgraph as tg
    >>> calls = [("ann", "bob", 0), ("bob", "cy", 40), ("cy", "ann", 70)]
    >>> list(tg.batches(calls, batch="1min", columns=("source", "target", "time")))
    [Batch(2 to insert), Batch(1 to insert)]
    """
    unknown = [name for name in columns if name not in NAMES]
    if unknown or not {"source", "target"} <= set(columns):
        raise InvalidArgumentError(f"columns={columns!r} must be source, target and some of weight, time and op")
    size = parse_length("batch", batch, time_unit)
    num_rows = ROWS_AHEAD if size.is_time else int(min(size.amount, ROWS_AHEAD))
    events = check_events(_frames(edges, columns, num_rows), is_sorted=not sort)
    return _batches(events, batch, window, sort, directed, multi_edges, time_unit)


def _batches(
    events: Iterator[pl.DataFrame],
    batch: Any,
    window: Any,
    sort: bool,
    directed: bool,
    multi_edges: bool,
    time_unit: TimeUnit,
) -> Iterator[Batch]:
    """Check the lengths, then make batches of changes."""
    size = parse_length("batch", batch, time_unit)
    span = None if window is None else parse_length("window", window, time_unit)
    for argument, value, needs_time in (("batch", batch, size.is_time), ("window", window, span and span.is_time)):
        if needs_time:
            events = _with_times(events, f"{argument}={value!r}")
    if sort:
        events = _sorted(_with_times(events, "sort=True"))
    parts = _cut_by_time(events, size.amount) if size.is_time else _cut_by_count(events, int(size.amount))
    netting = build_netting(span, directed, multi_edges)
    return chain.from_iterable(netting.batches(part) for part in parts)


def _with_times(events: Iterator[pl.DataFrame], wish: str) -> Iterator[pl.DataFrame]:
    for frame in events:
        if "time" not in frame.columns:
            raise InvalidArgumentError(f"{wish} needs times, and no column of times was found; give time=")
        yield frame


def _sorted(events: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    frames = list(events)
    if frames:
        yield _joined(frames).sort("time", maintain_order=True)


def _joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="vertical_relaxed")


def _cut_by_count(events: Iterator[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """Yield as many changes at a time, the last time maybe fewer."""
    waiting: list[pl.DataFrame] = []
    for frame in events:
        waiting.append(frame)
        if sum(part.height for part in waiting) < size:
            continue
        whole = _joined(waiting)
        num_cut = whole.height - whole.height % size
        yield from (whole.slice(first, size) for first in range(0, num_cut, size))
        waiting = [whole.slice(num_cut)] if num_cut < whole.height else []
    if waiting:
        yield _joined(waiting)


def _cut_by_time(events: Iterator[pl.DataFrame], length: float) -> Iterator[pl.DataFrame]:
    """Yield the changes of each length of time from the first time on, where there are any."""
    waiting: list[pl.DataFrame] = []
    first, current = None, 0
    for frame in events:
        first = frame["time"][0] if first is None else first
        numbers = ((frame["time"] - first) // length).cast(pl.Int64).alias("number")
        for number, part in frame.with_columns(numbers).group_by("number", maintain_order=True):
            if number[0] != current and waiting:
                yield _joined(waiting)
                waiting = []
            current = cast(int, number[0])
            waiting.append(part.drop("number"))
    if waiting:
        yield _joined(waiting)


# --- iterables -------------------------------------------------------------------------------------------------------
def _frames(edges: Iterable[Any], columns: tuple[str, ...], num_rows: int) -> Iterator[pl.DataFrame]:
    """Yield tables of edges that come one by one or many at once."""
    if not isinstance(edges, Iterable):
        raise InvalidArgumentError(f"edges={edges!r} must be edges, one behind the other: (source, target, ...) each")
    items = iter(edges)
    for item in items:
        if _has_columns(_values(item, columns)[0]):
            yield _frame(_values(item, columns), columns)
            continue
        rows = [_values(row, columns) for row in chain([item], islice(items, num_rows - 1))]
        wrong = next((row for row in rows if len(row) != len(columns)), None)
        yield _frame(list(zip(*rows, strict=True)) if wrong is None else wrong, columns)


def _values(item: Any, columns: tuple[str, ...]) -> list[Any]:
    try:
        return [item[name] for name in columns] if hasattr(item, "keys") else list(item)
    except TypeError:
        raise InvalidArgumentError(
            f"edge {item!r} is a {type(item).__name__}; columns={columns!r} are needed"
        ) from None
    except KeyError as missing:
        raise InvalidArgumentError(f"edge {item!r} has no {missing.args[0]!r}; columns={columns!r}") from None


def _has_columns(value: Any) -> bool:
    """Say whether a value is a column of ids, not an id."""
    return hasattr(value, "__len__") and not isinstance(value, (str, tuple))


def _frame(values: list[Any], columns: tuple[str, ...]) -> pl.DataFrame:
    if len(values) != len(columns):
        raise InvalidArgumentError(f"an edge has {len(values)} entries, and columns={columns!r} are {len(columns)}")
    arrays = {name: to_array(name, value) for name, value in zip(columns, values, strict=True)}
    series = {name: array.tolist() if array.dtype.kind in "TO" else array for name, array in arrays.items()}
    try:
        frame = pl.DataFrame(series, strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise InvalidArgumentError(f"the edges do not make columns of one kind each ({error})") from error
    if "op" in columns:
        frame = frame.with_columns(pl.col("op").cast(pl.String))
    for name in ("source", "target"):
        if not (frame.schema[name].is_integer() or frame.schema[name] == pl.String):
            raise InvalidArgumentError(f"{name} holds {frame.schema[name]}; ids must be integers or strings here")
    return frame


class _Pipe:
    """What has come through a pipe so far, as soon as it is there."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        self._wait()
        read_what_is_there = getattr(self._file, "read1", self._file.read)
        return cast(bytes, read_what_is_there(size))

    def _wait(self) -> None:
        """Wait for content where Ctrl-C ends the waiting: polars handles it so that a read would go on."""
        with contextlib.suppress(OSError, ValueError):  # no pipe, or a system where files cannot be waited for
            select.select([self._file], [], [])
