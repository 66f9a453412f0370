"""The built-in algorithms: one file each, a program and the function that runs it."""

from tgraph.algorithms.bfs import BFS, bfs
from tgraph.algorithms.hits import HITS, hits
from tgraph.algorithms.pagerank import PageRank, pagerank
from tgraph.algorithms.sssp import SSSP, sssp
from tgraph.algorithms.wcc import WCC, wcc

__all__ = ["BFS", "HITS", "SSSP", "WCC", "PageRank", "bfs", "hits", "pagerank", "sssp", "wcc"]
