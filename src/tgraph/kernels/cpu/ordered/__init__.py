"""Serial kernels whose results come in the order in which NetworkX finds them, from rows in NetworkX's order.

All take rows as offsets `[V+1] int64` and neighbours `[E] int32`, run on one thread and are deterministic.
"""
