"""`tgraph simulate-cluster`: what an iteration of PageRank would take on groups of other sizes.

Annotations are read when the module loads, so they are not postponed here.
"""

import re
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tgraph.errors import InvalidArgumentError

MEASURED_SCALE = 20  # of the graph that a machine's speed is measured on, where the graph itself is not here


def simulate_cluster(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="A file, or rmat<scale> of any size.")],
    ranks: Annotated[str, typer.Option(help="The sizes of groups, comma-separated.")] = "16,64,256,1024",
    gigabits_per_second: Annotated[float, typer.Option("--gigabits", help="Of every rank's network.", min=1e-6)] = 10.0,
    message_microseconds: Annotated[float, typer.Option("--latency", help="Of every message, µs.", min=0.0)] = 20.0,
    edges_per_second: Annotated[
        float | None, typer.Option(help="Of a rank; unless given, one thread here times --cores.", min=1.0)
    ] = None,
    values_per_second: Annotated[
        float | None, typer.Option(help="Of the boundary of a rank; as one thread here unless given.", min=1.0)
    ] = None,
    cores: Annotated[int, typer.Option(help="Of every rank.", min=1)] = 1,
) -> None:
    """Predict bytes, seconds and memory of an iteration of PageRank on groups of other sizes.

    A file is cut as a group would cut it, and what crosses the cuts is counted; of rmat<scale> it is expected.

    Example: tgraph simulate-cluster rmat33 --ranks 64,256 --gigabits 25 --cores 32
    """
    from tgraph.bench.cluster import Machine, count_loads, expect_loads, measure_machine, predict
    from tgraph.graph import generate
    from tgraph.io import read

    sizes = _sizes(ranks)
    found = re.fullmatch(r"rmat(\d+)", graph)
    real = None if found else read(graph, runtime="numpy")
    network = gigabits_per_second * 1e9 / 8, message_microseconds * 1e-6
    if edges_per_second and values_per_second:
        machine = Machine(edges_per_second, values_per_second, *network)
    else:
        here = real or generate.rmat(min(int(found[1]) if found else 0, MEASURED_SCALE), seed=1, runtime="numpy")
        measured = measure_machine(here, *network)
        speeds = edges_per_second or measured.edges_per_second * cores, values_per_second or measured.values_per_second
        machine = Machine(*speeds, *network)  # one thread handles the boundary
    table = Table("ranks", "most edges", "sent", "compute, s", "boundary, s", "network, s", "memory")
    table.title = f"{graph}: an iteration of PageRank, {machine.edges_per_second:.3g} edges per second and rank"
    for size in sizes:
        loads = count_loads(real, size) if real is not None else expect_loads(int(found[1] if found else 0), size)
        taken = predict(loads, machine)
        seconds = (taken.compute_seconds, taken.boundary_seconds, taken.network_seconds)
        counts = (f"{size}", f"{loads.edges.max():.4g}", f"{taken.sent_bytes / 1e9:.4g} GB")
        table.add_row(*counts, *(f"{one:.4g}" for one in seconds), f"{taken.memory_bytes / 1e9:.3g} GB")
    Console().print(table)


def _sizes(ranks: str) -> list[int]:
    try:
        sizes = [int(word) for word in ranks.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise InvalidArgumentError(f"--ranks {ranks}: give whole numbers of 1 or more, such as 16,64")
    return sizes
