"""Programs compiled into the inner loop: the user's element-wise functions inside a kernel that several threads run.

`translate` turns a function's source into one that works on single elements, `source` puts it into a kernel's text and
keeps the compiled module on disk, `pull` runs it over the edges of a graph.
"""
