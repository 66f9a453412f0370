"""What NetworkX asks about its back end tgraph when it is imported.

A package of its own that imports nothing, so that `import networkx` stays as quick as it is without tgraph.
"""

from __future__ import annotations

from typing import Any

from tgraph_networkx.names import NAMES


def get_info() -> dict[str, Any]:
    """Return the description of the back end and the names of the functions it runs.

    >>> "pagerank" in get_info()["functions"]
    True
    """
    return {
        "backend_name": "tgraph",
        "project": "tgraph",
        "package": "tgraph",
        "short_summary": "Compiled graph kernels on the CPU, with NetworkX's results.",
        "functions": {name: {} for name in NAMES},
    }
