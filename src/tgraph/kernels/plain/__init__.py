"""The twins of the kernels, made of runtime primitives: the reference in tests and the path on any other device."""
