"""Independent checks of results: each proves an answer by rules that need no second run of the algorithm.

A check returns quietly (or with an error bound) where the answer is right, and else raises `VerificationError`, which
names the broken rule and the first vertex or edge that breaks it.
"""

from tgraph.verify.betweenness import check_betweenness
from tgraph.verify.bfs import check_bfs
from tgraph.verify.cdlp import check_cdlp
from tgraph.verify.closeness import check_closeness
from tgraph.verify.coloring import check_coloring
from tgraph.verify.distance_matrix import check_distance_matrix
from tgraph.verify.eigenvector import check_eigenvector
from tgraph.verify.hits import check_hits
from tgraph.verify.k_core import check_k_core
from tgraph.verify.katz import check_katz
from tgraph.verify.lcc import check_lcc
from tgraph.verify.leiden import check_leiden
from tgraph.verify.louvain import check_louvain
from tgraph.verify.mis import check_mis
from tgraph.verify.mst import check_mst
from tgraph.verify.multi_source_bfs import check_multi_source_bfs
from tgraph.verify.pagerank import check_pagerank
from tgraph.verify.php import check_php
from tgraph.verify.random_walks import check_random_walks
from tgraph.verify.scc import check_scc
from tgraph.verify.sssp import check_sssp
from tgraph.verify.triangles import check_triangles
from tgraph.verify.wcc import check_wcc

__all__ = [
    "check_betweenness",
    "check_bfs",
    "check_cdlp",
    "check_closeness",
    "check_coloring",
    "check_distance_matrix",
    "check_eigenvector",
    "check_hits",
    "check_k_core",
    "check_katz",
    "check_lcc",
    "check_leiden",
    "check_louvain",
    "check_mis",
    "check_mst",
    "check_multi_source_bfs",
    "check_pagerank",
    "check_php",
    "check_random_walks",
    "check_scc",
    "check_sssp",
    "check_triangles",
    "check_wcc",
]
