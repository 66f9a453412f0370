"""Which runtimes this process tests: those in TGRAPH_TEST_RUNTIMES; torch and tensorflow do not go into one process.

`PARTNERS` are those that tensors come from and go to beside.
"""

from __future__ import annotations

import os

RUNTIMES = tuple(os.environ.get("TGRAPH_TEST_RUNTIMES", "torch numpy jax").split())
PARTNERS = tuple(dict.fromkeys((*RUNTIMES, "numpy", "jax")))
