"""Doctests of the Triton kernels need triton, which is not there on every system."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["tgraph/kernels/gpu/*"]
