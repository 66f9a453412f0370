"""Independent checks of results: each proves an answer by rules that need no second run of the algorithm.

A check returns quietly (or with an error bound) where the answer is right, and else raises `VerificationError`, which
names the broken rule and the first vertex or edge that breaks it.
"""

from tgraph.verify.bfs import check_bfs
from tgraph.verify.hits import check_hits
from tgraph.verify.pagerank import check_pagerank
from tgraph.verify.sssp import check_sssp
from tgraph.verify.wcc import check_wcc

__all__ = ["check_bfs", "check_hits", "check_pagerank", "check_sssp", "check_wcc"]
