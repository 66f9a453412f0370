"""Kill ranks of groups that note how far they are, at random moments, and look what comes out.

A group of random size is launched with `torchrun --max-restarts` and a checkpoint after every iteration. At a random
moment one of its ranks gets SIGKILL, or SIGSTOP, which makes it hang; torchrun starts all ranks again, and these go on
from the checkpoint. In every third run there are no restarts: the group ends with an error. Whatever happens, a group
has to end within its time, with the answer of one process or with an error that names a rank; after an error it is
launched anew on another number of ranks, which must go on from what it left. A rank that had ended before the signal
does not count. Time in which this process itself is stopped, and with it perhaps the machine, does not count either.

    python benchmarks/group_kills.py --kills 50
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tgraph as tg
from tgraph.memory import checkpoint

ITERATIONS = 40
SECONDS_PER_ITERATION = 0.05  # so that kills find a run that is under way
SECONDS_OF_SILENCE = 6.0  # after which a rank counts as hung
SECONDS_TO_START, SECONDS_TO_LOOK = 300.0, 0.02
SECONDS_TO_END = 400.0  # of a group, restarts included
MOST_RANKS = 3


class SlowPageRank(tg.Program):
    """The power iteration with a pause in every iteration."""

    reduce, active, by_parts = "sum", "all", True

    def init(self, graph: tg.Graph) -> object:
        degrees = graph.runtime.astype(graph.out_degrees(), "float64")
        return {"ranks": graph.full(1.0 / graph.num_vertices, "float64"), "degrees": degrees}, None

    def message(self, ranks: float, degrees: float) -> float:
        return ranks / tg.maximum(degrees, 1.0)

    def update(self, ranks: float, incoming: float) -> float:
        return 0.85 * incoming + 0.1 * ranks

    def is_done(self, iteration: int, residual: float) -> bool:
        time.sleep(SECONDS_PER_ITERATION if tg.group.current() else 0)
        return iteration >= ITERATIONS


def make_graph() -> tg.Graph:
    """Return the graph of all runs."""
    return tg.generate.rmat(10, 8, seed=1, runtime="numpy")


def work(folder: Path) -> None:
    """Be a rank: say who this is, and run."""
    checkpoint.SECONDS_BETWEEN = 0.0
    rank, attempt = os.environ["RANK"], os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    with tg.distributed(timeout_seconds=SECONDS_OF_SILENCE) as group:
        (folder / f"rank-{rank}").write_text(str(os.getpid()))
        result = tg.run(SlowPageRank(), make_graph(), checkpoint=folder / "notes")
        ranks = result.gather().to_numpy()
        if group.rank == 0:
            np.save(folder / "ranks.npy", ranks)
            print(f"attempt {attempt}: {result.iterations} iterations")


def launch(folder: Path, size: int, restarts: int) -> subprocess.Popen[str]:
    """Start a group."""
    for file in folder.glob("rank-*"):
        file.unlink()
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
    command = [*torchrun, "--max-restarts", str(restarts), __file__, "--work", str(folder)]
    environment = {**os.environ, "TGRAPH_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, env=environment, text=True, start_new_session=True, **pipes)


def hurt(folder: Path, size: int, how: signal.Signals, chance: random.Random) -> bool:
    """Wait until all ranks run, and for a random time, and send one of them a signal; False if it has ended before."""
    for _ in range(int(SECONDS_TO_START / SECONDS_TO_LOOK)):
        if len(list(folder.glob("rank-*"))) == size:
            break
        time.sleep(SECONDS_TO_LOOK)
    else:
        raise SystemExit(f"the ranks did not start within {SECONDS_TO_START:g} seconds")
    time.sleep(chance.uniform(0, ITERATIONS * SECONDS_PER_ITERATION))
    victim = int((folder / f"rank-{chance.randrange(size)}").read_text())
    try:
        os.kill(victim, how)
    except ProcessLookupError:
        return False
    return True


def wait_for(group: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a group to end; one that takes too long is ended, which is a failure of the test."""
    for _ in range(int(SECONDS_TO_END)):
        try:
            output, _ = group.communicate(timeout=1.0)
        except subprocess.TimeoutExpired:
            continue  # however long this process was stopped meanwhile, it was one second for it
        return group.returncode, output
    os.killpg(group.pid, signal.SIGKILL)
    output, _ = group.communicate()
    raise SystemExit(f"a group hung for {SECONDS_TO_END:g} seconds:\n{output}")


def check_answer(folder: Path, expected: np.ndarray, output: str) -> None:
    """Raise unless the answer that was written is that of one process."""
    found = np.load(folder / "ranks.npy")
    if np.abs(found - expected).max() > 1e-15:
        raise SystemExit(f"a wrong answer after a kill:\n{output}")
    if list((folder / "notes").iterdir()):
        raise SystemExit("a run that has ended left its checkpoint")


def run_once(number: int, expected: np.ndarray, chance: random.Random) -> str | None:
    """Launch a group, hurt it, and return what happened; None if it had ended before."""
    size, restarts = chance.randrange(2, MOST_RANKS + 1), 0 if number % 3 == 2 else 2
    how = signal.SIGSTOP if chance.random() < 0.2 else signal.SIGKILL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        group = launch(folder, size, restarts)
        was_hit = hurt(folder, size, how, chance)
        code, output = wait_for(group)
        if code == 0:
            check_answer(folder, expected, output)
            return "right after a restart" if was_hit and "attempt 0" not in output else None
        if not re.search(r"rank \d|rank\s+: \d", output):
            raise SystemExit(f"a group ended with an error that names no rank:\n{output}")
        other = chance.choice([one for one in range(1, MOST_RANKS + 1) if one != size])
        code, output = wait_for(launch(folder, other, 0))
        if code:
            raise SystemExit(f"{other} ranks did not go on from the checkpoint of {size}:\n{output}")
        check_answer(folder, expected, output)
        return "an error, then right on another number of ranks"


def main() -> None:
    """Hurt as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work)
        return
    chance, started = random.Random(options.seed), time.perf_counter()
    expected = tg.run(SlowPageRank(), make_graph()).to_numpy()
    outcomes: dict[str, int] = {}
    while sum(outcomes.values()) < options.kills:
        outcome = run_once(sum(outcomes.values()), expected, chance)
        if outcome is not None:
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            print(f"{sum(outcomes.values())} after {time.perf_counter() - started:.0f} seconds: {outcome}", flush=True)
    print(f"{options.kills} groups were hurt, none hung, no answer was wrong: {outcomes}")


if __name__ == "__main__":
    main()
