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

    SMALL = launch.Sizes(
        pull_edges=8, push_edges=8, few_edges=4, vertices=8, carries=2, row_edges=4, most_features=2, scores=4
    )

    @pytest.fixture(autouse=True)
    def small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(launch, "DEFAULTS", SMALL)
        monkeypatch.setattr(launch, "multiprocessors", lambda device: 2)  # so that small frontiers are pushed in few

    @pytest.fixture
    def on_gpu_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the Triton kernels serve CPU tensors."""
        monkeypatch.setitem(registry.KERNELS, "cpu", "gpu")
