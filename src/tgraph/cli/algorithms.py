"""The verbs that run an algorithm. Annotations are read when the module loads, so they are not postponed here."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import tgraph as tg
from tgraph.cli import options as opt
from tgraph.cli.algorithm import algorithm
from tgraph.errors import InvalidArgumentError
from tgraph.io.files import write_bytes

if TYPE_CHECKING:
    from tgraph.results import Result

app = typer.Typer()


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
    labels = result.gather().to_numpy() if result.graph.is_sharded else result.to_numpy()
    sizes = np.unique(labels, return_counts=True)[1]
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


@algorithm(app, field="scores")
def katz(
    graph: Any,
    how: Any,
    alpha: Annotated[float | None, typer.Option(help="How much less each further edge of a walk counts.")] = None,
    tol_l1: Annotated[float, typer.Option(help="Stop at this absolute L1 change.")] = 1e-6,
    weighted: opt.Weighted = False,
) -> "Result":
    """Katz centrality: count the walks that end at a vertex, long ones less.

    Example: tgraph katz web.parquet --top 20
    """
    return tg.katz(graph, alpha, tol_l1=tol_l1, weighted=weighted, **how)


@algorithm(app, field="scores")
def eigenvector(
    graph: Any,
    how: Any,
    tol_l1: Annotated[float, typer.Option(help="Stop at this absolute L1 change.")] = 1e-6,
    weighted: opt.Weighted = False,
) -> "Result":
    """Eigenvector centrality: a vertex counts as much as those that point to it.

    Example: tgraph eigenvector edges.csv --undirected --top 20
    """
    return tg.eigenvector(graph, tol_l1, weighted=weighted, **how)


@algorithm(app, field="scores")
def php(
    graph: Any,
    source: opt.Source,
    how: Any,
    damping: Annotated[float, typer.Option(help="The factor for every step of a walk.")] = 0.8,
    tol_l1: Annotated[float, typer.Option(help="Stop at this absolute L1 change.")] = 1e-6,
    weighted: opt.Weighted = False,
) -> "Result":
    """Penalised hitting probability: how close is every vertex to one, over all walks.

    Example: tgraph php edges.csv --source 7 --top 20
    """
    return tg.php(graph, source, damping, tol_l1, weighted=weighted, **how)


@algorithm(app, field="scores")
def betweenness(
    graph: Any,
    how: Any,
    samples: Annotated[int | None, typer.Option(help="Estimate from this many random sources.")] = None,
    seed: opt.Seed = 0,
    normalized: Annotated[bool, typer.Option(help="Divide by the number of pairs of other vertices.")] = True,
) -> "Result":
    """Find how much of the shortest paths between others passes through each vertex.

    Example: tgraph betweenness wiki-Vote.txt.gz --samples 100 --top 20
    """
    return tg.betweenness(graph, samples=samples, seed=seed, normalized=normalized, **how)


@algorithm(app, field="scores")
def closeness(
    graph: Any,
    how: Any,
    samples: Annotated[int | None, typer.Option(help="Estimate from this many random vertices.")] = None,
    seed: opt.Seed = 0,
    harmonic: Annotated[bool, typer.Option("--harmonic", help="Add up 1 / distance instead.")] = False,
) -> "Result":
    """Find how near each vertex is to those that can reach it.

    Example: tgraph closeness wiki-Vote.txt.gz --samples 256 --top 20
    """
    return tg.closeness(graph, samples=samples, seed=seed, harmonic=harmonic, **how)


@algorithm(app, field="triangles")
def triangles(graph: Any, how: Any) -> "Result":
    """Count the triangles that every vertex is in; edges have no direction.

    Example: tgraph triangles edges.csv --top 20
    """
    result = tg.triangles(graph, **how)
    typer.echo(f"{result.total:,} triangles")
    return result


@algorithm(app, field="coefficients")
def lcc(graph: Any, how: Any) -> "Result":
    """Local clustering coefficient: the share of possible edges among a vertex's neighbours.

    Example: tgraph lcc edges.csv --out coefficients.parquet
    """
    return tg.lcc(graph, **how)


@algorithm(app, field="cores")
def k_core(graph: Any, how: Any) -> "Result":
    """Core numbers: the largest k such that a vertex keeps k neighbours when others with fewer are taken away.

    Example: tgraph k_core edges.csv --top 20
    """
    return tg.k_core(graph, **how)


@algorithm(app, field="labels", smallest=True)
def scc(graph: Any, how: Any) -> "Result":
    """Strongly connected components: the smallest vertex of each.

    Example: tgraph scc wiki-Vote.txt.gz --out components.csv
    """
    return tg.scc(graph, **how)


@algorithm(app, field="labels", smallest=True)
def mst(graph: Any, how: Any) -> "Result":
    """Minimum spanning forest: its edges are written, their number and weight and the trees are shown.

    Example: tgraph mst roads.gr --out forest.csv
    """
    result = tg.mst(graph, **how)
    typer.echo(f"{result.sources.size:,} edges, total weight {result.weight}")
    return result


@algorithm(app, field="members")
def mis(graph: Any, how: Any, seed: opt.Seed = 0) -> "Result":
    """A maximal independent set, greedy in a random order.

    Example: tgraph mis edges.csv --seed 1
    """
    return tg.mis(graph, seed, **how)


@algorithm(app, field="colors")
def coloring(graph: Any, how: Any, seed: opt.Seed = 0) -> "Result":
    """Greedy colouring, largest degree first.

    Example: tgraph coloring edges.csv
    """
    result = tg.coloring(graph, seed, **how)
    typer.echo(f"{result.num_colors:,} colors")
    return result


@algorithm(app, field="labels", smallest=True)
def cdlp(graph: Any, how: Any) -> "Result":
    """Communities by label propagation, as LDBC Graphalytics defines it; 10 iterations unless --max-iterations says so.

    Example: tgraph cdlp edges.csv --max-iterations 5 --out communities.csv
    """
    return tg.cdlp(graph, **how)


@algorithm(app, field="labels", smallest=True)
def louvain(graph: Any, how: Any, resolution: opt.Resolution = 1.0, seed: opt.Seed = 0) -> "Result":
    """Communities of high modularity; --max-iterations limits the levels.

    Example: tgraph louvain email-Enron.txt.gz --undirected --out communities.csv
    """
    return tg.louvain(graph, resolution=resolution, seed=seed, max_levels=how.pop("max_iterations", None), **how)


@algorithm(app, field="labels", smallest=True)
def leiden(graph: Any, how: Any, resolution: opt.Resolution = 1.0, seed: opt.Seed = 0) -> "Result":
    """Connected communities of high modularity.

    Example: tgraph leiden email-Enron.txt.gz --undirected --out communities.csv
    """
    return tg.leiden(graph, resolution=resolution, seed=seed, **how)


@app.command(name="random_walks")
def random_walks(
    file: opt.GraphFile,
    length: Annotated[int, typer.Option(help="Steps of a walk.", min=0)] = 80,
    walks_per_vertex: Annotated[int, typer.Option(help="Walks from each vertex.", min=0)] = 1,
    seed: opt.Seed = 0,
    p: Annotated[float, typer.Option(help="node2vec: above 1, seldom go back at once.")] = 1.0,
    q: Annotated[float, typer.Option(help="node2vec: above 1, stay near.")] = 1.0,
    weighted: opt.Weighted = False,
    undirected: opt.Undirected = False,
    skip_rows: opt.SkipRows = 0,
    threads: opt.Threads = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A text file, one walk per line.")] = None,
) -> None:
    """Random walks from every vertex, one per line.

    Example: tgraph random_walks wiki-Vote.txt.gz --length 40 --out walks.txt
    """
    if out is not None and out.suffix.lower() in (".parquet", ".npz"):
        raise InvalidArgumentError(f"--out {out}: walks are lines of text, one each; use the ending .txt")
    graph = opt.read_graph(file, undirected, False, skip_rows)
    how: Any = {"p": p, "q": q, "weighted": weighted, "threads": threads}
    found = tg.random_walks(graph, length=length, walks_per_vertex=walks_per_vertex, seed=seed, **how)
    lines = "\n".join(" ".join(map(str, walk)) for walk in found.to_lists())
    if out is None:
        typer.echo(lines)
    else:
        write_bytes(out, (lines + "\n").encode())
        typer.echo(f"wrote {out}: {found!r}")
