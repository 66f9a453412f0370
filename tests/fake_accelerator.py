"""A torch device in pure Python that is stricter than a real one: `fake`, on PyTorch's PrivateUse1 key.

A tensor on it hides a CPU tensor. Every operator comes through one function, `_dispatch`, which

- refuses to mix tensors of the host and of the device (scalars excepted, as on CUDA);
- counts bytes moved in each direction, bytes that the device read in host memory, and waits of the host;
- refuses an allocation beyond the budget, with torch's own out-of-memory error, and notes the peak.

Registering the device is global to the process and disturbs nobody who does not name it. Use the fixture
`fake_accelerator` of `conftest.py`, which begins with counters at zero and no budget.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

DEVICE = "fake"
_SIZE_IS_READ_BACK = ("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "repeat_interleave")
_VALUE_IS_READ_BACK = ("_local_scalar_dense", "equal", "is_nonzero")
_READS_HOST_MEMORY = "tgraph::gather_far"  # the only operator that may take a tensor of the host: it reads its rows
_FACTORIES = ("empty.memory_format", "empty_strided", "arange", "arange.start", "arange.start_step")


class MixedDevicesError(RuntimeError):
    """Host and device tensors in one operator, or device memory in the hands of host code."""


@dataclass
class Counters:
    """What happened since the last reset; `live_bytes` and `budget_bytes` are never reset by it."""

    to_device_bytes: int = 0
    to_host_bytes: int = 0
    host_read_bytes: int = 0  # that the device read in host memory itself
    copies_to_device: int = 0
    syncs: int = 0  # waits of the host for the device
    peak_bytes: int = 0
    live_bytes: int = 0
    budget_bytes: float = math.inf
    refuses: Callable[[str, tuple[Any, ...]], str | None] | None = None  # of an operator and its result: why, or None

    def reset(self) -> None:
        """Begin to count anew; the peak begins at what is allocated now."""
        for field in fields(self):
            if field.name not in ("live_bytes", "budget_bytes", "refuses"):
                setattr(self, field.name, 0)
        self.peak_bytes = self.live_bytes


counters = Counters()


class _Allocation:
    """Memory of the device, shared by a tensor and its views."""

    def __init__(self, num_bytes: int) -> None:
        if counters.live_bytes + num_bytes > counters.budget_bytes:
            raise torch.OutOfMemoryError(
                f"{DEVICE} out of memory: {num_bytes} bytes beside {counters.live_bytes} are more than the budget of "
                f"{counters.budget_bytes}"
            )
        counters.live_bytes += num_bytes
        counters.peak_bytes = max(counters.peak_bytes, counters.live_bytes)
        self.num_bytes, self.is_host_memory = num_bytes, False
        weakref.finalize(self, _free, num_bytes)


class _HostMemory:
    """Memory of the host that the device reads in place; it costs the device nothing."""

    num_bytes, is_host_memory = 0, True


def _free(num_bytes: int) -> None:
    counters.live_bytes -= num_bytes


class DeviceTensor(torch.Tensor):
    """A tensor on the device. Its class says that it is torch's, as those of real devices do."""

    __module__ = "torch"
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    _inner: torch.Tensor
    _allocation: _Allocation | _HostMemory

    @staticmethod
    def __new__(cls, inner: torch.Tensor, allocation: _Allocation | _HostMemory | None = None) -> DeviceTensor:
        if allocation is None:
            allocation = _Allocation(inner.untyped_storage().nbytes())
        tensor = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(DEVICE, 0),
        )
        tensor._inner, tensor._allocation = inner, allocation
        return tensor

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatch(operator, *args, **(kwargs or {}))

    def untyped_storage(self) -> Any:  # whoever counts the users of the memory sees its views too
        return self._inner.untyped_storage()

    def data_ptr(self) -> int:
        raise MixedDevicesError("host code asked for a pointer to memory of the device")

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        raise MixedDevicesError("host code asked for memory of the device by DLPack")

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"DeviceTensor({tuple(self.shape)}, {self.dtype}, {self.device})"  # no hidden copy


def view_of_host(tensor: torch.Tensor) -> DeviceTensor:
    """Return host memory as the device sees it in place; what operators read of it is counted."""
    return DeviceTensor(tensor, _HostMemory())


# --- every operator ------------------------------------------------------------------------------------------------
def _dispatch(operator: Any, *args: Any, **kwargs: Any) -> Any:
    name = operator._schema.name.removeprefix("aten::")
    if name == "copy_":
        return _copy(*args[:2])
    if name == "_to_copy" and kwargs.get("device") is not None and kwargs["device"].type == "cpu":
        return _copy_to_host(args[0], kwargs)
    flat = list(_flatten((*args, *kwargs.values())))
    given = [value for value in flat if isinstance(value, DeviceTensor)]
    if name == _READS_HOST_MEMORY:
        counters.host_read_bytes += args[1].numel() * args[0][:1].nbytes
    else:
        _refuse_host_tensors(name, flat)
    _count_syncs(name, flat, kwargs)
    _count_host_reads(name, args, given)
    returned = operator(
        *(_map(_unwrap, value) for value in args), **{key: _map(_unwrap, value) for key, value in kwargs.items()}
    )
    _refuse_unsupported(name, args, returned)
    return _map(lambda value: _wrap(value, given), returned)


def _refuse_unsupported(name: str, args: tuple[Any, ...], returned: Any) -> None:
    """Raise as a device does that lacks an operator or a type, if the test says that this one does."""
    reason = counters.refuses(name, (*args, returned)) if counters.refuses is not None else None
    if reason is not None:
        raise NotImplementedError(f"{name} is not implemented on {DEVICE}: {reason}")


def _flatten(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flatten(value)
        else:
            yield value


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_map(function, one) for one in value)
    return function(value)


def _copy(target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    if not isinstance(target, DeviceTensor):
        counters.to_host_bytes += target.nbytes
        counters.syncs += 1
        return target.copy_(_unwrap(source))
    if not isinstance(source, DeviceTensor):
        counters.to_device_bytes += source.nbytes
        counters.copies_to_device += 1
    target._inner.copy_(_unwrap(source))
    _refuse_unsupported("copy_", (), target)
    return target


def _copy_to_host(source: DeviceTensor, kwargs: dict[str, Any]) -> torch.Tensor:
    counters.to_host_bytes += source.nbytes
    counters.syncs += 1
    return source._inner.to(dtype=kwargs.get("dtype"), copy=True)


def _refuse_host_tensors(name: str, flat: list[Any]) -> None:
    for value in flat:
        if isinstance(value, torch.Tensor) and not isinstance(value, DeviceTensor) and value.ndim > 0:
            raise MixedDevicesError(f"{name}: a host tensor {tuple(value.shape)} among tensors on {DEVICE}")


def _count_syncs(name: str, flat: list[Any], kwargs: dict[str, Any]) -> None:
    reads_size = name in _SIZE_IS_READ_BACK and kwargs.get("output_size") is None
    by_mask = name in ("index", "index_put_") and any(
        isinstance(value, torch.Tensor) and value.dtype == torch.bool for value in flat[1:]
    )
    counters.syncs += reads_size or by_mask or name in _VALUE_IS_READ_BACK


def _count_host_reads(name: str, args: tuple[Any, ...], given: list[DeviceTensor]) -> None:
    """Count what is read in host memory: the selected elements, or all of a tensor; slices read nothing."""
    if name in ("slice", "view", "detach", "alias", "as_strided"):
        return
    for tensor in given:
        if tensor._allocation.is_host_memory:
            selected = args[2].numel() if name == "index_select" and tensor is args[0] else tensor.numel()
            counters.host_read_bytes += selected * tensor.element_size()


def _unwrap(value: Any) -> Any:
    if isinstance(value, DeviceTensor):
        return value._inner
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == DEVICE else value


def _wrap(value: Any, given: list[DeviceTensor]) -> Any:
    """Return a result as a tensor of the device: one that was given, a view of it, or a new one."""
    if not isinstance(value, torch.Tensor):
        return value
    for tensor in given:
        if value is tensor._inner:
            return tensor
    storage = value.untyped_storage()._cdata
    shared = [tensor for tensor in given if tensor._inner.untyped_storage()._cdata == storage]
    return DeviceTensor(value, shared[0]._allocation if shared else None)


# --- the device ----------------------------------------------------------------------------------------------------
class _DeviceModule:
    """`torch.fake`: what torch asks of a device, and the statistics that `torch.cuda` has too."""

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Do nothing: the device draws no random numbers."""

    @staticmethod
    def synchronize(device: Any = None) -> None:
        counters.syncs += 1

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        return counters.live_bytes

    @staticmethod
    def max_memory_allocated(device: Any = None) -> int:
        return counters.peak_bytes

    @staticmethod
    def reset_peak_memory_stats(device: Any = None) -> None:
        counters.peak_bytes = counters.live_bytes


def _factory(operator: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: _dispatch(operator, *args, **kwargs)


def _register() -> torch.library.Library:
    _setup_privateuseone_for_python_backend(DEVICE, _DeviceModule())
    library = torch.library.Library("aten", "IMPL")
    for name in _FACTORIES:
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
        library.impl(name, _factory(operator), "PrivateUse1")
    library.impl("_copy_from", lambda source, target, non_blocking=False: _copy(target, source), "PrivateUse1")
    return library


_library = _register()  # operators stay registered while it lives
