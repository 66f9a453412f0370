"""The suite for real accelerators, `pytest -m gpu`: CUDA, ROCm, MPS and XPU, whichever is there."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

KINDS = {  # by torch's name: is it there
    "cuda": lambda: torch.cuda.is_available(),  # ROCm too
    "mps": lambda: torch.backends.mps.is_available(),
    "xpu": lambda: hasattr(torch, "xpu") and torch.xpu.is_available(),
}


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest) -> str:
    """Every accelerator that is here."""
    if not KINDS[request.param]():
        pytest.skip(f"torch finds no {request.param} device on this machine")
    return str(request.param)


@pytest.fixture
def float_dtype(device: str) -> str:
    """The widest float of the device: MPS has no float64."""
    return "float32" if device == "mps" else "float64"
