"""VoteRank."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import LeaveToNetworkX
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.ordered.voterank import elect


@networkx_function(effort="heavy")
def voterank(G: Any, number_of_nodes: Any = None) -> list[Any]:
    if number_of_nodes is not None and not isinstance(number_of_nodes, int):
        raise LeaveToNetworkX
    if not G.num_arcs:
        return []
    limit = len(G) if number_of_nodes is None else max(0, min(number_of_nodes, len(G)))
    sources, targets = G.sources[G.once], G.out_rows[1][G.once]
    votes = sources, targets
    if not G.directed:
        votes = np.stack([sources, targets], 1).ravel(), np.stack([targets, sources], 1).ravel()
    degrees = G.out_degrees() if G.directed else G.degrees()
    return G.nodes_of(elect(votes, G.out_rows, limit, 1 / (int(degrees.sum()) / len(G))))
