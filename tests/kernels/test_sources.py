"""Compiled code is used again only while nothing that it was compiled from has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tgraph.kernels import sources
from tgraph.kernels.cpu import betweenness, kept_code, path_counts
from tgraph.kernels.sources import fingerprint

TEXT = "from tgraph.kernels.cpu.one import (\n    first,\n)\nfrom tgraph.kernels.cpu import other as renamed, third\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sources, "_FOLDER", tmp_path)
    (tmp_path / "cpu").mkdir()
    modules = {
        "__init__": "",
        "one": "from tgraph.kernels.cpu.far import x",
        "far": "from tgraph.kernels.cpu.one import first",
        "other": "",
        "third": "import numpy",
        "alone": "",
    }
    for name, text in modules.items():
        (tmp_path / "cpu" / f"{name}.py").write_text(text)
    return tmp_path / "cpu"


@pytest.mark.parametrize("name", ["__init__", "one", "far", "other", "third"])
def test_a_change_of_any_imported_module_changes_the_fingerprint(folder: Path, name: str) -> None:
    before = fingerprint(TEXT)
    sources._read.cache_clear()
    (folder / f"{name}.py").write_text("first = 2\n")
    assert fingerprint(TEXT) != before
    sources._read.cache_clear()


def test_others_do_not_matter(folder: Path) -> None:
    before = fingerprint(TEXT)
    sources._read.cache_clear()
    (folder / "alone.py").write_text("first = 2\n")
    assert fingerprint(TEXT) == before
    sources._read.cache_clear()


def test_numba_asks_for_the_stamp_of_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    locator = betweenness._run._cache._impl.locator
    before = locator.get_source_stamp()
    monkeypatch.setattr(kept_code, "_stamp", kept_code._stamp.__wrapped__)
    assert locator.get_source_stamp() == before

    def read(path: Path) -> tuple[bytes, list[Path]]:
        return (b"changed", []) if path == Path(str(path_counts.__file__)) else found(path)

    found = sources._read
    monkeypatch.setattr(sources, "_read", read)
    assert locator.get_source_stamp() != before


def test_functions_elsewhere_keep_their_own_stamp() -> None:
    assert kept_code.KernelLocator.from_function(fingerprint, "/elsewhere/module.py") is None
