"""Run by every rank of a group: losses and gradients must be those of one process with the joined batches."""

import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import tgraph as tg
from tgraph import nn

graph = tg.generate.rmat(9, 8, seed=1, directed=False, runtime="torch")
torch.manual_seed(0)
features, classes = torch.rand(512, 10, dtype=torch.float64), torch.randint(0, 4, (512,))
how = {"fanouts": (5, 5), "batch_size": 64, "drop_last": True, "seed": 3}


def learn(model, loader):
    """Return the loss and the gradients of every step."""
    steps, optimizer = [], torch.optim.SGD(model.parameters(), 0.5)
    for batch in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(batch.blocks, batch.features)[batch.positions], batch.labels[batch.positions])
        loss.backward()
        steps.append((loss.detach(), [one.grad.clone() for one in model.parameters()]))
        optimizer.step()
    return steps


def new_model():
    """Return the same model on every call and every rank."""
    torch.manual_seed(1)
    return nn.GraphSAGE(10, 16, 4, dropout=0.0).double()


expected = learn(new_model(), nn.Loader(graph, range(512), features=features, labels=classes, **how))
with tg.distributed(timeout_seconds=60) as group:
    part = tg.shard(graph)
    own = slice(part.first, part.first + part.num_own)
    loader = nn.Loader(part, range(512), features=features[own], labels=classes[own], **how)
    found = learn(DistributedDataParallel(new_model()), loader)
    assert len(found) == len(expected) == 8
    for (loss, gradients), (joined_loss, joined_gradients) in zip(found, expected, strict=True):
        torch.distributed.all_reduce(loss)
        torch.testing.assert_close(loss / group.size, joined_loss, rtol=1e-12, atol=0)
        torch.testing.assert_close(gradients, joined_gradients, rtol=1e-9, atol=1e-13)
    if group.rank == 0:
        print("the same losses and gradients on", group.size)
