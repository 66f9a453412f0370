"""Arguments and options that several verbs share, and how a graph is read with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tgraph.graph import Graph

GraphFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A graph: .txt .csv .tsv .parquet .mtx .metis .gr .sg .wsg .el .npz .safetensors ..."
    ),
]
Undirected = Annotated[
    bool,
    typer.Option("--undirected", help="Edges of the file go both ways. Formats that say so themselves need no flag."),
]
Unweighted = Annotated[bool, typer.Option("--unweighted", help="Ignore weights in the file.")]
SkipRows = Annotated[int, typer.Option(help="Text files: lines to skip at the beginning.", min=0)]
Source = Annotated[str, typer.Option("--source", "-s", help="The vertex to start from, by its id in the file.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Write the values of all vertices to a .parquet, .csv or .npz file; in a group, to a folder of .parquet.",
    ),
]
Top = Annotated[int, typer.Option("--top", "-k", help="Show this many vertices.", min=0)]
TraceFile = Annotated[
    Path | None, typer.Option("--trace", help="Write what each iteration did to a .json or .html file.")
]
Direction = Annotated[str, typer.Option(help="push, pull or auto (chosen per iteration).")]
RuntimeName = Annotated[str, typer.Option("--runtime", help="numpy (starts fastest) or torch.")]
Device = Annotated[str | None, typer.Option(help="With --runtime torch: cpu, cuda, mps, ...")]
MaxIterations = Annotated[int | None, typer.Option(help="Stop after this many iterations.", min=0)]
Threads = Annotated[int | None, typer.Option(help="Threads of the CPU kernels; all cores unless given.", min=1)]
Memory = Annotated[
    str | None,
    typer.Option(
        help="For a .safetensors file: leave the edges in it and use no more than this, such as 512MiB; in a group, on "
        "every rank."
    ),
]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        help="With --memory or in a group: note here how far the run is; the same command goes on after it was killed."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress display.")]
Weighted = Annotated[bool, typer.Option("--weighted", help="Let edges count by their weights.")]
Seed = Annotated[int, typer.Option(help="Another seed, another order or choice; the same seed, the same answer.")]
Resolution = Annotated[float, typer.Option(help="Above 1: smaller communities.")]


READING = ("undirected", "unweighted", "skip_rows", "runtime", "device", "memory")


def read_graph(
    file: Path,
    undirected: bool,
    unweighted: bool,
    skip_rows: int,
    runtime: str = "numpy",
    device: str | None = None,
    memory: str | None = None,
) -> Graph:
    """Read a graph as the options say; only what was asked for is passed on, so that each format keeps its defaults."""
    from tgraph.io import read

    if memory is not None:
        return _open_graph(file, memory, runtime, device, undirected or unweighted or skip_rows > 0)
    return read(file, runtime=runtime, device=device, **reading_options(undirected, unweighted, skip_rows))


def reading_options(undirected: bool, unweighted: bool, skip_rows: int) -> dict[str, Any]:
    """Return the options of `read` that were asked for."""
    options: dict[str, Any] = {"directed": False} if undirected else {}
    if unweighted:
        options["weights"] = None
    if skip_rows:
        options["skip_rows"] = skip_rows
    return options


def _open_graph(file: Path, memory: str, runtime: str, device: str | None, has_other_options: bool) -> Graph:
    from tgraph.errors import InvalidArgumentError
    from tgraph.memory import open

    if has_other_options or file.suffix != ".safetensors":
        raise InvalidArgumentError(
            f"--memory {memory} leaves the edges in a .safetensors file as they are; for {file}, make one first with "
            f"tgraph convert --memory {memory}, and give --undirected, --unweighted and the like there"
        )
    if device is not None and device != "cpu":
        return open(file, memory, device=device)
    return open(file, memory, runtime)


def vertex_id(graph: Graph, text: str) -> Any:
    """Turn an id from the command line into the graph's kind of id."""
    labels = graph.vertex_labels
    if labels is not None and labels.dtype.kind != "i":
        return text
    try:
        return int(text)
    except ValueError:
        from tgraph.errors import VertexNotFoundError

        raise VertexNotFoundError(f"--source {text!r} is not in the graph, whose ids are integers") from None
