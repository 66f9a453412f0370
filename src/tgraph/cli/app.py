"""The verbs of the command line. Annotations are read when the module loads, so they are not postponed here."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

import tgraph as tg
from tgraph.cli import options as opt
from tgraph.cli.algorithms import app as algorithms
from tgraph.cli.bench import bench
from tgraph.cli.interrupt import InterruptibleGroup
from tgraph.cli.output import describe_graph
from tgraph.cli.simulate import simulate_cluster
from tgraph.cli.stream import stream
from tgraph.cli.submit import submit
from tgraph.cli.train import train
from tgraph.cli.tune import tune
from tgraph.errors import InvalidArgumentError

app = typer.Typer(
    name="tgraph",
    cls=InterruptibleGroup,
    help="Graph processing on tensors. Try: tgraph generate graph.safetensors && tgraph pagerank graph.safetensors",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class Kind(StrEnum):
    """The graphs that can be generated."""

    rmat = "rmat"
    erdos_renyi = "erdos_renyi"
    barabasi_albert = "barabasi_albert"
    web_like = "web_like"
    grid = "grid"
    road_like = "road_like"
    star = "star"
    path = "path"
    complete = "complete"


class Neighbors(StrEnum):
    """How a native file holds neighbours."""

    plain = "plain"
    coded = "coded"
    both = "both"


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False) -> None:
    """Graph processing on tensors."""
    if show:
        typer.echo(f"tgraph {tg.__version__}")
        raise typer.Exit


@app.command()
def info(
    file: opt.GraphFile,
    undirected: opt.Undirected = False,
    unweighted: opt.Unweighted = False,
    skip_rows: opt.SkipRows = 0,
    check: Annotated[bool, typer.Option("--check", help="Also check every invariant of the graph.")] = False,
) -> None:
    """Show what a graph is: size, weights, degrees, ids, memory.

    Example: tgraph info wiki-Vote.txt.gz
    """
    started = time.perf_counter()
    graph = opt.read_graph(file, undirected, unweighted, skip_rows)
    Console().print(describe_graph(graph, file, time.perf_counter() - started))
    if check:
        graph.check()
        typer.echo("all invariants hold")


@app.command()
def convert(
    file: opt.GraphFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new file; its ending says the format.")],
    undirected: opt.Undirected = False,
    unweighted: opt.Unweighted = False,
    skip_rows: opt.SkipRows = 0,
    simplify: Annotated[bool, typer.Option("--simplify", help="Drop self-loops and keep every edge once.")] = False,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="To .safetensors: store incoming edges too, for runs with --memory.")
    ] = False,
    neighbors: Annotated[
        Neighbors, typer.Option(help="To .safetensors: coded ones are smaller, for runs with --memory.")
    ] = Neighbors.plain,
    memory: Annotated[
        str | None,
        typer.Option(help="Text, Parquet, Arrow or .safetensors to .safetensors: use no more than this, such as 1GiB."),
    ] = None,
) -> None:
    """Read a graph in one format and write it in another.

    Example: tgraph convert edges.csv graph.safetensors --memory 1GiB
    """
    if memory is not None:
        how: dict[str, Any] = opt.reading_options(undirected, unweighted, skip_rows)
        if simplify:
            how |= {"duplicates": "first", "self_loops": "drop"}
        with Status(f"reading {file}", console=Console(stderr=True)) as status:
            stored: dict[str, Any] = {"reverse": reverse, "neighbors": neighbors.value}
            tg.build_file(file, out, memory=memory, say=status.update, **stored, **how)
        typer.echo(f"wrote {out}")
        return
    graph = opt.read_graph(file, undirected, unweighted, skip_rows)
    if simplify:
        graph = graph.simplify()
    options: dict[str, Any] = {"reverse": True} if reverse else {}
    if neighbors is not Neighbors.plain:
        options["neighbors"] = neighbors.value
    tg.write(graph, out, **options)
    typer.echo(f"wrote {out}: {graph.describe()}")


@app.command()
def compress(
    file: opt.GraphFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new file, .safetensors.")],
    undirected: opt.Undirected = False,
    unweighted: opt.Unweighted = False,
    skip_rows: opt.SkipRows = 0,
    drop_weights: Annotated[bool, typer.Option("--drop-weights", help="Leave out the weights of the edges.")] = False,
) -> None:
    """Store a graph with repeated sequences of neighbours as virtual vertices; algorithms run on it as it is.

    Example: tgraph compress web.safetensors small.safetensors && tgraph pagerank small.safetensors
    """
    if out.suffix.lower() != ".safetensors":
        raise InvalidArgumentError(f"{out} cannot hold virtual vertices; use the ending .safetensors")
    graph = opt.read_graph(file, undirected, unweighted, skip_rows)
    started = time.perf_counter()
    with Status(f"compressing {file}", console=Console(stderr=True)) as status:
        small = tg.compress(graph, drop_weights=drop_weights, say=status.update)
    seconds = time.perf_counter() - started
    tg.write(small, out)
    typer.echo(f"wrote {out}: {small.describe()}")
    typer.echo(
        f"{small.ratio:.2f} times smaller, depth {small.depth}, {seconds:.2f} seconds "
        f"({graph.num_arcs / max(seconds, 1e-9) / 1e6:.1f} million edges per second), "
        f"iterations over all edges about {small.predicted_speed_up:.1f} times faster"
    )


@app.command()
def generate(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; its ending says the format.")],
    kind: Annotated[Kind, typer.Option(help="Which graph.")] = Kind.rmat,
    scale: Annotated[int, typer.Option(help="rmat: 2^scale vertices.")] = 16,
    edge_factor: Annotated[int, typer.Option(help="rmat: edges per vertex.")] = 16,
    vertices: Annotated[int, typer.Option(help="erdos_renyi, barabasi_albert, web_like, star, path, complete.")] = 1000,
    edges: Annotated[int, typer.Option(help="erdos_renyi: edges in all; barabasi_albert, web_like: per vertex.")] = 4,
    rows: Annotated[int, typer.Option(help="grid, road_like.")] = 100,
    columns: Annotated[int, typer.Option(help="grid, road_like.")] = 100,
    weights: Annotated[
        tuple[int, int] | None, typer.Option(metavar="LOW HIGH", help="Random integer weights, LOW <= weight < HIGH.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0,
    memory: Annotated[
        str | None, typer.Option(help="rmat to .safetensors: make it on disk, with no more than this, such as 2GiB.")
    ] = None,
) -> None:
    """Generate a graph.

    Example: tgraph generate kron.safetensors --kind rmat --scale 20 --weights 1 256
    """
    if memory is not None:
        if kind is not Kind.rmat or weights is not None:
            raise InvalidArgumentError("--memory makes graphs of --kind rmat without --weights only")
        chunks = tg.generate.rmat_chunks(scale, edge_factor, seed=seed)
        with Status("making edges", console=Console(stderr=True)) as status:
            tg.build_file(chunks, out, num_vertices=1 << scale, memory=memory, say=status.update)
        typer.echo(f"wrote {out}")
        return
    sizes: dict[Kind, dict[str, Any]] = {
        Kind.rmat: {"scale": scale, "edge_factor": edge_factor},
        Kind.erdos_renyi: {"num_vertices": vertices, "num_edges": edges},
        Kind.barabasi_albert: {"num_vertices": vertices, "edges_per_vertex": edges},
        Kind.web_like: {"num_vertices": vertices, "edges_per_vertex": edges},
        Kind.grid: {"rows": rows, "columns": columns},
        Kind.road_like: {"rows": rows, "columns": columns},
    }
    arguments = {**sizes.get(kind, {"num_vertices": vertices}), "seed": seed, "runtime": "numpy"}
    if weights is not None:
        arguments["weights"] = weights
    graph = getattr(tg.generate, kind.value)(**arguments)
    tg.write(graph, out)
    typer.echo(f"wrote {out}: {graph.describe()}")


app.command()(stream)
app.command()(train)
app.command()(tune)
app.command()(bench)
app.command("simulate-cluster")(simulate_cluster)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(submit)
app.registered_commands.extend(algorithms.registered_commands)  # after these verbs in the list of all
