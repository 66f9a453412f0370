"""Kernels that read and fill Python's dictionaries and sets, by the functions of Python's C interface."""
