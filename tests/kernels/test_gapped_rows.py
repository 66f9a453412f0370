"""Rows with gaps, against NumPy's sets and searches, on several numbers of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.arc_changes import DELETE, EXISTS, INSERT, MISSING
from tgraph.kernels.cpu.arc_search import GROUP, look_up
from tgraph.kernels.cpu.gapped_layout import START, UNIT
from tgraph.kernels.cpu.gapped_rows import GappedRows, order_mutations

NUM_VERTICES = 300


def _rows(keys: Any, weights: Any) -> GappedRows:
    """Rows of the arcs whose keys, source * NUM_VERTICES + target, ascend."""
    offsets = np.searchsorted(keys // NUM_VERTICES, np.arange(NUM_VERTICES + 1)).astype(np.int64)
    return GappedRows(offsets, (keys % NUM_VERTICES).astype(np.int32), weights)


def _random_batches(rng: Any, weights: dict[int, int]) -> Any:
    """Yield keys to delete, keys to insert and their weights; the first vertices are hubs. Keeps `weights` current."""
    for size in (1, 40, 700, 5000, 20_000, 200):
        sources = (rng.random(size) ** 3 * NUM_VERTICES).astype(np.int64)
        inserted = sources * NUM_VERTICES + rng.integers(0, NUM_VERTICES, size)
        inserted = np.unique(inserted)
        there = np.array(sorted(weights), np.int64)
        deleted = np.unique(np.concatenate([rng.choice(there, size // 3), rng.integers(0, NUM_VERTICES**2, size // 9)]))
        new = rng.integers(1, 100, inserted.size).astype(np.int32)
        yield deleted, inserted, new
        for key in deleted.tolist():
            weights.pop(key, None)
        for key, weight in zip(inserted.tolist(), new.tolist(), strict=True):
            weights.setdefault(key, weight)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_batches_on_any_number_of_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 10)
    rng = np.random.default_rng(3)
    keys = np.unique(rng.integers(0, NUM_VERTICES**2, 2000))
    first = rng.integers(1, 100, keys.size).astype(np.int32)
    rows, weights = _rows(keys, first), dict(zip(keys.tolist(), first.tolist(), strict=True))
    num_cells = rows.neighbors.size
    for deleted, inserted, new in _random_batches(rng, weights):
        before = set(weights)
        both = np.concatenate([deleted, inserted])
        kinds = np.repeat(np.array([DELETE, INSERT], np.uint8), [deleted.size, inserted.size])
        all_weights = np.concatenate([np.zeros(deleted.size, np.int32), new])
        ends = (both // NUM_VERTICES).astype(np.uint32), (both % NUM_VERTICES).astype(np.uint32)
        mutations = order_mutations(*ends, all_weights, kinds, NUM_VERTICES)
        foretold = rows.find(mutations, False)
        changes = rows.apply(mutations, False, threads)
        np.testing.assert_array_equal(changes.outcomes, foretold)
        is_there = np.array([key in before for key in deleted.tolist()], bool)
        np.testing.assert_array_equal(foretold[: deleted.size] == MISSING, ~is_there)
        left = before - set(deleted.tolist())
        stays = np.array([key in left for key in inserted.tolist()], bool)
        np.testing.assert_array_equal(foretold[deleted.size :] == EXISTS, stays)
        gone = changes.removed[0].astype(np.int64) * NUM_VERTICES + changes.removed[1]
        assert set(gone.tolist()) <= set(deleted.tolist()) & before
    offsets, neighbors, found = rows.rows()
    found_keys = np.repeat(np.arange(NUM_VERTICES), np.diff(offsets)) * NUM_VERTICES + neighbors
    expected = np.array(sorted(weights))
    np.testing.assert_array_equal(found_keys, expected)
    np.testing.assert_array_equal(found, [weights[key] for key in expected.tolist()])
    assert rows.neighbors.size > num_cells  # it was written anew, for there was no room


@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 33, 100, 257])
def test_searches_find_what_numpy_finds(length: int) -> None:
    rng = np.random.default_rng(length)
    neighbors = np.sort(rng.choice(1000, length, replace=False)).astype(np.int32)
    rows = GappedRows(np.array([0, length, length], np.int64), neighbors, None)
    rows.neighbors[:length:3] |= np.uint32(1 << 31)  # some are deleted
    sources, targets = np.zeros(GROUP, np.uint32), rng.integers(0, 1000, GROUP).astype(np.uint32)
    found, sizes = np.empty(2 * GROUP, np.uint64), np.empty(2 * GROUP, np.uint64)
    searching = np.empty(2 * GROUP, np.int64)
    cells = rows.places, rows.places.reshape(-1), rows.neighbors, np.empty(0)
    look_up(0, GROUP, sources, targets, *cells, found, sizes, searching)
    start = int(rows.places[0, START]) * UNIT
    np.testing.assert_array_equal(found[::2], start + np.searchsorted(neighbors, targets))
    np.testing.assert_array_equal(found[1::2], start + length)
