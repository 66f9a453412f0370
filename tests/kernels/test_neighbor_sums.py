"""Sums over rows: all three ways give the sums of NumPy, and what belongs to the next row stays out."""

import numpy as np
import pytest
from numba import njit

import tgraph as tg
from tgraph.kernels.cpu.neighbor_sums import BEYOND_CACHE, lengths_vary, sum_gapped_row, sum_row
from tgraph.kernels.cpu.short_floats import lengthen, shorten
from tgraph.kernels.cpu.team import JIT

ONE = np.uint64(1)
LENGTHS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 17, 1, 2)  # the last row is short, and nothing lies behind it


@njit(**{**JIT, "cache": False})
def sum_rows(varies, offsets, neighbors, sent, sums):
    """Writes the sums of all rows."""
    for row in range(sums.size):
        place = np.uint64(row)
        sums[row] = sum_row(varies, np.float64, offsets[place], offsets[place + ONE], neighbors, sent)


@pytest.mark.parametrize("count", [20, BEYOND_CACHE // 4], ids=["in the cache", "beyond it"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("varies", [False, True], ids=["same lengths", "other lengths"])
def test_rows_of_any_length_are_summed(varies, dtype, count):
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.uint64)
    rng = np.random.default_rng(5)
    sent = rng.random(count).astype(dtype)
    neighbors = rng.integers(0, 20, int(offsets[-1])).astype(np.uint32)
    sent[neighbors[[3, 40]]] = np.inf, np.nan  # must not reach the rows before theirs
    sums = np.empty(len(LENGTHS))
    sum_rows(varies, offsets, neighbors, sent, sums)
    rows = np.split(sent[neighbors].astype(np.float64), offsets[1:-1].astype(np.int64))
    expected = [row.sum() for row in rows]
    assert np.isfinite(expected).sum() >= 4
    np.testing.assert_allclose(sums, expected, rtol=1e-14)


@njit(**{**JIT, "cache": False})
def sum_gapped_rows(starts, lengths, num_dead, cells, sent, sums):
    """Writes the sums of all rows with gaps."""
    for row in range(sums.size):
        first = starts[row]
        sums[row] = sum_gapped_row(np.float64, num_dead[row], first, first + lengths[row], cells, sent)


@njit(**{**JIT, "cache": False})
def shorten_all(values):
    """Return values as short floats, and these as float32."""
    short = np.array([shorten(value) for value in values])
    return short, np.array([lengthen(value) for value in short])


@pytest.mark.parametrize("ids", ["uint32", "uint64"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "short"])
@pytest.mark.parametrize("deletes", [False, True], ids=["all alive", "some deleted"])
def test_rows_with_gaps_are_summed(deletes, dtype, ids):
    rng = np.random.default_rng(6)
    sent = values = rng.random(20).astype("float32" if dtype == "short" else dtype)
    if dtype == "short":
        sent, values = shorten_all(values)
    lengths = np.array(LENGTHS, np.uint64)
    starts = np.cumsum(np.concatenate([[0], (lengths + 4) // 4 * 4])).astype(np.uint64)
    cells = np.full(int(starts[-2] + lengths[-1]), np.iinfo(ids).max, ids)  # nothing lies behind the last row
    expected, num_dead = [], np.zeros(lengths.size, np.uint32)
    for row, (first, length) in enumerate(zip(starts.astype(int), lengths.astype(int), strict=False)):
        neighbors = rng.integers(0, 20, length)
        is_dead = (rng.random(length) < 0.4) & deletes
        cells[first : first + length] = neighbors
        cells[first : first + length][is_dead] |= cells.dtype.type(1 << (cells.itemsize * 8 - 1))
        num_dead[row] = is_dead.sum()
        expected.append(values[neighbors[~is_dead]].astype(np.float64).sum())
    sums = np.empty(lengths.size)
    sum_gapped_rows(starts, lengths, num_dead, cells, sent, sums)
    assert num_dead.any() == deletes
    np.testing.assert_allclose(sums, expected, rtol=1e-14)


def test_lengths_vary_where_guesses_fail():
    def offsets_of(graph):
        return graph.adjacency("out").to_numpy()[0]

    skewed = tg.generate.rmat(12, 8, seed=1, runtime="numpy")
    assert lengths_vary(offsets_of(skewed))
    assert not lengths_vary(offsets_of(tg.reorder(skewed, "degree")))
    assert not lengths_vary(offsets_of(tg.generate.grid(100, 100, runtime="numpy")))
    assert not lengths_vary(np.zeros(1, np.int64))
    assert not lengths_vary(np.array([0, 3]))
