"""Graphs in which repeated sequences of neighbours are virtual vertices (TGraph, 5.1)."""

from tgraph.layout.compress.by_pairs import compress

__all__ = ["compress"]
