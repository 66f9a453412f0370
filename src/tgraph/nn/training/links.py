"""Training a model that recommends items to users."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from tgraph.nn.block import Block
from tgraph.nn.datasets import Interactions
from tgraph.nn.link_loader import LinkBatch, LinkLoader
from tgraph.nn.models.recommender import Recommender
from tgraph.nn.training.epochs import Plan, Training, run_epochs
from tgraph.nn.training.ranking import score_ranking


def train_links(
    model: Recommender,
    data: Interactions,
    plan: Plan | None = None,
    *,
    learning_rate: float = 1e-3,
    regularization: float = 1e-4,
    batch_size: int = 2048,
    fanouts: Sequence[int] | None = None,
) -> Training:
    """Train a model to rank what a user chose above what the user did not (BPR), and test it.

    It keeps the parameters of the epoch with the best recall among 20 items on the test choices, as the papers report
    it; there is no other data that is held out.

    Args:
        model: With one embedding per user and item.
        data: What to learn from.
        plan: How long, and where checkpoints go.
        learning_rate: Of Adam.
        regularization: How much the squared length of the embeddings of a batch counts.
        batch_size: Choices per step.
        fanouts: Spread embeddings over so many sampled neighbours, from the batch outwards; None = over the whole graph
            in every step, which is exact.
    """
    plan = plan or Plan(epochs=100, look_every=5)
    graph = model.spread.prepare(data.graph)
    whole = Block.of_graph(graph)
    optimizer = torch.optim.Adam(model.parameters(), learning_rate)
    loader = LinkLoader(
        graph,
        (data.train[0], data.train[1] + data.num_users),
        fanouts or (),
        batch_size,
        candidates=range(data.num_users, data.num_users + data.num_items),
        seed=plan.seed,
        reverse=fanouts is not None,
    )

    def learn(epoch: int) -> float:
        loader.set_epoch(epoch)
        losses = []
        for batch in loader:
            optimizer.zero_grad()
            spread = model(whole)[batch.targets] if fanouts is None else model(batch.blocks, batch.vertices)
            loss = _loss(model, batch, spread, regularization)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        return sum(losses) / max(len(losses), 1)

    training = run_epochs(model, optimizer, plan, learn, lambda: _test(model, whole, data)["recall@20"])
    training.scores = _test(model, whole, data)
    return training


def _loss(model: Recommender, batch: LinkBatch, spread: Tensor, regularization: float) -> Tensor:
    """Return the Bayesian personalised ranking loss (Rendle and others 2009) of a batch."""
    users, chosen, others = spread[batch.sources], spread[batch.positives], spread[batch.negatives[:, 0]]
    margins = (users * (chosen - others)).sum(1)
    own = model.embeddings[batch.targets]
    lengths = own.square().sum(1)
    counted = lengths[batch.sources] + lengths[batch.positives] + lengths[batch.negatives[:, 0]]
    return functional.softplus(-margins).mean() + regularization / 2 * counted.mean()


def _test(model: Recommender, block: Block, data: Interactions) -> dict[str, float]:
    model.eval()
    with torch.no_grad():
        return score_ranking(model(block), data)
