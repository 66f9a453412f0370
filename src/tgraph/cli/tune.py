"""`tgraph tune`: find the launch sizes that are fastest on a GPU."""

from dataclasses import asdict
from typing import Annotated

import typer


def tune(
    device: Annotated[str, typer.Option(help="The GPU, in torch's notation: cuda, cuda:1, xpu.")] = "cuda",
    scale: Annotated[int, typer.Option(help="The graph has 2^scale vertices.", min=4, max=28)] = 20,
    rounds: Annotated[int, typer.Option(help="How often each candidate is measured; the median counts.", min=1)] = 5,
) -> None:
    """Try launch sizes of the GPU kernels, and keep the fastest for later runs on this kind of GPU.

    Example: tgraph tune --device cuda
    """
    from tgraph.bench.launch_sizes import tune_device

    tuning = tune_device(device, scale, rounds)
    chosen = asdict(tuning.sizes)
    for kind, seconds in tuning.seconds.items():
        typer.echo(f"{kind}: fastest of {len(seconds)} sizes {min(seconds.values()) * 1e3:.2f} ms")
    typer.echo(", ".join(f"{name} {size}" for name, size in chosen.items()))
