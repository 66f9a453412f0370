"""Programs compiled into Triton kernels: the user's element-wise functions inside push, pull and update.

`typed` turns a translated function into Triton text with the types that torch would give, `text` puts it into kernels,
`source` keeps the module on disk, and `sweep` and `frontier` launch it, iteration by iteration.
"""
