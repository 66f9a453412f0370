"""Which rows and edges a part of the edges belongs to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows and their edges, or a piece of one long row."""

    first_row: int
    last_row: int  # not included
    first_edge: int
    last_edge: int  # not included
    opens: bool = True  # its first row begins here
    closes: bool = True  # its last row ends here

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return self.last_edge - self.first_edge

    @property
    def is_whole(self) -> bool:
        """Whether all its rows are complete."""
        return self.opens and self.closes
