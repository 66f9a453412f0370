"""Who chose what: users and items, in the format of NGCF, `user item item ...` per line of train.txt and test.txt."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.runtime import Array


@dataclass(frozen=True)
class Interactions:
    """Users are vertices 0 to num_users - 1 of the graph, items those behind them; edges are what is known."""

    graph: Graph
    num_users: int
    num_items: int
    train: tuple[Array, Array]  # users and items, by their own numbers
    test: tuple[Array, Array]

    def __repr__(self) -> str:
        pairs = f"{self.train[0].size:,} choices to train on, {self.test[0].size:,} to find"
        return f"Interactions({self.num_users:,} users, {self.num_items:,} items, {pairs})"


def read_interactions(folder: str | PathLike[str]) -> Interactions:
    """Read `train.txt` and `test.txt`, or these with `.gz`. A choice that is repeated counts once."""
    train, test = (_read_pairs(_find(Path(folder), name)) for name in ("train.txt", "test.txt"))
    num_users, num_items = (
        int(max(a.max(initial=-1), b.max(initial=-1))) + 1 for a, b in zip(train, test, strict=True)
    )
    graph = from_edges(
        train[0],
        train[1] + num_users,
        directed=False,
        num_vertices=num_users + num_items,
        duplicates="first",
        runtime="torch",
    )
    return Interactions(graph, num_users, num_items, train, test)


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            return path
    raise InvalidArgumentError(f"{folder / name} does not exist, nor {name}.gz; give the folder of both files")


def _read_pairs(path: Path) -> tuple[Array, Array]:
    users, items = [], []
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for number, line in enumerate(file, 1):
            try:
                user, *chosen = [int(word) for word in line.split()] or [-1]
            except ValueError as error:
                raise FileFormatError(path, f"line {number}", f"holds no numbers: {error}") from error
            if chosen and min(user, *chosen) < 0:
                raise FileFormatError(path, f"line {number}", "holds a negative number; users and items begin at 0")
            users.append(np.full(len(chosen), user, np.int64))
            items.append(np.asarray(chosen, np.int64))
    if not users:
        raise FileFormatError(path, "text", "is empty")
    pairs = np.unique(np.stack([np.concatenate(users), np.concatenate(items)]), axis=1)
    return pairs[0], pairs[1]
