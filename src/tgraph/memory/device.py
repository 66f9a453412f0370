"""Near memory that is a device's own: all that depends on the kind of device, in one small interface.

Far memory is then the host's. The implementations are in `tgraph.runtime.torch.device`: one for every device that torch
has, whose copies are done when they return, and one for CUDA, with streams, pinned memory and host memory that the
device reads in place.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.runtime import Array, Runtime, Tensor


class Copy(Protocol):
    """A copy from the host to a device, under way."""

    def wait(self) -> None:
        """Let everything that is asked of the device from now on see what was copied; the host need not wait."""

    def wait_for_source(self) -> None:
        """Return when the host's memory has been read and may be written again."""


class Device(Protocol):
    """The memory of one device, and the ways into it."""

    runtime: Runtime  # of tensors there

    def allocate(self, num_bytes: int) -> Tensor:
        """Return new memory of the device, `[num_bytes] uint8`."""

    def section(self, buffer: Tensor, first_byte: int, dtype: np.dtype[Any], count: int) -> Tensor:
        """Return a part of allocated memory as a tensor `[count]`; it begins at a multiple of the element size."""

    def mark(self) -> Any:
        """Return a mark behind all that the device was asked to compute so far."""

    def start_copy(self, source: Array, into: Tensor, after: Any) -> Copy:
        """Begin to copy a writable array to a tensor of its type and size, once the device has passed a mark."""

    def pin(self, array: Array) -> Any:
        """Fix an array in the host's memory, so that copies run beside computing, while what is returned lives.

        Nothing is copied and nothing rounded up. Returns None where the device or the system cannot.
        """

    def map_host(self, array: Array) -> Tensor | None:
        """Return a pinned array as a tensor that the device reads in place, None where it cannot."""

    def synchronize(self) -> None:
        """Return when the device has done all that it was asked to."""

    def used_bytes(self) -> int | None:
        """Return the bytes of all tensors of this process on the device, None where nobody counts them."""

    def peak_bytes(self) -> int | None:
        """Return the most that there were since `reset_peak`, None where nobody counts them."""

    def reset_peak(self) -> None:
        """Begin to look for the peak anew."""


def find_device(runtime: Runtime) -> Device:
    """Return the memory of the device that a runtime computes on; it is not the host's."""
    if runtime.device == "cpu":
        raise InvalidArgumentError(
            "device='cpu' computes in the host's memory; for edges in a file leave device= out of tgraph.open"
        )
    module: Any = importlib.import_module(f"tgraph.runtime.{runtime.name}.device")
    device: Device = module.create_device(runtime)
    return device
