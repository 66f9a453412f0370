"""`tgraph.group` on `torch.distributed`: gloo between the CPUs of any machines.

Arrays travel as bytes, so that every element type does. A rank that dies, or is silent for longer than the timeout, is
an error of all others: each of them leaves a word in the launcher's store, and who has left none is named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from tgraph.errors import GroupError
from tgraph.group import Alone, Group
from tgraph.runtime.protocol import Array

SECONDS_TO_REPORT = 2.0  # for the others to notice it too


@contextmanager
def open_group(timeout_seconds: float) -> Iterator[Group]:
    """Join the group that the launcher's environment variables describe; one process without them is alone."""
    timeout = timedelta(seconds=timeout_seconds)
    if dist.is_initialized():
        yield TorchGroup(dist.new_group(backend="gloo", timeout=timeout), timeout_seconds)
        return
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield Alone()
        return
    try:
        store, rank, size = next(rendezvous("env://", timeout=timeout))
        dist.init_process_group("gloo", store=_of_this_attempt(store), rank=rank, world_size=size, timeout=timeout)
    except (RuntimeError, ValueError) as error:
        raise GroupError(f"the group could not be joined within {timeout_seconds:g} seconds: {error}") from error
    group = TorchGroup(None, timeout_seconds)  # the default one; a reference to it would outlive its end
    try:
        yield group
        group.share(np.zeros(1))  # nobody leaves while others still read what it sent
    finally:
        dist.destroy_process_group()


def _of_this_attempt(store: Any) -> Any:
    """Return the launcher's store without what an attempt before has left there: addresses where nobody listens."""
    return dist.PrefixStore(f"tgraph attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


class TorchGroup:
    """A process group of torch."""

    def __init__(self, group: Any, timeout_seconds: float) -> None:
        self._group, self._timeout_seconds = group, timeout_seconds
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.sent_bytes = 0

    def exchange(self, values: Array, counts: Array, new_counts: Array) -> Array:
        new = np.empty(int(new_counts.sum()), values.dtype)
        item = values.dtype.itemsize
        self.sent_bytes += (int(counts.sum()) - int(counts[self.rank])) * item
        sizes = [(counts * item).tolist(), (new_counts * item).tolist()]
        with self._naming_lost_ranks():
            dist.all_to_all_single(_as_bytes(new), _as_bytes(values), sizes[1], sizes[0], group=self._group)
        return new

    def share(self, values: Array) -> Array:
        shared = np.empty((self.size, values.size), values.dtype)
        self.sent_bytes += values.nbytes * (self.size - 1)
        if values.size:
            with self._naming_lost_ranks():
                dist.all_gather([_as_bytes(row) for row in shared], _as_bytes(values), group=self._group)
        return shared

    def join(self, values: Array, counts: Array) -> Array:
        ends = np.cumsum(counts)
        joined = np.empty(int(ends[-1]), values.dtype)
        parts = [joined[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
        parts[self.rank][:] = values
        self.sent_bytes += values.nbytes * (self.size - 1)
        with self._naming_lost_ranks():
            for rank, part in enumerate(parts):
                if part.size:
                    dist.broadcast(_as_bytes(part), rank, group=self._group)
        return joined

    @contextmanager
    def _naming_lost_ranks(self) -> Iterator[None]:
        """Turn the error of a collective into one that says who did not take part."""
        try:
            yield
        except RuntimeError as error:
            lost = self._find_lost()
            named = f"rank {', '.join(map(str, lost))}" if lost else "a rank"
            raise GroupError(
                f"rank {self.rank} waited in vain for {named} of {self.size} (it ended, or was silent for "
                f"{self._timeout_seconds:g} seconds); start the group again, with a checkpoint it goes on from there"
            ) from error

    def _find_lost(self) -> list[int]:
        """Return the ranks that have not noticed that something went wrong, a moment after this one has."""
        store = dist.distributed_c10d._get_default_store()
        try:
            store.set(f"tgraph lost one: {self.rank}", "")
            time.sleep(SECONDS_TO_REPORT)
            return [rank for rank in range(self.size) if not store.check([f"tgraph lost one: {rank}"])]
        except RuntimeError:
            return [0]  # which holds the store, unless the launcher does


def _as_bytes(array: Array) -> torch.Tensor:
    """Return the memory of an array; a copy where it is not contiguous or must not be written, as mapped files."""
    flags = array.flags
    return torch.from_numpy((array if flags.c_contiguous and flags.writeable else array.copy()).view(np.uint8))
