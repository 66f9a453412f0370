"""`tgraph train`: train a model on data that models are compared on.

Annotations are read when the module loads, so they are not postponed here.
"""

import importlib
import os
import statistics
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tgraph.cli import options as opt
from tgraph.errors import InvalidArgumentError

if TYPE_CHECKING:
    from tgraph.nn.training import Training

DATA_VARIABLE = "TGRAPH_DATA"
WHERE_DATA_IS = "Planetoid's files (github.com/kimiyoung/planetoid), or train.txt and test.txt as NGCF has them"


class Model(StrEnum):
    """What can be trained: the first for classes of vertices, the others for recommendation."""

    gcn = "gcn"
    sage = "sage"
    gat = "gat"
    gatv2 = "gatv2"
    gin = "gin"
    ngcf = "ngcf"
    lightgcn = "lightgcn"


RECOMMENDERS = (Model.ngcf, Model.lightgcn)
CLASSIFIER_DEFAULTS = {Model.gat: (8, 0.005), Model.gatv2: (8, 0.005), Model.sage: (64, 0.01)}  # hidden, learning rate


def train(
    model: Annotated[Model, typer.Argument(help="gcn, sage, gat, gatv2, gin (classes); ngcf, lightgcn (choices).")],
    data: Annotated[
        str, typer.Option("--data", "-d", help=f"A folder, or its name in the folder that {DATA_VARIABLE} says.")
    ],
    epochs: Annotated[int | None, typer.Option(help="At most so many: 200, of recommendation 80.", min=1)] = None,
    hidden: Annotated[
        int | None, typer.Option(help="The width between layers: 16, of recommendation 64.", min=1)
    ] = None,
    layers: Annotated[int | None, typer.Option(help="How many layers: 2, of recommendation 3.", min=1)] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", "--lr", help="Of Adam.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Seeds or choices per step; with --fanouts, or of recommendation 8192.", min=1)
    ] = None,
    fanouts: Annotated[
        str, typer.Option(help="Train on sampled neighbourhoods, such as 10,15, from the seeds outwards.")
    ] = "",
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many epochs that were not better than the best.", min=1)
    ] = None,
    seed: opt.Seed = 0,
    runs: Annotated[
        int, typer.Option(help="Train so often, with the next seed each time, and show the mean.", min=1)
    ] = 1,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A .safetensors file: the model, and the same command goes on after a kill.")
    ] = None,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model, stop early, and test it.

    Example: tgraph train gcn --data cora --runs 10
    """
    import tgraph as tg
    from tgraph.nn.training import Plan

    torch: Any = importlib.import_module("torch")

    if runs > 1 and checkpoint is not None:
        raise InvalidArgumentError("--checkpoint is of one run; leave out --runs")
    if threads is not None:
        tg.config.num_threads = threads
        torch.set_num_threads(threads)
    recommends = model in RECOMMENDERS
    folder = _find_data(data)
    sizes = {"hidden": hidden, "layers": layers, "learning_rate": learning_rate, "batch_size": batch_size}
    spread = tuple(int(word) for word in fanouts.split(",")) if fanouts else None
    results: list[Training] = []
    for number in range(seed, seed + runs):
        progress = "off" if quiet else "auto"
        look_every = 5 if recommends else 1
        plan = Plan(epochs or (80 if recommends else 200), patience, look_every, number, checkpoint, progress)
        torch.manual_seed(number)
        run = _train_recommender if recommends else _train_classifier
        results.append(run(model, folder, plan, spread, sizes))
        best = results[-1].best
        assert best is not None
        scores = ", ".join(f"{name} {value:.4f}" for name, value in results[-1].scores.items())
        seconds = f"{results[-1].seconds:.1f} s for {len(results[-1].epochs)} epochs"
        typer.echo(f"seed {number}: {scores}; best epoch {best.number + 1}, {seconds}")
    if runs > 1:
        for name in results[0].scores:
            found = [result.scores[name] for result in results]
            typer.echo(f"mean of {runs}: {name} {statistics.mean(found):.4f} +- {statistics.stdev(found):.4f}")


def _train_classifier(
    kind: Model, folder: Path, plan: Any, fanouts: tuple[int, ...] | None, sizes: dict[str, Any]
) -> "Training":
    from tgraph import nn
    from tgraph.nn.datasets import read_planetoid
    from tgraph.nn.training import train_vertices

    data = read_planetoid(folder)
    hidden, rate = CLASSIFIER_DEFAULTS.get(kind, (16, 0.01))
    shape = data.features.shape[1], sizes["hidden"] or hidden, data.num_classes, sizes["layers"] or 2
    make: dict[Model, Any] = {
        Model.gcn: nn.GCN,
        Model.sage: nn.GraphSAGE,
        Model.gat: nn.GAT,
        Model.gatv2: partial(nn.GAT, dynamic=True),
        Model.gin: nn.GIN,
    }
    how: dict[str, Any] = {
        "learning_rate": sizes["learning_rate"] or rate,
        "fanouts": fanouts,
        "batch_size": sizes["batch_size"] or 300,
    }
    return train_vertices(make[kind](*shape), data, plan, **how)


def _train_recommender(
    kind: Model, folder: Path, plan: Any, fanouts: tuple[int, ...] | None, sizes: dict[str, Any]
) -> "Training":
    from tgraph import nn
    from tgraph.nn.datasets import read_interactions
    from tgraph.nn.training import train_links

    data = read_interactions(folder)
    width, num_layers = sizes["hidden"] or 64, sizes["layers"] or 3
    spread = nn.LightGCN(num_layers) if kind == Model.lightgcn else nn.NGCF(width, width, num_layers)
    model = nn.Recommender(data.num_users + data.num_items, width, spread)
    how: dict[str, Any] = {"learning_rate": sizes["learning_rate"] or 0.004, "batch_size": sizes["batch_size"] or 8192}
    return train_links(model, data, plan, fanouts=fanouts, **how)


def _find_data(name: str) -> Path:
    """Return the folder of the data, which may be known by its name."""
    places = [Path(name), *([Path(os.environ[DATA_VARIABLE]) / name] if os.environ.get(DATA_VARIABLE) else [])]
    for place in places:
        if place.is_dir():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise InvalidArgumentError(f"--data {name}: there is no folder {looked}; it holds {WHERE_DATA_IS}")
