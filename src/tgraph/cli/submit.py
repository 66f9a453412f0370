"""`tgraph submit`: a verb on a cluster that somebody else runs.

Annotations are read when the module loads, so they are not postponed here.
"""

from typing import Annotated

import typer

from tgraph.errors import InvalidArgumentError


def submit(
    context: typer.Context,
    ray: Annotated[str, typer.Option(help="The address of a Ray cluster; auto: that of this machine.")],
    ranks: Annotated[int, typer.Option(help="How many processes.", min=1)] = 2,
    cores: Annotated[int, typer.Option(help="Of every process.", min=1)] = 1,
    max_restarts: Annotated[int, typer.Option(help="How often all start again after one was lost.", min=0)] = 3,
) -> None:
    """Run a verb on a group of processes that a Ray cluster places; paths must be those that its machines see.

    Example: tgraph submit --ray auto --ranks 4 pagerank web.safetensors --checkpoint notes/ --out ranks/
    """
    from tgraph.cli.ray_group import run_on_ray

    if not context.args:
        raise InvalidArgumentError("submit runs a verb; give one, such as: tgraph submit --ray auto pagerank FILE")
    typer.echo(run_on_ray(ray, context.args, ranks, cores, max_restarts), nl=False)
