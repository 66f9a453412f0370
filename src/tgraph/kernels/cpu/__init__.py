"""Numba kernels on NumPy views of CPU tensors. Importing a module here imports Numba; the rest of the package waits."""
