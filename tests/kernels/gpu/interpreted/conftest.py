"""Tests that run in Triton's interpreter, on CPU tensors: only in a process that was started for it.

The interpreter is chosen when triton is imported, so `test_interpreted.py` starts a process with TRITON_INTERPRET=1 for
this folder. Programs are small, so that rows are cut and hubs are larger than what a program takes.
"""

from __future__ import annotations

import os

import pytest

if os.environ.get("TRITON_INTERPRET") != "1":
    collect_ignore_glob = ["test_*.py"]
else:
    from tgraph.kernels import registry
    from tgraph.kernels.gpu import launch

    @pytest.fixture(autouse=True)
    def small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
        for name, size in {
            "EDGES": 8,
            "VERTICES": 8,
            "CARRIES": 2,
            "ROW_EDGES": 4,
            "MOST_FEATURES": 2,
            "SCORES": 4,
        }.items():
            monkeypatch.setattr(launch, name, size)

    @pytest.fixture
    def on_gpu_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the Triton kernels serve CPU tensors."""
        monkeypatch.setitem(registry.KERNELS, "cpu", "gpu")
