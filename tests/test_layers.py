"""Who may import whom: the contracts in pyproject.toml hold, and each of them notices a wrong import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"
ONE_WAY = "Data flows one way (docs/architecture.md, who may import whom)"
ENGINES = "Engines never import algorithms"
ALGORITHMS = "Algorithms never import engines"
TORCH = "torch is imported only by its runtime, GPU kernels, nn and interop"
JAX = "jax is imported only by its own runtime and by interop"
TENSORFLOW = "tensorflow is imported only by its own runtime and by interop"
TRITON = "triton is imported only by the GPU kernels"
NUMBA = "numba is imported only by the CPU kernels"
Z3 = "z3 is imported only by proofs"


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Check the package below `root` by the contracts in its pyproject.toml."""
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    command = [sys.executable, "-c", LINT, "--config", "pyproject.toml", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)


def verdicts(output: str) -> dict[str, str]:
    """Return KEPT or BROKEN for each contract."""
    lines = [line.rpartition(" ") for line in output.splitlines()]
    return {name: verdict for name, _, verdict in lines if verdict in ("KEPT", "BROKEN")}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to be broken."""
    shutil.copytree(ROOT / "src" / "tgraph", tmp_path / "src" / "tgraph", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_all_contracts_are_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(done.stdout) == dict.fromkeys(
        (ONE_WAY, ENGINES, ALGORITHMS, TORCH, JAX, TENSORFLOW, TRITON, NUMBA, Z3), "KEPT"
    )


@pytest.mark.parametrize(
    ("file", "statement", "contract", "reported"),
    [
        ("engine/in_memory.py", "import tgraph.algorithms.bfs", ENGINES, "tgraph.engine.in_memory"),
        ("algorithms/bfs.py", "import tgraph.engine.in_memory", ALGORITHMS, "tgraph.algorithms.bfs"),
        ("kernels/cpu/csr.py", "import tgraph.graph.graph", ONE_WAY, "tgraph.kernels.cpu.csr"),
        ("graph/graph.py", "import torch", TORCH, "tgraph.graph.graph"),
        ("runtime/torch/reductions.py", "import jax", JAX, "tgraph.runtime.torch.reductions"),
        ("engine/fused.py", "import tensorflow", TENSORFLOW, "tgraph.engine.fused"),
        ("engine/in_memory.py", "import numba", NUMBA, "tgraph.engine.in_memory"),
        ("nn/sampler.py", "import triton", TRITON, "tgraph.nn.sampler"),
        ("program.py", "import z3", Z3, "tgraph.program"),
        ("program.py", "import tgraph.prove.report", ONE_WAY, "tgraph.program"),
    ],
)
def test_a_wrong_import_breaks_its_contract(
    copied: Path, file: str, statement: str, contract: str, reported: str
) -> None:
    changed = copied / "src" / "tgraph" / file
    changed.write_text(f"{changed.read_text()}\n{statement}\n")
    done = lint(copied)
    assert done.returncode == 1, done.stdout + done.stderr
    assert verdicts(done.stdout)[contract] == "BROKEN"
    imported = statement.removeprefix("import ")
    assert f"{reported} -> {imported}" in done.stdout


def test_the_copy_is_what_is_checked(copied: Path) -> None:
    """Without a wrong import the copy passes; so what breaks above is that import."""
    done = lint(copied)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(verdicts(done.stdout).values()) == {"KEPT"}
