"""The edges of a graph in host memory, as a device gets at them; and how fast the way between the two is."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.memory.device import Device
from tgraph.memory.far_file import ALIGNMENT, make_buffer
from tgraph.memory.link import Link
from tgraph.runtime import Array, Tensor

LARGE_COPY_BYTES = 32 << 20  # at most, to measure the bandwidth
SMALL_COPY_BYTES = 64
LINE_BYTES = 128  # what a device reads of host memory at a time (EMOGI, HyTGraph)
REPEATED = 5


@dataclass(frozen=True)
class HostRows:
    """One direction of a graph in host memory."""

    offsets: Array  # [V+1]
    columns: tuple[Array, ...]  # neighbours [E], and weights [E] where the graph has them
    mapped: tuple[Tensor, ...] | None  # the same as the device reads them in place; None = it cannot
    pins: tuple[Any, ...]  # keep the columns where they are


@dataclass(frozen=True)
class DeviceLink(Link):
    """What moving from host memory to a device costs; a page fault stands for `ALIGNMENT` bytes read in place.

    Rows of all blocks are gathered and moved together, so that no block has a plan of its own.
    """

    gather_bytes_per_second: float = math.inf  # of the host, where rows are put one behind the other


class HostEdges:
    """A graph in host memory beside a device. With `pins`, its edges are fixed in memory when they are first used."""

    def __init__(self, host: Graph, device: Device, pins: bool) -> None:
        self.host, self.device, self.pins = host, device, pins
        self._rows: dict[str, HostRows] = {}
        self._link: DeviceLink | None = None

    def rows(self, side: str) -> HostRows:
        """Return one direction; the two of an undirected graph are one."""
        side = side if self.host.directed else "out"
        if side not in self._rows:
            offsets, neighbors, weights = self.host.adjacency(side).to_numpy()
            columns = (neighbors,) if weights is None else (neighbors, weights)
            pins = tuple(self.device.pin(column) if self.pins else None for column in columns)
            pinned = zip(columns, pins, strict=True)
            mapped = tuple(None if pin is None else self.device.map_host(column) for column, pin in pinned)
            can_read = all(tensor is not None for tensor in mapped)
            self._rows[side] = HostRows(offsets, columns, mapped if can_read else None, pins)
        return self._rows[side]

    def link(self, near_bytes: int) -> DeviceLink:
        """Return what moving costs, measured when it is first asked for with at most so many bytes of the device."""
        if self._link is None:
            self._link = measure_link(self.device, min(LARGE_COPY_BYTES, near_bytes))
        return self._link


def measure_link(device: Device, num_bytes: int) -> DeviceLink:
    """Measure copies of `num_bytes` and of a few bytes, gathering on the host, and reading in place."""
    num_lines = max(num_bytes // (2 * LINE_BYTES), 1)
    num_bytes = num_lines * LINE_BYTES
    source = make_buffer(num_bytes)
    pin = device.pin(source)
    source[:] = 0  # the memory itself costs time when it is first used
    lines = np.random.default_rng(1).permutation(num_lines)
    large, small = (_seconds_of_copy(device, source[:count]) for count in (num_bytes, SMALL_COPY_BYTES))
    gathering = _median_seconds(lambda: np.take(source.reshape(-1, LINE_BYTES), lines, axis=0))
    in_place = _seconds_in_place(device, source, lines) if pin is not None else math.inf
    return DeviceLink(num_bytes / large, small, in_place * ALIGNMENT / num_bytes, 0.0, num_bytes / gathering)


def _seconds_of_copy(device: Device, source: Array) -> float:
    near = device.allocate(source.size)

    def copy() -> None:
        device.start_copy(source, near, device.mark()).wait()
        device.synchronize()

    return _median_seconds(copy)


def _seconds_in_place(device: Device, source: Array, lines: Array) -> float:
    """Return how long the device takes to read all lines of pinned memory at random; inf where it cannot."""
    mapped = device.map_host(source.view(np.int64))
    if mapped is None:
        return math.inf
    numbers_per_line = LINE_BYTES // 8
    positions = (lines[:, None] * numbers_per_line + np.arange(numbers_per_line)).reshape(-1)
    runtime = device.runtime
    near_positions = runtime.asarray(positions)

    def read() -> None:
        runtime.index_select(mapped, near_positions)
        device.synchronize()

    return _median_seconds(read)


def _median_seconds(function: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(REPEATED):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return max(statistics.median(seconds), 1e-9)
