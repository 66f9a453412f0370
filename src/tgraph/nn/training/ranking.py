"""How well items are recommended: what users chose later, among the items that are ranked highest for them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tgraph.nn.datasets import Interactions
from tgraph.runtime import Array

USERS_AT_A_TIME = 1024


def rank_items(embeddings: Tensor, data: Interactions, users: Array, count: int) -> Tensor:
    """Return the items that are ranked highest for each user, `[U, count]`, without those that are known."""
    items = embeddings[data.num_users :]
    offsets = np.searchsorted(data.train[0], np.arange(data.num_users + 1))
    ranked = []
    for first in range(0, users.size, USERS_AT_A_TIME):
        part = users[first : first + USERS_AT_A_TIME]
        scores = embeddings[torch.from_numpy(part)] @ items.T
        counts = offsets[part + 1] - offsets[part]
        rows = np.repeat(np.arange(part.size), counts)
        places = (
            np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(offsets[part], counts)
        )
        scores[torch.from_numpy(rows), torch.from_numpy(data.train[1][places])] = -torch.inf
        ranked.append(scores.topk(min(count, data.num_items)).indices)
    return torch.cat(ranked) if ranked else torch.empty(0, count, dtype=torch.int64)


def score_ranking(embeddings: Tensor, data: Interactions, count: int = 20) -> dict[str, float]:
    """Return recall and NDCG among the first `count` items, as means over the users that have something to find.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [2, 3], directed=False, num_vertices=5, runtime="torch")
    >>> known, later = (np.array([0, 1]), np.array([0, 1])), (np.array([0]), np.array([2]))
    >>> data = Interactions(graph, 2, 3, known, later)
    >>> score_ranking(torch.tensor([[1.0], [1.0], [3.0], [1.0], [2.0]]), data, count=1)
    {'recall@1': 1.0, 'ndcg@1': 1.0}
    """
    users, counts = np.unique(data.test[0], return_counts=True)
    ranked = rank_items(embeddings, data, users, count).numpy()
    wanted = data.test[0] * data.num_items + data.test[1]  # ascending, one number per choice
    is_hit = np.isin(users[:, None] * data.num_items + ranked, wanted)
    gains = 1 / np.log2(np.arange(2, count + 2))
    ideal = np.cumsum(gains)[np.minimum(counts, count) - 1]
    ndcg = (is_hit * gains[: is_hit.shape[1]]).sum(axis=1) / ideal
    return {f"recall@{count}": float((is_hit.sum(axis=1) / counts).mean()), f"ndcg@{count}": float(ndcg.mean())}
