"""Drawing neighbours as an operator; its twin is the CPU kernel, which draws the same edges."""

from __future__ import annotations

import numpy as np
import torch

from tgraph.kernels.cpu.neighbor_sampling import sample_rows
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.kernels.gpu.neighbor_sampling import draw_edges
from tgraph.kernels.gpu.operators import define


def _draw_on_cpu(
    places: list[torch.Tensor],
    neighbors: torch.Tensor,
    sums: torch.Tensor | None,
    fanout: int,
    replace: bool,
    key: int,
    total: int,
    largest_degree: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    vertices, firsts, degrees, offsets = (one.numpy() for one in places)
    edges, found = torch.empty(total, dtype=torch.int64), torch.empty(total, dtype=neighbors.dtype)
    sample_rows(
        as_unsigned(neighbors.numpy()),
        (None if sums is None else sums.numpy(), None),
        (as_unsigned(firsts), degrees, offsets),
        (vertices, None),
        fanout,
        replace,
        np.int64(key).view(np.uint64),
        (edges.numpy(), as_unsigned(found.numpy()), None),
    )
    return edges, found


define(
    "draw_edges(Tensor[] places, Tensor neighbors, Tensor? sums, int fanout, bool replace, int key, int total, "
    "int largest_degree) -> (Tensor, Tensor)",
    draw_edges,
    _draw_on_cpu,
    lambda places, neighbors, sums, fanout, replace, key, total, largest_degree: (
        places[0].new_empty(total),
        neighbors.new_empty(total),
    ),
)
