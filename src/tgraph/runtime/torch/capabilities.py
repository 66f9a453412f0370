"""What kinds of torch devices lack, as a list: looked up, not tried, and replaced as said here.

| lacking | instead |
|---|---|
| float64 | float32, with a warning: about 7 digits |
| `segment_reduce` | each value is scattered to its segment, on the device |
| minimum and maximum of int64 by `scatter_reduce` | the same on the CPU, there and back |

A kind that is not listed has everything. `tests/conformance/test_devices.py` goes through the list on a device of each
kind that is present, and on a fake one that refuses what its list says.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Capabilities:
    """What a kind of device has."""

    has_float64: bool = True
    has_segment_reduce: bool = True
    has_int64_extremes: bool = True  # amin and amax of scatter_reduce


EVERYTHING = Capabilities()
KINDS = {
    "mps": Capabilities(has_float64=False, has_segment_reduce=False, has_int64_extremes=False),
}


def capabilities_of(device: torch.device) -> Capabilities:
    """Return what a device has. Of Intel's GPUs some have float64 and some do not; they say it themselves."""
    if device.type == "xpu" and not torch.xpu.get_device_properties(device).has_fp64:
        return Capabilities(has_float64=False)
    return KINDS.get(device.type, EVERYTHING)


def replace_dtype(dtype: torch.dtype, device: torch.device) -> torch.dtype:
    """Return the type that stands for `dtype` on a device."""
    if dtype != torch.float64 or capabilities_of(device).has_float64:
        return dtype
    warnings.warn(f"{device} has no float64: values are float32 there, with about 7 digits", stacklevel=4)
    return torch.float32
