"""Vertices in descending order of their degrees: the twin of `tgraph.kernels.cpu.degree_order`."""

from __future__ import annotations

from tgraph.dtypes import index_dtype
from tgraph.runtime.protocol import Runtime, Tensor


def degree_order(runtime: Runtime, offsets: Tensor) -> Tensor:
    """Return the vertices `[V]` of rows with these offsets, largest degree first; equal ones keep their order."""
    missing = offsets[:-1] - offsets[1:]
    vertices = runtime.arange(0, int(missing.shape[0]), index_dtype(int(missing.shape[0])))
    return runtime.index_select(vertices, runtime.argsort(missing))
