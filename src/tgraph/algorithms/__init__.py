"""The built-in algorithms: one file each, a program where there is one, and the function that runs it."""

from tgraph.algorithms.betweenness import Betweenness, betweenness
from tgraph.algorithms.bfs import BFS, bfs
from tgraph.algorithms.cdlp import CDLP, cdlp
from tgraph.algorithms.closeness import Closeness, closeness
from tgraph.algorithms.coloring import Coloring, ColoringResult, coloring
from tgraph.algorithms.distance_matrix import distance_matrix
from tgraph.algorithms.eigenvector import Eigenvector, eigenvector
from tgraph.algorithms.hits import HITS, hits
from tgraph.algorithms.k_core import KCore, k_core
from tgraph.algorithms.katz import Katz, katz
from tgraph.algorithms.lcc import LCC, lcc
from tgraph.algorithms.leiden import leiden
from tgraph.algorithms.louvain import louvain
from tgraph.algorithms.mis import MIS, mis
from tgraph.algorithms.mst import SpanningForest, mst
from tgraph.algorithms.multi_source_bfs import MultiSourceBFS, multi_source_bfs
from tgraph.algorithms.pagerank import PageRank, pagerank
from tgraph.algorithms.php import PHP, php
from tgraph.algorithms.random_walks import random_walks
from tgraph.algorithms.scc import SCC, scc
from tgraph.algorithms.sssp import SSSP, sssp
from tgraph.algorithms.triangles import TriangleCounts, Triangles, triangles
from tgraph.algorithms.wcc import WCC, wcc

__all__ = [
    "BFS",
    "CDLP",
    "HITS",
    "LCC",
    "MIS",
    "PHP",
    "SCC",
    "SSSP",
    "WCC",
    "Betweenness",
    "Closeness",
    "Coloring",
    "ColoringResult",
    "Eigenvector",
    "KCore",
    "Katz",
    "MultiSourceBFS",
    "PageRank",
    "SpanningForest",
    "TriangleCounts",
    "Triangles",
    "betweenness",
    "bfs",
    "cdlp",
    "closeness",
    "coloring",
    "distance_matrix",
    "eigenvector",
    "hits",
    "k_core",
    "katz",
    "lcc",
    "leiden",
    "louvain",
    "mis",
    "mst",
    "multi_source_bfs",
    "pagerank",
    "php",
    "random_walks",
    "scc",
    "sssp",
    "triangles",
    "wcc",
]
