"""NetworkX: graphs from and to it, and the back end that runs its functions (`dispatch`)."""

from tgraph.interop.networkx.conversion import from_networkx, to_networkx

__all__ = ["from_networkx", "to_networkx"]
