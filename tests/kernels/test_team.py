"""Teams of threads: sizes, parts, failures and interrupts."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from tgraph.config import config
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.team import as_unsigned, part, run_team, team_size


@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_every_rank_runs_once(size: int) -> None:
    calls: list[tuple[int, int, Any]] = []
    run_team(lambda rank, size, extra: calls.append((rank, size, extra)), size, "extra")
    assert sorted(calls) == [(rank, size, "extra") for rank in range(size)]


def test_one_rank_runs_on_the_calling_thread() -> None:
    names: list[str] = []
    run_team(lambda rank, size: names.append(threading.current_thread().name), 1)
    assert names == [threading.current_thread().name]


@pytest.mark.parametrize("size", [1, 3])
def test_a_failure_is_raised_after_all_have_ended(size: int) -> None:
    ended: list[int] = []

    def worker(rank: int, size: int) -> None:
        if rank == 0:
            raise ValueError("rank 0 failed")
        time.sleep(0.05)
        ended.append(rank)

    with pytest.raises(ValueError, match="rank 0 failed"):
        run_team(worker, size)
    assert sorted(ended) == list(range(1, size))


@pytest.mark.parametrize("delay", [0.0, 0.02])
def test_an_interrupt_waits_for_the_workers(delay: float) -> None:
    """It may come while threads are being started or while they are waited for."""
    ended: list[int] = []

    def worker(rank: int, size: int) -> None:
        time.sleep(delay)
        if rank == 0:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.05)
        ended.append(rank)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_team(worker, 3)
    assert sorted(ended) == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_team_works_on_any_thread() -> None:
    """Only the main thread may set signal handlers."""
    ranks: list[int] = []
    caller = threading.Thread(target=run_team, args=(lambda rank, size: ranks.append(rank), 3))
    caller.start()
    caller.join()
    assert sorted(ranks) == [0, 1, 2]


def test_threads_are_used_again() -> None:
    """Also after a failure, and one team within another has its own."""

    def nested(rank: int, size: int) -> None:
        run_team(lambda rank, size: threads.add(threading.get_ident()), 3)

    def failing(rank: int, size: int) -> None:
        raise ValueError(f"rank {rank} failed")

    threads: set[int] = set()
    for _ in range(5):
        run_team(nested, 2)
        with pytest.raises(ValueError, match="failed"):
            run_team(failing, 4)
    before = threading.active_count()
    for _ in range(20):
        run_team(nested, 2)
    assert threading.active_count() == before


FORK = """
import os
from tgraph.kernels.cpu.team import run_team

run_team(lambda rank, size: None, 3)
child = os.fork()
if not child:
    ranks = []
    run_team(lambda rank, size: ranks.append(rank), 3)
    os._exit(0 if sorted(ranks) == [0, 1, 2] else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_process_has_threads_of_its_own() -> None:
    """Those of the parent do not live on after a fork. In a process without libraries that warn of forks."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("total", [0, 1, 7, 100, 2**40 + 3])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_parts_cover_everything_once_and_evenly(total: int, size: int) -> None:
    parts = [part(rank, size, total) for rank in range(size)]
    assert parts[0][0] == 0
    assert parts[-1][1] == total
    assert all(left[1] == right[0] for left, right in itertools.pairwise(parts))
    lengths = [last - first for first, last in parts]
    assert max(lengths) - min(lengths) <= 1


def test_team_size_follows_work_and_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "num_threads", 4)
    assert team_size(0) == 1
    assert team_size(team.MIN_WORK_PER_THREAD) == 1
    assert team_size(2 * team.MIN_WORK_PER_THREAD) == 2
    assert team_size(10**12) == 4
    assert team_size(10**12, num_threads=9) == 9


@pytest.mark.parametrize(("dtype", "unsigned"), [("int32", "uint32"), ("int64", "uint64")])
def test_as_unsigned_shares_memory_where_it_can(dtype: str, unsigned: str) -> None:
    ids = np.array([0, 5, 2**31 - 1], dtype)
    view = as_unsigned(ids)
    assert view.dtype == np.dtype(unsigned)
    assert view.tolist() == ids.tolist()
    assert np.shares_memory(view, ids)
    assert as_unsigned(ids[::-1]).tolist() == ids[::-1].tolist()
