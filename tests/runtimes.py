"""Which runtimes this process tests: those in TGRAPH_TEST_RUNTIMES; torch and tensorflow do not go into one process.

`toy` follows docs/add-a-runtime.md. `PARTNERS` are those that tensors come from and go to beside.
"""

from __future__ import annotations

import os

from tgraph import runtime

runtime.register("toy", "toy_runtime")
RUNTIMES = tuple(os.environ.get("TGRAPH_TEST_RUNTIMES", "torch numpy jax toy").split())
PARTNERS = tuple(dict.fromkeys((*RUNTIMES, "numpy", "jax")))
