"""The runs on which a GPU's launch sizes are tuned: one for each kind of kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tgraph import algorithms
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph, generate
from tgraph.kernels.registry import kernels_on

if TYPE_CHECKING:
    from tgraph.kernels.gpu.tuning import Tuning

ITERATIONS = 10
FEATURES = 64


def tune_device(device: str, scale: int, rounds: int) -> Tuning:
    """Tune a device on an R-MAT graph of 2^scale vertices, keep what was found for later processes, and return it."""
    if kernels_on(device) != "gpu":
        raise InvalidArgumentError(f"device={device!r} has no Triton kernels to tune; use cuda or xpu")
    from tgraph.kernels.gpu.launch import device_key
    from tgraph.kernels.gpu.tuning import keep_sizes, tune

    graph = generate.rmat(scale, 16, seed=1, weights=(1, 256), runtime="torch").simplify().to("torch", device)
    place = graph.out_offsets.device
    tuning = tune(place, workloads(graph), rounds)
    keep_sizes(device_key(place), tuning.sizes)
    return tuning


def workloads(graph: Graph) -> dict[str, Callable[[], object]]:
    """Return the runs by kind of kernel: PageRank pulls, shortest paths push, and a layer of a network adds rows."""
    from tgraph.nn import Block, pull

    block = Block.of_graph(graph)
    embeddings = graph.runtime.full(graph.num_vertices * FEATURES, 0.5, "float32").reshape(-1, FEATURES)
    source = int(graph.runtime.to_numpy(graph.out_degrees()).argmax())
    return {
        "pull": lambda: algorithms.pagerank(graph, tol_l1=0.0, max_iterations=ITERATIONS, kernel="fused"),
        "push": lambda: algorithms.sssp(graph, source, direction="push", kernel="fused", parents=False),
        "rows": lambda: pull(block, embeddings),
    }
