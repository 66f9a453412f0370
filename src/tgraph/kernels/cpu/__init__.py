"""Numba kernels on NumPy views of CPU tensors. Importing a module here imports Numba; the rest of the package waits."""

from tgraph.kernels.cpu.kept_code import keep_by_sources

keep_by_sources()
