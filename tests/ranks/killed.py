"""Run by every rank of a group with a checkpoint: one is killed in the first attempt, the second goes on from there."""

import os
import signal
import sys

import numpy as np

import tgraph as tg
from tgraph.algorithms.pagerank import PageRank
from tgraph.memory import checkpoint

checkpoint.SECONDS_BETWEEN = 0.0
first_attempt = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"


class KilledPageRank(PageRank):
    def is_done(self, iteration, residual):
        if group.size > 1 and first_attempt and iteration == 5 and group.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return iteration == 12


graph = tg.generate.rmat(9, 8, seed=1)
with tg.distributed(timeout_seconds=20) as group:
    found = tg.run(KilledPageRank(0.85, 0.0), graph, checkpoint=sys.argv[1])
    ranks = found.gather().to_numpy()
expected = tg.pagerank(graph, tol_l1=0.0, max_iterations=12).to_numpy()
np.testing.assert_allclose(ranks, expected, rtol=1e-12)
if group.rank == 0:
    print("attempt", os.environ["TORCHELASTIC_RESTART_COUNT"], "ended with", found.iterations, "iterations")
