"""The memory of torch devices, as `tgraph.memory.device` asks for it.

`TorchDevice` serves every device: its copies are done when they return. `CudaDevice` copies on a stream of its own, so
that blocks travel while others are computed on.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from tgraph.runtime.protocol import Array, Runtime
from tgraph.runtime.torch.runtime import torch_dtype

_HOST_REGISTER_MAPPED = 2  # cudaHostRegisterMapped: the device may also read the memory in place
_PROBED_NUMBERS = 1024


class FinishedCopy:
    """A copy that was done when it was asked for."""

    def wait(self) -> None:
        """Return at once."""

    def wait_for_source(self) -> None:
        """Return at once."""


class TorchDevice:
    """Any device of torch, by blocking copies."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._device = torch.device(runtime.device)
        self._statistics = getattr(torch, self._device.type)  # torch.cuda, torch.xpu, ...

    def allocate(self, num_bytes: int) -> torch.Tensor:
        return torch.empty(num_bytes, dtype=torch.uint8, device=self._device)

    def section(self, buffer: torch.Tensor, first_byte: int, dtype: np.dtype[Any], count: int) -> torch.Tensor:
        return buffer[first_byte : first_byte + count * dtype.itemsize].view(torch_dtype(dtype))

    def mark(self) -> Any:
        return None

    def start_copy(self, source: Array, into: torch.Tensor, after: Any) -> Any:
        into.copy_(torch.from_numpy(source))
        return FinishedCopy()

    def pin(self, array: Array) -> Any:
        return None

    def map_host(self, array: Array) -> torch.Tensor | None:
        return None

    def synchronize(self) -> None:
        self._statistics.synchronize(self._device)

    def used_bytes(self) -> int | None:
        return self._statistic("memory_allocated")

    def peak_bytes(self) -> int | None:
        return self._statistic("max_memory_allocated")

    def reset_peak(self) -> None:
        self._statistic("reset_peak_memory_stats")

    def _statistic(self, name: str) -> Any:
        function = getattr(self._statistics, name, None)
        return None if function is None else function(self._device)


class CudaCopy:
    """A copy on a stream of its own."""

    def __init__(self, device: torch.device, done: torch.cuda.Event) -> None:
        self._device, self._done = device, done

    def wait(self) -> None:
        torch.cuda.current_stream(self._device).wait_event(self._done)

    def wait_for_source(self) -> None:
        self._done.synchronize()


class CudaDevice(TorchDevice):
    """A GPU of NVIDIA: copies from pinned memory run beside kernels, and kernels may read pinned memory themselves."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._copies = torch.cuda.Stream(self._device)
        self._can_map: bool | None = None  # None = not tried yet

    def mark(self) -> Any:
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        return event

    def start_copy(self, source: Array, into: torch.Tensor, after: Any) -> Any:
        self._copies.wait_event(after)
        with torch.cuda.stream(self._copies):
            into.copy_(torch.from_numpy(source), non_blocking=True)
        into.record_stream(self._copies)  # a run that is broken off must not give the memory away while it is written
        done = torch.cuda.Event()
        done.record(self._copies)
        return CudaCopy(self._device, done)

    def pin(self, array: Array) -> Any:
        if not array.size:
            return None
        with torch.cuda.device(self._device):
            status = torch.cuda.cudart().cudaHostRegister(array.ctypes.data, array.nbytes, _HOST_REGISTER_MAPPED)
        if int(status) == 0:
            return PinnedArray(array)
        with suppress(RuntimeError):  # CUDA reports the refusal once more, to whoever starts the next kernel
            torch.ones(1, device=self._device)
        return None

    def map_host(self, array: Array) -> torch.Tensor | None:
        if self._can_map is None:
            self._can_map = self._sees_host_writes()
        return self._view(array) if self._can_map else None

    def _sees_host_writes(self) -> bool:
        """Try it: WSL and confidential computing have pinned memory that the device does not see."""
        numbers = np.zeros(_PROBED_NUMBERS, np.int32)
        pinned = self.pin(numbers)
        view = None if pinned is None else self._view(numbers)
        if view is None:
            return False
        for number in (1, 2):
            numbers[:] = number
            if not bool((view == number).all()):
                return False
        return True

    def _view(self, array: Array) -> torch.Tensor | None:
        with torch.cuda.device(self._device):
            pointer = _device_pointer(array.ctypes.data)
        return None if pointer is None else torch.as_tensor(_HostView(array, pointer), device=self._device)


class PinnedArray:
    """An array that is fixed in memory until nobody holds this object."""

    def __init__(self, array: Array) -> None:
        weakref.finalize(self, _unpin, array)  # which keeps the array until then


def _unpin(array: Array) -> None:
    torch.cuda.cudart().cudaHostUnregister(array.ctypes.data)


class _HostView:
    """Pinned host memory as CUDA's array interface describes memory of a device."""

    def __init__(self, array: Array, pointer: int) -> None:
        self._array = array
        self.__cuda_array_interface__ = {
            "data": (pointer, False),
            "shape": array.shape,
            "typestr": array.dtype.str,
            "version": 2,
        }


def _device_pointer(host_pointer: int) -> int | None:
    """Return where the device finds pinned host memory; torch has no call for it, the driver has."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return None  # another vendor's device under the name of cuda
    pointer = ctypes.c_uint64()
    status = driver.cuMemHostGetDevicePointer_v2(ctypes.byref(pointer), ctypes.c_void_p(host_pointer), 0)
    return pointer.value if status == 0 else None


KINDS: dict[str, type[TorchDevice]] = {"cuda": CudaDevice}  # by torch's name of the device; others: TorchDevice


def create_device(runtime: Runtime) -> TorchDevice:
    """Return the memory of the runtime's device."""
    return KINDS.get(torch.device(runtime.device).type, TorchDevice)(runtime)
