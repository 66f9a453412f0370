"""A graph whose edges stay in host memory while a device computes: `tgraph.offload`, `tgraph.open(..., device=...)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from tgraph import runtime as runtimes
from tgraph.budget import format_bytes, parse_bytes
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Adjacency, Graph
from tgraph.memory.device import find_device
from tgraph.memory.host_edges import HostEdges
from tgraph.runtime import Tensor


class OffloadedGraph(Graph):
    """A graph in host memory, with a budget of a device's memory for each run on it.

    `runtime` is that of the device, and so are vertex data and results; `out_targets`, `weights` and the like are in
    host memory. A run moves the edges itself, block by block, and stays within the budget.
    """

    __slots__ = ("baseline_bytes", "host_edges", "memory")

    host_edges: HostEdges
    memory: int  # bytes of the device
    baseline_bytes: int  # that the process had on the device before

    def __init__(self, host_edges: HostEdges, memory: int) -> None:
        host = host_edges.host
        super().__init__(
            host.adjacency("out"),
            directed=host.directed,
            num_edges=host.num_edges,
            labels=host._labels,
            is_sorted=host.is_sorted,
            weight_range=host._weight_range,
        )
        put = object.__setattr__
        put(self, "host_edges", host_edges)
        put(self, "memory", memory)
        put(self, "runtime", host_edges.device.runtime)
        put(self, "baseline_bytes", host_edges.device.used_bytes() or 0)

    @property
    def host(self) -> Graph:
        """The graph in host memory."""
        return self.host_edges.host

    @property
    def is_far(self) -> bool:
        """Whether the edges stay away from where the compute is: they do."""
        return True

    @property
    def has_in_edges(self) -> bool:
        """Whether the rows of incoming edges are at hand."""
        return self.host.has_in_edges

    def adjacency(self, direction: str) -> Adjacency:
        """Return the rows of outgoing (`"out"`) or incoming (`"in"`) edges, in host memory."""
        return self.host.adjacency(direction)

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every vertex, `[V] int64`, on the device."""
        return self.runtime.asarray(self.host.out_degrees())

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`, on the device."""
        return self.runtime.asarray(self.host.in_degrees())

    def to(self, runtime: str | None = None, device: str | None = None) -> Graph:
        """Return the graph with all its tensors on another runtime or device; on this device, the graph itself."""
        target = runtimes.get(runtime, device)
        return self if target is self.runtime else self.host.to(target.name, target.device)

    def reverse(self) -> Graph:
        """Return the graph with every edge turned around."""
        return self._beside(self.host.reverse())

    def symmetrize(self) -> Graph:
        """Return the graph if it is undirected; another one is made from `host`."""
        return self._refuse("symmetrize") if self.directed else self

    def simplify(self, duplicates: str = "first") -> Graph:
        """Raise: the simple graph is made from `host`."""
        return self._refuse("simplify")

    def subgraph(self, vertices: Iterable[Any]) -> Graph:
        """Raise: a subgraph is made from `host`."""
        return self._refuse("subgraph")

    def _refuse(self, operation: str) -> NoReturn:
        raise InvalidArgumentError(
            f"{operation} makes a graph in memory, and the edges of this one are not where its vertex data is; call it "
            "on graph.host, or on what tgraph.read gives, before tgraph.offload"
        )

    def describe(self) -> str:
        """Return size, kind and place in one line."""
        return f"{super().describe()}, edges in host memory, {format_bytes(self.memory)} near"

    def __reduce__(self) -> tuple[Any, ...]:
        return offload, (self.host, self.memory, self.runtime.device)

    def _with(self, out: Adjacency, **changes: Any) -> Graph:
        """Return a graph that differs from this one only in what is given."""
        return self._beside(self.host._with(out, **changes))

    def _beside(self, host: Graph) -> Graph:
        """Return another graph in host memory beside the same device."""
        if host is self.host:
            return self
        return OffloadedGraph(HostEdges(host, self.host_edges.device, self.host_edges.pins), self.memory)


def offload(graph: Graph, memory: int | str, device: str) -> OffloadedGraph:
    """Leave the edges of a graph in host memory and run on a device, within `memory` bytes of it.

    Args:
        graph: A graph in memory. Where the device allows it, its tensors are pinned: they stay where they are, and
            copies run beside computing.
        memory: The budget of a run for vertex data and edges on the device: bytes, or a text such as `"2GiB"`. What
            else the process puts there after this call, earlier results for instance, counts too.
        device: In torch's notation: `cuda`, `cuda:1`, `xpu`.

    ```python
    graph = tg.offload(tg.read("web.csv"), "2GiB", "cuda")
    tg.pagerank(graph).top(10)
    ```

    >>> import tgraph as tg
    >>> offload(tg.generate.grid(3, 3), "1MiB", "cpu")
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidArgumentError: device='cpu' computes in the host's memory; for edges in a file leave device= \
out of tgraph.open
    """
    return leave_in_host_memory(graph, memory, device, pins=True)


def leave_in_host_memory(graph: Graph, memory: int | str, device: str, pins: bool) -> OffloadedGraph:
    """Offload a graph; with `pins`, its edges are fixed in memory when they are first used."""
    if graph.is_far and graph.runtime.device == "cpu":
        raise InvalidArgumentError(
            "this graph was opened with a budget of RAM; use tgraph.open(path, memory, device=...), or tgraph.read"
        )
    near = find_device(runtimes.get("torch", device))
    return OffloadedGraph(HostEdges(graph.to("torch", "cpu"), near, pins), parse_bytes("memory", memory))
