"""Fused implementations for one kind of device each: Numba in `cpu`, runtime primitives in `plain`."""
