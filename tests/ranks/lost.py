"""Run by every rank of a group: the last one hangs or ends in the middle of a run; the others must say so."""

import os
import sys
import time

import tgraph as tg
from tgraph.errors import GroupError


class Lost(tg.Program):
    active = "all"

    def init(self, graph):
        return graph.full(0.0, "float64"), None

    def message(self, value):
        return value

    def update(self, value):
        return value + 1.0

    def is_done(self, iteration, residual):
        if iteration == 3 and group.rank == group.size - 1:
            if sys.argv[1] == "ends":
                os._exit(1)
            time.sleep(20)
        return iteration == 6


try:
    with tg.distributed(timeout_seconds=3) as group:
        tg.run(Lost(), tg.generate.star(9))
except GroupError as error:
    print(f"rank {os.environ['RANK']} says: {error}", flush=True)
    os._exit(3)
