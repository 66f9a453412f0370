"""Sums of gathered rows against NumPy in float64, on our threads and on those of OpenMP."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch  # noqa: F401 - brings OpenMP into the process

import tgraph as tg
from tgraph.kernels.cpu import openmp
from tgraph.kernels.cpu.gathered_sums import sum_gathered
from tgraph.runtime import Array

WIDTHS = (1, 3, 4, 8, 9, 16, 31, 32, 33, 47, 64, 95, 96, 97, 100, 128, 200, 602)
TOLERANCES = {"float32": 1e-4, "float64": 1e-12}  # at most 40 terms of size 1, rounded to 24 or 53 bits each


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before, tg.config.num_threads = tg.config.num_threads, request.param
    yield request.param
    tg.config.num_threads = before


def case(width: int, dtype: str, ids_dtype: str, num_rows: int = 60) -> dict[str, Any]:
    """Return rows of 0 to 40 edges, with everything that a sum may take."""
    random = np.random.default_rng(width)
    counts = random.integers(0, 40, num_rows)
    counts[[0, -1]] = 0
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return {
        "offsets": offsets,
        "sources": random.integers(0, 90, offsets[-1]).astype(np.int32),
        "row_ids": random.integers(0, 50, 90).astype(ids_dtype),
        "weights": random.standard_normal(offsets[-1]).astype(dtype),
        "table": random.standard_normal((50, width)).astype(dtype),
        "factors": random.standard_normal((num_rows, width)).astype(dtype),
    }


def expected(given: dict[str, Any], is_mean: bool, own: Array | None) -> Array:
    counts = np.diff(given["offsets"])
    rows = given["sources"] if given["row_ids"] is None else given["row_ids"][given["sources"]]
    messages = given["table"].astype(np.float64)[rows]
    if given["weights"] is not None:
        messages *= given["weights"][:, None]
    sums = np.zeros((counts.size, given["table"].shape[1]))
    np.add.at(sums, np.repeat(np.arange(counts.size), counts), messages)
    sums /= np.maximum(counts, 1)[:, None] if is_mean else 1
    return sums if own is None else sums * (1 + own.astype(np.float64))


def run(given: dict[str, Any], is_mean: bool, factors: Array | None, factor_ids: Array | None) -> Array:
    """Sum into the middle of an array, and look that nothing beside it was written."""
    num_rows, width = given["offsets"].size - 1, given["table"].shape[1]
    room = np.full((num_rows + 2, width), 7, given["table"].dtype)
    read = [given[name] for name in ("offsets", "sources", "row_ids", "weights", "table")]
    sum_gathered(*read, is_mean, factors, factor_ids, room[1:-1])
    assert (room[[0, -1]] == 7).all()
    return room[1:-1]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("width", WIDTHS)
def test_all_widths(width: int, dtype: str) -> None:
    given = case(width, dtype, "int64")
    tolerance = TOLERANCES[dtype]
    for weights in (given["weights"], None):
        given["weights"] = weights
        np.testing.assert_allclose(run(given, True, None, None), expected(given, True, None), atol=tolerance)
        own = given["factors"]
        np.testing.assert_allclose(run(given, False, own, None), expected(given, False, own), atol=20 * tolerance)


@pytest.mark.parametrize("ids_dtype", ["int32", "int64"])
def test_factors_are_read_through_ids(ids_dtype: str) -> None:
    given = case(100, "float64", ids_dtype)
    ids = given["row_ids"][: given["offsets"].size - 1].copy()
    own = given["table"][ids]
    np.testing.assert_allclose(run(given, True, given["table"], ids), expected(given, True, own), atol=1e-12)
    given["row_ids"], given["sources"] = None, given["sources"] % 50
    np.testing.assert_allclose(run(given, True, given["table"], ids), expected(given, True, own), atol=1e-12)


def test_rows_of_a_large_table_are_asked_for(threads: int) -> None:
    """Tables beyond the cache take another way through the kernel, which must not read behind the last edge."""
    random = np.random.default_rng(0)
    given: dict[str, Any] = {"row_ids": None, "weights": None, "table": random.random((60_000, 40), np.float32)}
    given["offsets"] = np.arange(0, 30_001, 3)
    given["sources"] = random.integers(0, 60_000, 30_000).astype(np.int32)
    np.testing.assert_allclose(run(given, False, None, None), expected(given, False, None), atol=1e-5)


def test_same_bits_on_any_number_of_threads(threads: int) -> None:
    given = case(97, "float32", "int64", num_rows=20_000)
    found = run(given, True, given["factors"], None)
    tg.config.num_threads = 1
    assert np.array_equal(found, run(given, True, given["factors"], None))


def test_openmp_threads_run_every_rank(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """As many threads as asked for, also more than there are cores; all are waited for."""
    if not openmp._has_start():
        pytest.skip("torch has no libgomp here")
    given = case(64, "float32", "int64", num_rows=20_000)
    own_threads = run_without_openmp(monkeypatch, lambda: run(given, True, None, None))
    for _ in range(20):
        assert np.array_equal(run(given, True, None, None), own_threads)


def test_other_threads_have_teams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(64, "float32", "int64", num_rows=20_000)
    found: list[Array] = []
    monkeypatch.setattr(openmp, "_has_start", lambda: pytest.fail("asked for OpenMP"))
    thread = threading.Thread(target=lambda: found.append(run(given, True, None, None)))
    thread.start()
    thread.join()
    monkeypatch.undo()
    assert np.array_equal(found[0], run(given, True, None, None))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_lacks() -> None:
    given = case(64, "float32", "int64", num_rows=20_000)
    here = run(given, True, None, None)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(float(run(given, True, None, None).sum())))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == float(here.sum())


def run_without_openmp(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Array]) -> Array:
    with monkeypatch.context() as patched:
        patched.setattr(openmp, "_has_start", lambda: False)
        return call()


def test_fewer_threads_than_asked_for_do_all_the_work() -> None:
    script = """
import torch, numpy as np, tgraph as tg
from tgraph.kernels.cpu.row_lookup import copy_rows
tg.config.num_threads = 4
table = np.random.randint(0, 256, (5000, 400), np.uint8)
rows = np.random.randint(0, 5000, 20_000)
found = np.zeros((rows.size, 400), np.uint8)
copy_rows(table, rows, found)
print(np.array_equal(found, table[rows]))
"""
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "True", done.stderr
