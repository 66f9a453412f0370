"""How a graph is laid out: cut into parts, and its vertices in another order."""
