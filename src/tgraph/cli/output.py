"""What the command line shows and writes of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tgraph.errors import InvalidArgumentError
from tgraph.graph import CompressedGraph
from tgraph.group import current
from tgraph.io.files import replacing

if TYPE_CHECKING:
    from tgraph.graph import Graph
    from tgraph.results import Result

RESULT_ENDINGS = (".parquet", ".csv", ".npz")
TRACE_ENDINGS = (".json", ".html")


def check_out(path: Path | None) -> None:
    """Refuse an output file before the work is done, not after it."""
    if path is None:
        return
    if current() is not None:
        if path.suffix.lower() in RESULT_ENDINGS:
            raise InvalidArgumentError(f"--out {path}: every rank writes a part of the result; give a folder")
        path.mkdir(parents=True, exist_ok=True)
        return
    if path.suffix.lower() not in RESULT_ENDINGS:
        raise InvalidArgumentError(f"--out {path} must end in one of {', '.join(RESULT_ENDINGS)}")
    if not path.parent.is_dir():
        raise InvalidArgumentError(f"--out {path}: the folder {path.parent} does not exist; create it first")


def check_trace(path: Path | None) -> None:
    """Refuse a file for the trace before the work is done."""
    if path is None:
        return
    if path.suffix.lower() not in TRACE_ENDINGS:
        raise InvalidArgumentError(f"--trace {path} must end in one of {', '.join(TRACE_ENDINGS)}")
    if not path.parent.is_dir():
        raise InvalidArgumentError(f"--trace {path}: the folder {path.parent} does not exist; create it first")


def write_result(result: Result, path: Path) -> None:
    """Write the table of a result; every rank of a group writes its part into a folder."""
    group = current()
    if group is not None:
        path = path / f"part-{group.rank:05}.parquet"
    columns = result.table()
    with replacing(path) as temporary:
        if path.suffix.lower() == ".npz":
            import numpy as np

            arrays = {
                name: np.array(["" if one is None else str(one) for one in column.tolist()], str)
                if column.dtype.kind in "TO"
                else column
                for name, column in columns.items()
            }
            with temporary.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
            return
        import polars as pl

        frame = pl.DataFrame(
            {name: column.tolist() if column.dtype.kind in "TO" else column for name, column in columns.items()}
        )
        if path.suffix.lower() == ".parquet":
            frame.write_parquet(temporary)
        else:
            frame.write_csv(temporary)


def show_result(result: Result, top: int, field: str, smallest: bool, out: Path | None, trace: Path | None) -> None:
    """Print the outcome and the first vertices, and write the files that were asked for."""
    console = Console()
    console.print(f"[bold]{result.name}[/bold]: {result.summary()}")
    if top and result.graph.num_vertices:
        console.print(_top_table(result, top, field, smallest))
    if out is not None:
        write_result(result, out)
        console.print(f"wrote {out}")
    if trace is not None:
        if trace.suffix.lower() == ".html":
            result.report(trace)
        else:
            _write_trace(result, trace)
        console.print(f"wrote {trace}")


def _write_trace(result: Result, path: Path) -> None:
    """Write the trace as JSON; all ranks of a group have the same, and rank 0 writes it."""
    group = current()
    if group is None or group.rank == 0:
        with replacing(path) as temporary:
            temporary.write_text(result.trace.to_json())


def _top_table(result: Result, top: int, field: str, smallest: bool) -> Table:
    """Return the first vertices with all fields; of a divided result, with the field that they are ranked by."""
    best = result.top(top, field, smallest)
    if result.graph.is_sharded:
        table = Table("vertex", field)
        rows = best
    else:
        table = Table("vertex", *result.fields)
        ids = [label for label, _ in best]
        positions = result.graph.vertices_of(ids)
        columns = [result.column(name)[positions].tolist() for name in result.fields]
        rows = list(zip(ids, *columns, strict=True))
    for row in rows:
        table.add_row(*(_format(cell) for cell in row))
    return table


def describe_graph(graph: Graph, file: Path, seconds: float) -> Table:
    """Return a table of what a graph is."""
    numpy = graph.runtime.to_numpy
    degrees = numpy(graph.out_degrees())
    rows: list[tuple[str, Any]] = [
        ("vertices", f"{graph.num_vertices:,}"),
        ("edges", f"{graph.num_edges:,}"),
        ("kind", "directed" if graph.directed else "undirected"),
        ("weights", "none" if graph.weights is None else _range(numpy(graph.weights))),
        _loops_or_virtual(graph),
        ("largest out-degree", f"{int(degrees.max()):,}" if degrees.size else "none"),
        ("mean out-degree", f"{float(degrees.mean()):.2f}" if degrees.size else "none"),
        ("without out-edges", f"{int((degrees == 0).sum()):,}"),
        ("vertex ids", _id_range(graph)),
        ("memory", f"{graph.memory_bytes:,} bytes"),
        ("read in", f"{seconds:.2f} s"),
    ]
    table = Table(title=str(file), show_header=False)
    for name, value in rows:
        table.add_row(name, value)
    return table


def _loops_or_virtual(graph: Graph) -> tuple[str, str]:
    """Return what rows hold beside neighbours elsewhere; loops are not looked for where rows hold virtual vertices."""
    if isinstance(graph, CompressedGraph):
        return "virtual vertices", f"{graph.num_virtual:,} in {graph.depth} layers, {graph.ratio:.2f} times smaller"
    return "self-loops", f"{graph.num_self_loops:,}"


def _range(weights: Any) -> str:
    if not weights.size:
        return weights.dtype.name
    return f"{weights.dtype.name}, {weights.min():g} to {weights.max():g}"


def _id_range(graph: Graph) -> str:
    if not graph.num_vertices:
        return "none"
    first, last = graph.labels_of([0, graph.num_vertices - 1]).tolist()
    return f"{first} to {last}"


def _format(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
