"""Run by every rank of a group: answers must be those that this process finds alone."""

import numpy as np

import tgraph as tg
from user_programs import WidestPath

EXACT = {
    "bfs": lambda graph: tg.bfs(graph, 0),
    "sssp": lambda graph: tg.sssp(graph, 0),
    "wcc": lambda graph: tg.wcc(graph),
    "cdlp": lambda graph: tg.cdlp(graph, max_iterations=5),
    "widest": lambda graph: tg.run(WidestPath(), graph),
}

graph = tg.generate.rmat(10, 8, seed=1, weights=(1, 9))
expected = {name: run(graph) for name, run in EXACT.items()}
ranks = tg.pagerank(graph, tol_l1=1e-12).to_numpy()
hubs = tg.hits(graph, tol_l1=0, max_iterations=9).to_numpy()
with tg.distributed(timeout_seconds=60) as group:
    part = tg.shard(graph)
    for name, run in EXACT.items():
        found = run(part).gather()
        for field, tensor in expected[name].fields.items():
            np.testing.assert_array_equal(np.asarray(found.fields[field]), np.asarray(tensor), err_msg=name)
    np.testing.assert_allclose(tg.hits(part, tol_l1=0, max_iterations=9).gather().to_numpy(), hubs, rtol=0, atol=1e-14)
    found = tg.pagerank(part, tol_l1=1e-12)
    np.testing.assert_allclose(found.gather().to_numpy(), ranks, rtol=0, atol=1e-11)
    assert group.size == 1 or all(one.moved["sent"] == one.moved["modelled"] > 0 for one in found.trace)
    if group.rank == 0:
        print("all answers are right on", group.size)
