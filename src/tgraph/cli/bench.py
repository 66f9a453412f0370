"""`tgraph bench`: measure every algorithm against every peer that is installed."""

import json
from pathlib import Path
from typing import Annotated

import typer

_LIST = "comma-separated; all unless given"


def bench(
    tasks: Annotated[str, typer.Option(help=f"Which algorithms, {_LIST}.")] = "",
    graphs: Annotated[str, typer.Option(help=f"rmat<scale>, grid<side>, real graphs by folder name, {_LIST}.")] = "",
    peers: Annotated[str, typer.Option(help=f"Which libraries, {_LIST}; those not installed are left out.")] = "",
    rounds: Annotated[int, typer.Option(help="How often each is measured; the median counts.", min=1)] = 5,
    threads: Annotated[
        int | None, typer.Option(help="Threads of every candidate; all cores unless given.", min=1)
    ] = None,
    limit: Annotated[
        float, typer.Option(help="A candidate slower than this many seconds is run once.", min=0.1)
    ] = 60.0,
    gap: Annotated[Path | None, typer.Option(help="Folder of a built GAP benchmark suite.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of real graphs.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Where graphs are kept between runs.")] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Also measure peak memory of each algorithm.")] = False,
    memory_graph: Annotated[str, typer.Option(help="The graph for --memory.")] = "rmat22",
    cold: Annotated[bool, typer.Option("--cold", help="Also measure first calls and compiling.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("benchmarks.md"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write all raw seconds.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep what the --json file has, and add the rest.")] = False,
) -> None:
    """Measure every algorithm against every installed peer on the same graphs, check the answers, write a page.

    Example: tgraph bench --graphs rmat16,grid300 --tasks bfs,pagerank --rounds 5 --out bench.md
    """
    import sys

    from tgraph.bench.plot import draw_plot
    from tgraph.bench.report import write_page
    from tgraph.bench.run import Outcomes, run_benchmarks
    from tgraph.bench.settings import Settings
    from tgraph.io.files import write_bytes

    default = Settings()
    settings = Settings(
        tasks=_names(tasks),
        graphs=_names(graphs),
        peers=_names(peers),
        rounds=rounds,
        threads=threads or default.threads,
        limit_seconds=limit,
        gap=gap,
        data=data,
        cache=cache or default.cache,
        memory=memory,
        memory_graph=memory_graph,
        cold=cold,
    )
    plot = out.parent / "images" / f"{out.stem}.svg"

    earlier = None
    if resume and json_file is not None and json_file.exists():
        earlier = Outcomes.from_dict(json.loads(json_file.read_text()))

    def save(outcomes: Outcomes) -> None:
        if json_file is not None:
            write_bytes(json_file, json.dumps(outcomes.to_dict(), indent=1).encode())
        drawn = draw_plot(plot, outcomes)
        write_page(out, outcomes, settings, " ".join(["tgraph", *sys.argv[1:]]), plot if drawn else None)

    run_benchmarks(settings, typer.echo, save, earlier)
    typer.echo(f"wrote {out}" + (f" and {plot}" if plot.exists() else "; install matplotlib for a plot"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
