"""The verbs of the command line. Annotations are read when the module loads, so they are not postponed here."""

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

import tgraph as tg
from tgraph.cli import options as opt
from tgraph.cli.algorithm import algorithm
from tgraph.cli.interrupt import InterruptibleGroup
from tgraph.cli.output import describe_graph

if TYPE_CHECKING:
    from tgraph.results import Result

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
    grid = "grid"
    road_like = "road_like"
    star = "star"
    path = "path"
    complete = "complete"


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
) -> None:
    """Read a graph in one format and write it in another.

    Example: tgraph convert edges.csv graph.safetensors
    """
    graph = opt.read_graph(file, undirected, unweighted, skip_rows)
    if simplify:
        graph = graph.simplify()
    tg.write(graph, out)
    typer.echo(f"wrote {out}: {graph.describe()}")


@app.command()
def generate(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; its ending says the format.")],
    kind: Annotated[Kind, typer.Option(help="Which graph.")] = Kind.rmat,
    scale: Annotated[int, typer.Option(help="rmat: 2^scale vertices.")] = 16,
    edge_factor: Annotated[int, typer.Option(help="rmat: edges per vertex.")] = 16,
    vertices: Annotated[int, typer.Option(help="erdos_renyi, barabasi_albert, star, path, complete.")] = 1000,
    edges: Annotated[int, typer.Option(help="erdos_renyi: edges in all; barabasi_albert: per vertex.")] = 4,
    rows: Annotated[int, typer.Option(help="grid, road_like.")] = 100,
    columns: Annotated[int, typer.Option(help="grid, road_like.")] = 100,
    weights: Annotated[
        tuple[int, int] | None, typer.Option(metavar="LOW HIGH", help="Random integer weights, LOW <= weight < HIGH.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0,
) -> None:
    """Generate a graph.

    Example: tgraph generate kron.safetensors --kind rmat --scale 20 --weights 1 256
    """
    sizes: dict[Kind, dict[str, Any]] = {
        Kind.rmat: {"scale": scale, "edge_factor": edge_factor},
        Kind.erdos_renyi: {"num_vertices": vertices, "num_edges": edges},
        Kind.barabasi_albert: {"num_vertices": vertices, "edges_per_vertex": edges},
        Kind.grid: {"rows": rows, "columns": columns},
        Kind.road_like: {"rows": rows, "columns": columns},
    }
    arguments = {**sizes.get(kind, {"num_vertices": vertices}), "seed": seed, "runtime": "numpy"}
    if weights is not None:
        arguments["weights"] = weights
    graph = getattr(tg.generate, kind.value)(**arguments)
    tg.write(graph, out)
    typer.echo(f"wrote {out}: {graph.describe()}")


@algorithm(app, field="levels")
def bfs(graph: Any, source: opt.Source, how: Any) -> "Result":
    """Breadth-first search: how many edges away is every vertex, and through whom (-1 = not reached).

    Example: tgraph bfs wiki-Vote.txt.gz --source 30 --out levels.parquet
    """
    return tg.bfs(graph, source, **how)


@algorithm(app, field="distances", smallest=True)
def sssp(graph: Any, source: opt.Source, how: Any) -> "Result":
    """Shortest paths by weight from one vertex (inf = not reached).

    Example: tgraph sssp roads.gr --source 1 --top 5
    """
    return tg.sssp(graph, source, **how)


@algorithm(app, field="labels", smallest=True)
def wcc(graph: Any, how: Any) -> "Result":
    """Weakly connected components: the smallest vertex that each vertex is connected with.

    Example: tgraph wcc edges.csv --out components.csv
    """
    result = tg.wcc(graph, **how)
    sizes = np.unique(result.to_numpy(), return_counts=True)[1]
    typer.echo(f"{sizes.size:,} components; the largest has {int(sizes.max(initial=0)):,} vertices")
    return result


@algorithm(app, field="ranks")
def pagerank(
    graph: Any,
    how: Any,
    damping: Annotated[float, typer.Option(help="The probability of following an edge.")] = 0.85,
    tol_l1: Annotated[float, typer.Option(help="Stop at this absolute L1 change.")] = 1e-6,
    weighted: opt.Weighted = False,
) -> "Result":
    """Rank vertices by how often a random surfer visits them.

    Example: tgraph pagerank web.parquet --top 20 --out ranks.parquet
    """
    return tg.pagerank(graph, damping, tol_l1, weighted=weighted, **how)


@algorithm(app, field="authorities")
def hits(
    graph: Any,
    how: Any,
    tol_l1: Annotated[float, typer.Option(help="Stop at this absolute L1 change of the hubs.")] = 1e-8,
    weighted: opt.Weighted = False,
) -> "Result":
    """Find hubs (who point to good authorities) and authorities (whom good hubs point to).

    Example: tgraph hits web.parquet --top 20
    """
    return tg.hits(graph, tol_l1, weighted=weighted, **how)
