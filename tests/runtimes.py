"""Which runtimes this process tests: those in TGRAPH_TEST_RUNTIMES; torch and tensorflow do not go into one process."""

from __future__ import annotations

import os

RUNTIMES = tuple(os.environ.get("TGRAPH_TEST_RUNTIMES", "torch numpy jax").split())
