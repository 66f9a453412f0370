"""Readers of data to learn from."""

from __future__ import annotations

import gzip
import os
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.nn.datasets import read_interactions, read_planetoid


def write_planetoid(folder: Path, **changed: Any) -> Path:
    """Six vertices: 0 to 3 are known (0 and 1 to train on), 5 and 4 are tested, in this order."""
    neighbors = defaultdict(list, {0: [1, 1, 0], 1: [0, 2], 2: [1], 3: [], 4: [5], 5: [4]})
    features, one_hot = np.arange(12, dtype=np.float32).reshape(6, 2), np.eye(2)[[0, 1, 0, 1, 1, 0]]
    rows = {"x": slice(2), "allx": slice(4), "tx": [5, 4]}
    parts = {name: scipy.sparse.csr_matrix(features[rows[name]]) for name in rows}
    parts |= {name.replace("x", "y"): one_hot[rows[name]] for name in rows}
    for name, part in ({**parts, "graph": neighbors} | changed).items():
        (folder / f"ind.tiny.{name}").write_bytes(pickle.dumps(part, protocol=2))
    (folder / "ind.tiny.test.index").write_text("5\n4\n")
    return folder


def test_planetoid(tmp_path: Path) -> None:
    data = read_planetoid(write_planetoid(tmp_path), "tiny")
    assert data.graph.edges()[0].tolist() == [0, 1, 4]
    assert data.graph.edges()[1].tolist() == [1, 2, 5]
    assert data.classes.tolist() == [0, 1, 0, 1, 1, 0]
    expected = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.testing.assert_allclose(data.features, expected / expected.sum(axis=1, keepdims=True))
    assert [part.tolist() for part in (data.train, data.validation, data.test)] == [[0, 1], [2, 3, 4, 5], [4, 5]]


class Evil:
    """Would run a command when unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("exit 1",)


@pytest.mark.parametrize("what", [Evil(), np.zeros, Path("x")])
def test_pickles_that_ask_for_more_are_refused(tmp_path: Path, what: Any) -> None:
    write_planetoid(tmp_path, ally=what)
    with pytest.raises(FileFormatError, match=r"ind.tiny.ally: pickle: cannot be read: it asks for .* no such file"):
        read_planetoid(tmp_path, "tiny")


def test_broken_planetoid_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"ind.cora.graph does not exist; give the folder"):
        read_planetoid(tmp_path, "cora")
    write_planetoid(tmp_path, graph={0: [9]})
    with pytest.raises(FileFormatError, match=r"there are 6 vertices, and an edge names another"):
        read_planetoid(tmp_path, "tiny")
    (tmp_path / "ind.tiny.x").write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"ind.tiny.x: pickle: cannot be read"):
        read_planetoid(tmp_path, "tiny")


@pytest.mark.parametrize("zipped", [True, False])
def test_interactions(tmp_path: Path, zipped: bool) -> None:
    for name, text in (("train.txt", "0 1 2 2\n2 0\n\n1\n"), ("test.txt", "0 3\n1 0\n")):
        path = tmp_path / (f"{name}.gz" if zipped else name)
        path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    data = read_interactions(tmp_path)
    assert (data.num_users, data.num_items) == (3, 4)
    assert [column.tolist() for column in data.train] == [[0, 0, 2], [1, 2, 0]]
    assert [column.tolist() for column in data.test] == [[0, 1], [3, 0]]
    assert [column.tolist() for column in data.graph.edges()[:2]] == [[0, 0, 2], [4, 5, 3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [("0 x\n", r"line 1: holds no numbers"), ("0 1\n0 -1\n", r"line 2: holds a negative number"), ("", r"is empty")],
)
def test_broken_interactions(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"train.txt does not exist, nor train.txt.gz"):
        read_interactions(tmp_path)
    (tmp_path / "train.txt").write_text(text)
    (tmp_path / "test.txt").write_text("0 1\n")
    with pytest.raises(FileFormatError, match=message):
        read_interactions(tmp_path)
