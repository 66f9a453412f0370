"""Which runtimes this process tests: those in TGRAPH_TEST_RUNTIMES; torch and tensorflow do not go into one process.

`toy` follows docs/add-a-runtime.md; `fake` is torch on the strict fake accelerator. `PARTNERS` are those that tensors
come from and go to beside.
"""

from __future__ import annotations

import os

from tgraph import runtime
from tgraph.runtime import Runtime

runtime.register("toy", "toy_runtime")
RUNTIMES = tuple(os.environ.get("TGRAPH_TEST_RUNTIMES", "torch numpy jax toy fake").split())
PARTNERS = tuple(dict.fromkeys((*RUNTIMES, "numpy", "jax")))

if "fake" in RUNTIMES:
    import fake_accelerator  # noqa: F401 - which registers the device


def place(name: str) -> dict[str, str]:
    """Return the keywords of a run there."""
    return {"runtime": "torch", "device": "fake"} if name == "fake" else {"runtime": name, "device": "cpu"}


def get(name: str) -> Runtime:
    """Return the runtime of one of the names."""
    return runtime.get(*place(name).values())
