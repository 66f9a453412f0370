"""Which columns of a table are the sources, the targets and the weights of edges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tgraph.errors import InvalidArgumentError

# Names as `plain_name` gives them.
SOURCE_NAMES = {"source", "src", "from", "fromid", "fromnode", "fromnodeid", "fromvertex", "sourceid", "srcid", "start"}
TARGET_NAMES = {"target", "dst", "to", "toid", "tonode", "tonodeid", "tovertex", "targetid", "dstid", "dest", "end"}
TARGET_NAMES |= {"destination"}
WEIGHT_NAMES = {"weight", "weights", "w", "wt", "edgeweight", "value", "cost", "distance", "dist", "length", "capacity"}
WEIGHT_NAMES |= {"score", "rating", "amount", "count", "strength", "similarity"}
PLACEHOLDER = re.compile(r"[a-z]|(column|col|field|f|v|x|c)?[0-9]+")  # names that programs give to unnamed columns


def plain_name(name: str) -> str:
    """Return a column's name without case, blanks, hyphens and underscores.

    >>> plain_name("From_Node ID")
    'fromnodeid'
    """
    return re.sub(r"[\s_\-#]", "", name).lower()


def name_edges(names: Sequence[str]) -> bool:
    """Say whether there are names for sources and for targets among these."""
    plain = {plain_name(name) for name in names}
    return bool(plain & SOURCE_NAMES and plain & TARGET_NAMES)


def find_id_columns(columns: Any, names: Sequence[str] | None, width: int) -> tuple[int, int]:
    """Return the positions of sources and targets: those asked for, those with such names, or the first two."""
    if columns is not None:
        if not isinstance(columns, (tuple, list)) or len(columns) != 2:
            raise InvalidArgumentError(f"columns={columns!r} must be two: the one of sources and the one of targets")
        source, target = (find_column("columns", column, names, width) for column in columns)
        if source == target:
            raise InvalidArgumentError(f"columns={columns!r} gives the same column twice")
        return source, target
    if names is None or not name_edges(names):
        return 0, 1
    plain = [plain_name(name) for name in names]
    return _first(plain, SOURCE_NAMES), _first(plain, TARGET_NAMES)


def find_weight_column(
    weights: Any, names: Sequence[str] | None, width: int, id_columns: tuple[int, int]
) -> int | None:
    """Return the position of the weights, or None.

    `"auto"` is the column with such a name, else the third one where the names do not call it something else.
    """
    if weights is None:
        return None
    if weights != "auto":
        position = find_column("weights", weights, names, width)
        if position in id_columns:
            raise InvalidArgumentError(f"weights={weights!r} is a column of ids; those are {id_columns}")
        return position
    plain = [plain_name(name) for name in names or []]
    if WEIGHT_NAMES & set(plain):
        return _first(plain, WEIGHT_NAMES)
    is_unnamed = len(plain) < 3 or PLACEHOLDER.fullmatch(plain[2])
    return 2 if is_unnamed and width > 2 and 2 not in id_columns else None


def _first(plain: list[str], known: set[str]) -> int:
    return next(position for position, name in enumerate(plain) if name in known)


def find_column(argument: str, column: Any, names: Sequence[str] | None, width: int) -> int:
    """Return the position of a column that the user gave by name or by number."""
    if isinstance(column, str):
        if not names or column not in names:
            known = f"the columns are {list(names)}" if names else "the file has no header; use column numbers"
            raise InvalidArgumentError(f"{argument} names the column {column!r}, but {known}")
        return list(names).index(column)
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < width:
        raise InvalidArgumentError(f"{argument} gives the column {column!r}, but the columns are 0 to {width - 1}")
    return column
