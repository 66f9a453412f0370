"""Which kernels serve which device: the one place that knows names of devices.

`cpu` are the Numba kernels, `gpu` the Triton kernels; other devices have none and use the plain path.
"""

from __future__ import annotations

import importlib.util
from functools import cache

from tgraph.runtime.protocol import Runtime

KERNELS = {"cpu": "cpu", "cuda": "gpu", "xpu": "gpu"}  # by torch's name of a device; ROCm's is cuda too


def kernels_for(runtime: Runtime) -> str | None:
    """Return the folder of the kernels for tensors of a runtime, `cpu` or `gpu`; None: there are none.

    >>> from tgraph import runtime
    >>> kernels_for(runtime.get("numpy"))
    'cpu'
    """
    if runtime.name != "torch" and runtime.device != "cpu":
        return None
    return kernels_on(runtime.device)


def kernels_on(device: str) -> str | None:
    """Return the same for tensors of torch on a device, in torch's notation.

    >>> kernels_on("mps:0") is None
    True
    """
    found = KERNELS.get(device.partition(":")[0])
    return None if found == "gpu" and not has_triton() else found


@cache
def has_triton() -> bool:
    """Say whether Triton is installed; torch brings it along for CUDA, ROCm and XPU on Linux."""
    return importlib.util.find_spec("triton") is not None
