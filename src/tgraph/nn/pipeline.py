"""Batches for training, made while the batch before is computed on.

Stages, after GraphTensor (Jang et al. 2023): sampling (S) and reindexing (R) layer by layer in one thread; lookup of
features (K) and transfer to the device (T) in another. K begins with the vertices of the inner layers while S works on
the outermost one, which holds most of the edges. Rows of tables that are mapped from files are asked for as soon as
their vertices are known, so that the disk reads many at once while others work. S and R never run at the same time, so
the table of vertices that both use needs no lock; everything else they do, and K, runs in compiled code without
Python's lock.
"""

from __future__ import annotations

import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.graph import Graph
from tgraph.graph.random_weights import check_seed, check_whole
from tgraph.graph.sharded import ShardedGraph
from tgraph.nn.block import Block
from tgraph.nn.buffers import BufferPool
from tgraph.nn.lookup import Features, Lookup
from tgraph.nn.owners import OwnerLookup, fetch_rows
from tgraph.nn.sampler import NeighborSampler, Sample
from tgraph.nn.stages import Choice, Staged, Tried, Unstaged
from tgraph.nn.tables import as_table
from tgraph.nn.transfer import is_elsewhere, move_batch
from tgraph.runtime import Array

AHEAD = 2  # batches, where it is not said how many
BATCHES_PER_EPOCH = 2**32  # at most; the sampler's number of a batch is epoch * this + position


class Options(TypedDict, total=False):
    """How a loader makes batches; all have defaults.

    `shuffle` (True): another order in every epoch. `drop_last` (False): leave out a last batch that is not full.
    `seed` (0): of order and sampling. `ahead` (`"auto"`): how many batches are made in advance, by background threads;
    with 0 everything runs in the caller's thread, with `"auto"` either that or 2, whichever was faster on the first
    batches. `device` (None = CPU): where batches are moved to. `lookup` (`"copy"`):
    `"through"` hands out `Rows`, which are read in place. `edge_numbers` (False): say which edges were drawn, see
    `Block.edges`. The rest is that of `NeighborSampler`: `along`, `replace`, `weighted`, `times`, and `reverse`, which
    is `"inner"` here.
    """

    shuffle: bool
    drop_last: bool
    seed: int
    ahead: int | str
    device: Any
    lookup: str
    along: str
    replace: bool
    weighted: bool
    times: Any
    edge_numbers: bool
    reverse: bool | str


@dataclass(frozen=True)
class Settings:
    """The same, checked, with defaults."""

    shuffle: bool = True
    drop_last: bool = False
    seed: int = 0
    ahead: int | str = "auto"
    device: Any = None
    lookup: str = "copy"
    along: str = "out"
    replace: bool = False
    weighted: bool = False
    times: Any = None
    edge_numbers: bool = False
    reverse: bool | str = "inner"

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.ahead != "auto":
            check_whole("ahead", self.ahead, 0, 1024, "or 'auto'")
        check_choice("lookup", self.lookup, ("copy", "through"))

    @property
    def sampling(self) -> dict[str, Any]:
        """What the sampler takes."""
        same = {name: getattr(self, name) for name in ("along", "replace", "weighted", "times", "reverse", "seed")}
        return {**same, "edges": self.edge_numbers}


@dataclass(frozen=True, eq=False)
class Batch:
    """Some vertices to be learned from, with all that a network needs to compute their outputs.

    Its tensors are its own as long as anything of it is held: memory is used again only when nothing is.
    """

    vertices: Tensor  # [N] int64: vertex numbers, the targets first; sources of blocks[0]
    targets: Tensor  # [T] int64: the distinct seeds, targets of blocks[-1]
    blocks: tuple[Block, ...]
    features: Features  # of the vertices, [N, ...]
    labels: Tensor | None  # of the targets, [T, ...]
    positions: Tensor  # [seeds] int64: where each seed of the batch is among the targets
    times: Tensor | None = None  # [N], where edges have times
    number: int = 0  # in its epoch
    seconds: dict[str, float] = field(default_factory=dict)  # of each stage


@dataclass
class Draft:
    """A batch in the making."""

    number: int
    details: Any
    room: dict[str, Array] | None = None  # for features; None = none yet
    num_asked: int = 0  # vertices whose features are on their way into memory
    num_copied: int = 0  # vertices whose features are there
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Vertices of a draft that are known now; the last part has the sample."""

    draft: Draft
    vertices: Array
    most: int  # vertices in the end
    sample: Sample | None = None


class Pipeline(ABC):
    """What loaders share: things to learn from in batches, through all stages."""

    def __init__(
        self, graph: Graph, count: int, fanouts: Sequence[int], batch_size: int, features: Any, settings: Settings
    ) -> None:
        self.graph, self.settings = graph, settings
        self.batch_size = check_whole("batch_size", batch_size, 1)
        self._count = count
        pool = BufferPool(pinned=settings.device is not None and torch.device(settings.device).type == "cuda")
        self.sampler = NeighborSampler(graph, fanouts, pool=pool, **settings.sampling)
        self._lookup: Lookup | OwnerLookup
        if isinstance(graph, ShardedGraph):
            self._lookup = OwnerLookup(features, graph, settings.lookup)
        else:
            self._lookup = Lookup(features, graph.num_vertices, settings.lookup, pool)
        self._epoch = 0
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()
        self._choice = Choice()

    @abstractmethod
    def _seeds(self, chosen: Array, key: int) -> tuple[Array, Array | None, Any]:
        """Return vertex numbers and times to sample around for the chosen things, and details for `_finish`."""

    @abstractmethod
    def _finish(self, draft: Draft, sample: Sample, features: Features) -> Any:
        """Return the batch."""

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        full, rest = divmod(self._count, self.batch_size)
        return full + (rest > 0 and not self.settings.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch, which its order and its samples depend on; it goes up by itself."""
        self._epoch = check_whole("epoch", epoch, 0, 2**31)

    def __iter__(self) -> Any:
        """Begin an epoch."""
        epoch, self._epoch = self._epoch, self._epoch + 1
        order = np.arange(self._count)
        if self.settings.shuffle:
            order = np.random.default_rng((self.settings.seed, epoch)).permutation(self._count)

        def begin(numbers: Sequence[int], has_threads: bool) -> Staged | Unstaged:
            stages = (self._make_sampling(epoch, order, has_threads), self._look_up)
            if not has_threads:
                return Unstaged(numbers, stages)
            return Staged(numbers, stages, AHEAD if self.settings.ahead == "auto" else int(self.settings.ahead))

        running: Any
        if self.settings.ahead == "auto" and not self.graph.is_sharded:
            running = Tried(range(len(self)), begin, self._choice)
        else:
            running = begin(range(len(self)), bool(self.settings.ahead) and not self.graph.is_sharded)
        self._running.add(running)
        return running

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the background threads of every epoch that was begun; a new one may be begun later."""
        for running in list(self._running):
            running.close()

    def _own_share(self, chosen: Array) -> Array:
        """Return what this rank has of a batch of all ranks: equally much on each, some of it twice if need be."""
        if not isinstance(self.graph, ShardedGraph):
            return chosen
        rank, size = self.graph.group.rank, self.graph.group.size
        count = -(-chosen.size // size)
        return chosen[np.arange(rank * count, (rank + 1) * count) % chosen.size]

    # --- stages ------------------------------------------------------------------------------------------------------
    def _make_sampling(
        self, epoch: int, order: Array, has_threads: bool
    ) -> Callable[[int, Callable[[Part], None]], None]:
        """Return the stage of S and R."""

        def sample(number: int, hand_on: Callable[[Part], None]) -> None:
            chosen = self._own_share(order[number * self.batch_size : (number + 1) * self.batch_size])
            key = epoch * BATCHES_PER_EPOCH + number
            started = time.perf_counter()
            seeds, times, details = self._seeds(chosen, key)
            draft = Draft(number, details, seconds={"seeds": time.perf_counter() - started})

            def announce(vertices: Array, most: int, sample: Sample | None = None) -> None:
                began = time.perf_counter()
                self._lookup.ask(vertices[draft.num_asked :])
                draft.num_asked = vertices.size
                draft.seconds["ask"] = draft.seconds.get("ask", 0.0) + time.perf_counter() - began
                hand_on(Part(draft, vertices, most, sample))

            if self.sampler.is_on_device and not self._lookup.copies:
                found = self.sampler.expand_on_device(seeds, key)
                draft.seconds.update(found.seconds)
                hand_on(Part(draft, np.empty(0, np.int64), 0, found))
                return
            is_early = self._lookup.copies and has_threads
            found = self.sampler.expand(seeds, key, times, announce if is_early else None)
            draft.seconds.update(found.seconds)
            vertices = found.vertices.numpy()
            announce(vertices, vertices.size, found)

        return sample

    def _look_up(self, part: Part, hand_on: Callable[[Any], None]) -> None:
        """The stage of K and T."""
        draft, started = part.draft, time.perf_counter()
        if draft.room is None:
            draft.room = self._lookup.begin(part.most)
        self._lookup.copy(draft.room, part.vertices, draft.num_copied)
        draft.num_copied = part.vertices.size
        draft.seconds["lookup"] = draft.seconds.get("lookup", 0.0) + time.perf_counter() - started
        if part.sample is None:
            return
        batch = self._finish(draft, part.sample, self._lookup.finish(draft.room, part.sample.vertices))
        if is_elsewhere(self.settings.device):
            started = time.perf_counter()
            batch = move_batch(batch, self.settings.device)
            batch.seconds["transfer"] = time.perf_counter() - started
        hand_on(batch)


class Loader(Pipeline):
    """Batches of vertices with their sampled neighbourhoods, features and labels; every `iter` is an epoch.

    Order and content depend on seed and epoch only, not on threads or on `ahead`. Leaving a `with` block, leaving the
    loop early, an error or Ctrl-C end the background threads.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([1, 2, 3, 0], [0, 1, 2, 3], runtime="numpy")
    >>> features, labels = torch.eye(4), torch.tensor([0, 1, 0, 1])
    >>> with Loader(graph, None, (2,), 2, features=features, labels=labels, shuffle=False) as loader:
    ...     for batch in loader:
    ...         print(batch.targets, batch.labels, batch.vertices, batch.features.shape)
    tensor([0, 1]) tensor([0, 1]) tensor([0, 1, 2]) torch.Size([3, 4])
    tensor([2, 3]) tensor([0, 1]) tensor([2, 3, 0]) torch.Size([3, 4])
    """

    def __init__(
        self,
        graph: Graph,
        seeds: Iterable[Any] | None = None,
        fanouts: Sequence[int] = (10, 15),
        batch_size: int = 1024,
        *,
        features: Any = None,
        labels: Any = None,
        seed_times: Any = None,
        **options: Unpack[Options],
    ) -> None:
        """Prepare batches.

        Args:
            graph: Any graph, see `NeighborSampler`. On one that is divided among ranks every rank gets its share of
                each batch, all go through the loader together, and everything runs in the caller's thread.
            seeds: The user's ids of the vertices to learn from, the same on all ranks; None = all vertices.
            fanouts: How many neighbours, from the seeds outwards; -1 = all.
            batch_size: How many seeds a batch has, on all ranks together.
            features: A table with a row per vertex (a tensor, an array, a mapped array, see `open_table`), or a
                mapping of names to tables. Copied rows have no gradient; `lookup="through"` keeps it. On a graph
                divided among ranks, with a row for each of the rank's own vertices.
            labels: A table of the same length.
            seed_times: One per seed, where `times` of edges are given.
            options: See `Options`.
        """
        self._vertices = np.arange(graph.num_vertices) if seeds is None else graph.vertices_of(seeds)
        self._times = None if seed_times is None else np.asarray(seed_times)
        if self._times is not None and self._times.shape != self._vertices.shape:
            raise InvalidArgumentError(f"seed_times has the shape {self._times.shape}; give one for each seed")
        super().__init__(graph, self._vertices.size, fanouts, batch_size, features, Settings(**options))
        num_rows = graph.num_own if isinstance(graph, ShardedGraph) else graph.num_vertices
        self._labels = None if labels is None else as_table("labels", labels, num_rows)

    def _seeds(self, chosen: Array, key: int) -> tuple[Array, Array | None, Any]:
        return self._vertices[chosen], None if self._times is None else self._times[chosen], None

    def _finish(self, draft: Draft, sample: Sample, features: Features) -> Batch:
        targets = sample.vertices[: sample.num_targets]
        labels = None if self._labels is None else self._labels_of(self._labels, targets)
        details = (sample.positions, sample.times, draft.number, draft.seconds)
        return Batch(sample.vertices, targets, sample.blocks, features, labels, *details)

    def _labels_of(self, table: Tensor, targets: Tensor) -> Tensor:
        if isinstance(self.graph, ShardedGraph):
            return fetch_rows(self.graph, table, targets.numpy())
        return table.index_select(0, targets.to(table.device))
