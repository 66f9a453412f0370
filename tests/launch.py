"""Start a script on several processes, as a user would with torchrun, and never wait for longer than a limit."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def launch(
    size: int, *command: str, timeout_seconds: float = 120, max_restarts: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `torchrun --nproc-per-node SIZE COMMAND` and return what it wrote; kill all of it after the limit."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size), "--standalone"]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    environment = {**os.environ, "PYTHONPATH": paths, "TGRAPH_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*torchrun, "--max-restarts", str(max_restarts), *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        raise AssertionError(f"the group hung for {timeout_seconds} seconds:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
