"""Sampling and looking up on graphs divided among ranks: what one machine would get. Ranks are threads here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tgraph as tg
from launch import ROOT, launch
from tgraph.errors import DeclaredGapError, InvalidArgumentError
from tgraph.group import current
from tgraph.nn import Loader, NeighborSampler, Sample
from thread_group import on_ranks

SIZES = (1, 2, 3)


def assert_same(found: Sample, expected: Sample) -> None:
    assert found.vertices.tolist() == expected.vertices.tolist()
    assert found.positions.tolist() == expected.positions.tolist()
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert one.offsets.tolist() == other.offsets.tolist()
        assert one.sources.tolist() == other.sources.tolist()
        assert (one.weights is None) == (other.weights is None)
        if one.weights is not None and other.weights is not None:
            assert one.weights.tolist() == other.weights.tolist()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("along", ["out", "in"])
@pytest.mark.parametrize("how", [{}, {"replace": True}, {"weighted": True}, {"weighted": True, "replace": True}])
@pytest.mark.parametrize("directed", [True, False])
def test_owners_draw_what_one_machine_would(size: int, along: str, how: dict[str, Any], directed: bool) -> None:
    graph = tg.generate.rmat(7, 6, seed=2, weights=(0, 5), directed=directed, runtime="numpy")
    sampler = NeighborSampler(graph, (3, -1), along=along, seed=4, **how)
    seeds = [np.array(some) for some in ([5, 90, 5], [], [0, 127, 64, 3])]
    expected = [sampler.expand(some, number=9) for some in seeds]

    def look() -> Sample:
        own = NeighborSampler(tg.shard(graph), (3, -1), along=along, seed=4, **how)
        return own.expand(seeds[current().rank], number=9)

    for rank, found in enumerate(on_ranks(size, look)):
        assert_same(found, expected[rank])


@pytest.mark.parametrize("size", SIZES)
def test_every_rank_has_its_share_of_a_batch(size: int) -> None:
    graph = tg.generate.rmat(7, 6, seed=2, directed=False, runtime="numpy")
    features, labels = torch.rand(128, 3), torch.arange(128)
    seeds = list(range(0, 128, 3))

    def look() -> Any:
        part = tg.shard(graph)
        own = slice(part.first, part.first + part.num_own)
        tables = {"x": features[own], "y": features[own, 0].double().contiguous()}
        loader = Loader(part, seeds, (2, 2), 12, features=tables, labels=labels[own], seed=7)
        return list(loader)

    epochs = on_ranks(size, look)
    whole = list(Loader(graph, seeds, (2, 2), 12, features=features, labels=labels, seed=7, ahead=0))
    for number, joined in enumerate(whole):
        batches = [epoch[number] for epoch in epochs]
        for batch in batches:
            torch.testing.assert_close(batch.features["x"], features[batch.vertices])
            torch.testing.assert_close(batch.features["y"], features[batch.vertices, 0].double())
            assert batch.labels.tolist() == batch.targets.tolist()
        assert len({batch.positions.shape[0] for batch in batches}) == 1  # equally many on all ranks
        assert {one for batch in batches for one in batch.targets.tolist()} == set(joined.targets.tolist())


def test_a_rank_without_vertices_and_batches_smaller_than_the_group() -> None:
    graph = tg.from_edges([0, 1], [1, 0], runtime="numpy")

    def look() -> Any:
        part = tg.shard(graph)
        own = slice(part.first, part.first + part.num_own)
        return list(Loader(part, [1], (1,), 4, features=torch.eye(2)[own]))

    for (batch,) in on_ranks(3, look):
        assert batch.features.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_what_owners_cannot_do_says_so() -> None:
    graph = tg.generate.rmat(5, 4, seed=1, weights=(1, 5), runtime="numpy")
    negative = tg.from_edges([0, 1, 2], [1, 2, 0], weights=[1.0, 2.0, -1.0], runtime="numpy")
    for options in ({"edges": True}, {"times": np.zeros(graph.num_edges)}):
        with pytest.raises(DeclaredGapError, match="leave times and edges out"):
            on_ranks(2, lambda options=options: NeighborSampler(tg.shard(graph), **options))
    with pytest.raises(DeclaredGapError, match="use lookup='copy'"):
        on_ranks(2, lambda: Loader(tg.shard(graph), lookup="through"))
    with pytest.raises(InvalidArgumentError, match=r"weights hold -1.0"):
        on_ranks(2, lambda: NeighborSampler(tg.shard(negative), weighted=True))
    with pytest.raises(InvalidArgumentError, match="one row for each of the"):
        on_ranks(2, lambda: Loader(tg.shard(graph), features=torch.eye(32)))


def test_gradients_of_ranks_are_those_of_the_joined_batch() -> None:
    done = launch(2, str(ROOT / "tests" / "ranks" / "learning.py"))
    assert done.returncode == 0, done.stderr
    assert "the same losses and gradients on 2" in done.stdout
