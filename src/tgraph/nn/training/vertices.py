"""Training a model that tells the classes of vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tgraph.nn.block import Block
from tgraph.nn.datasets import LabelledVertices
from tgraph.nn.models.layered import LayeredModel
from tgraph.nn.pipeline import Loader
from tgraph.nn.training.epochs import Plan, Training, run_epochs


def train_vertices(
    model: LayeredModel,
    data: LabelledVertices,
    plan: Plan | None = None,
    *,
    learning_rate: float = 0.01,
    weight_decay: float = 5e-4,
    fanouts: Sequence[int] | None = None,
    batch_size: int = 300,
) -> Training:
    """Train a model to tell the classes of vertices, and test it; it keeps the parameters of its best epoch.

    The best epoch is the one with the least loss on the validation vertices, whose negative is its score: their
    accuracy has few steps, and the first epochs may reach its highest one by chance.

    Args:
        model: With as many outputs as there are classes. It is given the graph as it wants it (`model.prepare`).
        data: What to learn from.
        plan: How long, and where checkpoints go.
        learning_rate: Of Adam.
        weight_decay: Of all layers but the last, and of that where the model's paper has it (`model.decays_last`).
        fanouts: Train on batches with so many neighbours, from the seeds outwards; None = on the whole graph at once.
        batch_size: The vertices of such a batch.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1, 3, 4], [1, 2, 4, 5], directed=False, num_vertices=6, runtime="torch")
    >>> sides = torch.tensor([0, 0, 0, 1, 1, 1])
    >>> split = torch.tensor([0, 3]), torch.tensor([1, 4]), torch.tensor([2, 5])
    >>> data = LabelledVertices(graph, torch.eye(6), sides, *split)
    >>> model = tg.nn.GCN(6, 8, 2, dropout=0.0)
    >>> train_vertices(model, data, Plan(epochs=50)).scores
    {'accuracy': 1.0}
    """
    plan = plan or Plan()
    whole = Block.of_graph(model.prepare(data.graph))
    optimizer = torch.optim.Adam(_groups(model, weight_decay), learning_rate)

    def tell(vertices: Tensor) -> Tensor:
        model.eval()
        with torch.no_grad():
            return model(whole, data.features)[vertices]

    def score() -> float:
        return -float(functional.cross_entropy(tell(data.validation), data.classes[data.validation]))

    learn = _learn_whole(model, data, whole, optimizer)
    if fanouts is not None:
        learn = _learn_batches(model, data, fanouts, batch_size, plan.seed, optimizer)
    training = run_epochs(model, optimizer, plan, learn, score)
    is_right = tell(data.test).argmax(1) == data.classes[data.test]
    training.scores = {"accuracy": float(is_right.float().mean())}
    return training


def _groups(model: LayeredModel, weight_decay: float) -> list[dict[str, Any]]:
    """Return the parameters with their decay; the last layer has none unless the model says so."""
    last = [] if model.decays_last or len(model.layers) == 1 else list(model.layers[-1].parameters())
    others = [one for one in model.parameters() if all(one is not mine for mine in last)]
    return [{"params": others, "weight_decay": weight_decay}, *([{"params": last}] if last else [])]


def _learn_whole(
    model: LayeredModel, data: LabelledVertices, block: Block, optimizer: torch.optim.Optimizer
) -> Callable[[int], float]:
    def learn(epoch: int) -> float:
        return _step(optimizer, model(block, data.features)[data.train], data.classes[data.train])

    return learn


def _learn_batches(
    model: LayeredModel,
    data: LabelledVertices,
    fanouts: Sequence[int],
    batch_size: int,
    seed: int,
    optimizer: torch.optim.Optimizer,
) -> Callable[[int], float]:
    graph = model.prepare(data.graph)
    seeds = graph.labels_of(data.train)
    loader = Loader(graph, seeds, fanouts, batch_size, features=data.features, labels=data.classes, seed=seed)

    def learn(epoch: int) -> float:
        loader.set_epoch(epoch)
        losses = [_step(optimizer, model(batch.blocks, batch.features), batch.labels) for batch in loader]
        return sum(losses) / len(losses)

    return learn


def _step(optimizer: torch.optim.Optimizer, told: Tensor, classes: Tensor) -> float:
    optimizer.zero_grad()
    loss = functional.cross_entropy(told, classes)
    loss.backward()
    optimizer.step()
    return float(loss.detach())
