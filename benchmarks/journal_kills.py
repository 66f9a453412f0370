"""Kill a process that applies batches to a stream with a journal, again and again, and look what is left.

A child process applies batches, each made of nothing but its number, and prints the number of each when `apply` has
returned. After some of them and a random fraction of a batch it gets SIGKILL. Then the journal is opened here:

- the stream has all batches that were printed, and at most one more;
- it is, down to vertex numbers, the stream that the same number of batches makes in memory;
- its results are those of a fresh run, and those of the verifiers.

The next child begins with the first batch that was not printed, which may be there already: its token makes it a no-op.
There are two journals in turn: in one results are kept, so that most of the time goes to them; in the other none, so
that most of it goes to the disk.

    python benchmarks/journal_kills.py --kills 200
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import tgraph as tg
from tgraph import verify
from tgraph.service import Stream

NUM_VERTICES, EDGES_PER_BATCH = 300, 40
MOST_BATCHES = 12  # that are waited for before a child is killed
SNAPSHOT_EVERY = 3
WITH_RESULTS, WITHOUT_RESULTS = "with_results", "without_results"  # folders
LATEST_KILL_SECONDS = 0.02  # after the last batch that is waited for: a batch takes about half of that


Child: TypeAlias = "subprocess.Popen[str]"


def make_batch(number: int) -> tg.Batch:
    """Return the batch of this number."""
    source = np.random.default_rng(number)
    ends = source.integers(0, NUM_VERTICES, (2, EDGES_PER_BATCH))
    gone = source.integers(0, NUM_VERTICES, (2, EDGES_PER_BATCH // 2))
    removed = source.integers(1, NUM_VERTICES, int(number % 5 == 0))
    return tg.Batch(insert=(*ends, source.random(EDGES_PER_BATCH)), delete=gone, remove_vertices=removed)


def begin() -> tg.Graph:
    """Return the graph of a stream before the first batch."""
    return tg.from_edges([0], [1], [0.5], runtime="numpy")


def apply_until_killed(folder: Path) -> None:
    """Be the child: apply batches from a number on that comes by stdin, and print the number of each."""
    keep_results(tg.stream(begin())).apply(make_batch(0))  # so that what is compiled is there
    first = int(sys.stdin.readline())
    with tg.stream.open(folder, begin(), snapshot_every=SNAPSHOT_EVERY) as stream:
        if folder.name == WITH_RESULTS:
            keep_results(stream)
        for number in range(first, first + 1_000_000):
            stream.apply(make_batch(number), token=f"batch {number}")
            print(number, flush=True)


def keep_results(stream: Stream) -> Stream:
    """Keep what is not kept yet."""
    for name in ("sssp", "bfs"):
        if name not in stream.results:
            stream.keep(name, source=0)
    return stream


def start(folder: Path) -> Child:
    """Start a child, which waits for a number before it opens the journal."""
    command = [sys.executable, __file__, "--child", str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_and_kill(child: Child, first: int, chance: random.Random) -> int:
    """Let a child apply batches and kill it; return the last number that it printed."""
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{first}\n")
        child.stdin.flush()
        lines = [child.stdout.readline() for _ in range(chance.randrange(MOST_BATCHES))]
        time.sleep(chance.uniform(0, LATEST_KILL_SECONDS))
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    if child.returncode != -signal.SIGKILL:
        raise SystemExit(f"the child ended by itself, with exit code {child.returncode}")
    numbers = [int(line) for line in lines if line.endswith("\n")]
    return numbers[-1] if numbers else first - 1


def state_of(stream: Stream) -> list[Any]:
    """Return the graph of a stream, down to vertex numbers."""
    rows = stream.graph.all_places()
    arrays = [*rows.adjacency("out").to_numpy(), *rows.adjacency("in").to_numpy(), stream.graph.removed]
    labels = stream.graph.labels
    return [stream.version, *(array.tolist() for array in arrays), None if labels is None else labels.tolist()]


def check(stream: Stream, expected: Stream, printed: int) -> None:
    """Raise unless the stream is what the batches that were printed, or one more, make of it."""
    if stream.version not in (printed, printed + 1):
        raise SystemExit(f"{printed} batches were acknowledged, and the stream has {stream.version}")
    while expected.version < stream.version:
        expected.apply(make_batch(expected.version + 1))
    if state_of(stream) != state_of(expected):
        raise SystemExit(f"the stream differs from one in memory after {stream.version} batches")
    graph = stream.graph.snapshot()
    for name, algorithm in (("sssp", tg.sssp), ("bfs", tg.bfs)):
        again = algorithm(graph, 0).to_numpy()
        if name in stream.results and not np.array_equal(stream[name].result().to_numpy(), again):
            raise SystemExit(f"{name} differs from a fresh run after {stream.version} batches")
    if "sssp" in stream.results:
        verify.check_sssp(graph, 0, stream["sssp"].result().to_numpy())


def main() -> None:
    """Kill as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help="for the processes that are killed: the folder")
    options = parser.parse_args()
    if options.child is not None:
        apply_until_killed(options.child)
        return
    kill_again_and_again(options.kills, random.Random(options.seed))


class Victim:
    """A journal whose processes are killed, and the stream that it should be."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.expected, self.printed = folder, tg.stream(begin()), 0
        self.num_unprinted = self.num_unfinished = 0
        self.waiting = start(folder)  # a child starts while others run

    def kill(self, chance: random.Random) -> None:
        """Let a child run and kill it, and look what is left."""
        child, self.waiting = self.waiting, start(self.folder)
        self.printed = run_and_kill(child, self.printed + 1, chance)
        self.num_unfinished += any(self.folder.glob("*.tmp"))
        with tg.stream.open(self.folder, begin(), snapshot_every=None) as stream:
            check(stream, self.expected, self.printed)
            self.num_unprinted += stream.version > self.printed

    def close(self) -> None:
        """End the child that waits."""
        with self.waiting:
            self.waiting.kill()


def kill_again_and_again(num_kills: int, chance: random.Random) -> None:
    """Kill children on two journals in turn, and print what was found."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        victims = [Victim(Path(name, folder)) for folder in (WITH_RESULTS, WITHOUT_RESULTS)]
        try:
            for number in range(num_kills):
                victims[number % 2].kill(chance)
        finally:
            for victim in victims:
                victim.close()
    num_printed = sum(victim.printed for victim in victims)
    print(f"{num_kills} kills, {num_printed} batches acknowledged: none lost, none applied twice, all results right")
    for victim in victims:
        print(
            f"{victim.folder.name}: {victim.printed} batches; one more was there than acknowledged "
            f"{victim.num_unprinted} times, a file was unfinished {victim.num_unfinished} times"
        )
    print(f"{time.perf_counter() - started:.0f} seconds")


if __name__ == "__main__":
    main()
