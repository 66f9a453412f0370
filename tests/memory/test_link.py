"""The speed of a disk is measured once and kept."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

import tgraph as tg
from tgraph.memory import link as links
from tgraph.memory.link import TYPICAL, link_for


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tg.config, "cache_dir", str(tmp_path / "cache"))
    monkeypatch.setattr(links, "SMALLEST_FILE", 1 << 20)
    path = tmp_path / "bytes"
    path.write_bytes(os.urandom(2 << 20))
    return path


def test_a_file_is_measured_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = link_for(file)
    assert first.bytes_per_second > 0
    assert 0 < first.seconds_per_request < 1
    assert 0 < first.seconds_alone < 1
    assert 0 < first.seconds_per_fault < 1
    assert 0 < first.seconds_per_plan < 1
    assert "GB/s" in first.describe()
    monkeypatch.setattr(links, "measure_link", None)
    assert link_for(file) == first


def test_a_file_that_is_still_being_written_to_the_disk_is_waited_for(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, open_far = list[str](), links.FarFile
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(f"written {os.fstat(descriptor).st_ino}"))
    monkeypatch.setattr(links, "FarFile", lambda *given, **more: done.append("read") or open_far(*given, **more))
    link_for(file)
    assert done[:2] == [f"written {file.stat().st_ino}", "read"]


def test_figures_of_a_version_that_knew_less_are_measured_again(file: Path) -> None:
    first = asdict(link_for(file))
    kept = Path(tg.config.cache_dir, "links.json")
    [name] = json.loads(kept.read_text())
    del first["seconds_alone"]
    kept.write_text(json.dumps({name: first}))
    assert link_for(file).seconds_alone > 0


@pytest.mark.parametrize("content", ["", "{", '{"a": {"unknown": 1}}', "[1]"])
def test_kept_figures_that_cannot_be_read_are_measured_again(file: Path, content: str) -> None:
    kept = Path(tg.config.cache_dir, "links.json")
    kept.parent.mkdir()
    kept.write_text(content)
    assert link_for(file) == link_for(file)


def test_a_folder_that_cannot_be_written_does_no_harm(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "cache_dir", str(file / "no folder"))
    assert link_for(file).bytes_per_second > 0


def test_a_small_file_gets_typical_figures_until_those_of_its_disk_are_known(file: Path) -> None:
    small = file.with_name("small")
    small.write_bytes(b"x")
    assert link_for(small) is TYPICAL
    assert link_for(file) == link_for(small) != TYPICAL
