"""One candidate in a process of its own, which takes orders from the benchmark over a pipe.

    python -m tgraph.bench.worker NAME THREADS DESCRIPTOR

Orders are tuples: `("load", file, weighted)` and `("run", task, parameters, wants_answer)`. Replies are
`(seconds, answer)`, or a text that says what failed.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tgraph.bench.graphs import load
from tgraph.bench.peers import Parameters, Peer, load_peer
from tgraph.config import config


class Worker:
    """A library that holds one graph."""

    def __init__(self, peer: Peer, threads: int) -> None:
        self.peer, self.view = peer, None
        importlib.import_module(peer.name)
        peer.set_threads(threads)

    def load(self, file: str, weighted: bool) -> tuple[float, None]:
        """Take a graph over; the time is that of the library, not of reading the file."""
        self.view = None
        gc.unfreeze()
        gc.collect()
        graph = load(Path(file), weighted)
        started = time.perf_counter()
        self.view = self.peer.convert(graph)
        seconds = time.perf_counter() - started
        gc.collect()
        gc.freeze()  # the graph stays, so that no collection looks at it again
        return seconds, None

    def run(self, task: str, parameters: Parameters, wants_answer: bool) -> tuple[float, Any]:
        """Do a task and return its seconds, and its answer if it is wanted."""
        algorithm = self.peer.algorithms[task]
        gc.collect()
        started = time.perf_counter()
        result = algorithm.run(self.view, parameters)
        seconds = time.perf_counter() - started
        return seconds, algorithm.answer(result, self.view, parameters) if wants_answer else None


def main(name: str, threads: int, descriptor: int) -> None:
    """Obey until the pipe is closed."""
    config.progress = "off"
    pipe = Connection(descriptor)
    worker = Worker(load_peer(name), threads)
    pipe.send("ready")
    while True:
        try:
            order, *arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(worker, order)(*arguments))
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
