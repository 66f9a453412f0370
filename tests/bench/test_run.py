"""A whole run on a small graph: turns, answers that differ, candidates that are missing or fail."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bench.in_process import all_at_the_start, fail, one_level_off, replace_candidates
from tgraph.bench.candidate import CandidateError, LibraryCandidate
from tgraph.bench.graphs import prepare
from tgraph.bench.peers import Peer
from tgraph.bench.plot import draw_plot
from tgraph.bench.report import best_peer, mean_ratio, ratio_of, write_page
from tgraph.bench.run import Outcomes, run_benchmarks
from tgraph.bench.settings import Settings
from tgraph.cli.bench import bench
from tgraph.errors import InvalidArgumentError

SMALL = {"graphs": ("rmat8",), "peers": ("scipy", "networkx"), "threads": 1}


def quiet(_line: str) -> None:
    """Say nothing."""


def page_of(outcomes: Outcomes, settings: Settings, folder: Path) -> str:
    write_page(folder / "page.md", outcomes, settings, "tgraph bench", None)
    return (folder / "page.md").read_text()


def test_candidates_in_processes_of_their_own_agree(tmp_path: Path) -> None:
    settings = Settings(tasks=("bfs", "sssp"), cache=tmp_path, rounds=2, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    assert [row.task for row in outcomes.rows] == ["bfs", "sssp"]
    for row in outcomes.rows:
        assert row.proof == "holds"
        for cell in row.cells.values():
            assert cell.agrees
            assert len(cell.timing.seconds) == 2
    assert ratio_of(outcomes.rows[0], "scipy") > 0


def test_the_page_has_a_row_per_task_and_a_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch)
    settings = Settings(tasks=("bfs", "wcc", "pagerank"), cache=tmp_path, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    page = page_of(outcomes, settings, tmp_path)
    table = page[page.index("## rmat8") : page.index("## Loading")]
    lines = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("| ")}
    assert "2 of 2 peers, proof" in lines["bfs"]
    assert "2 of 2 peers" in lines["pagerank"]
    assert lines["**geometric mean**"].count("**") == 2 * (1 + 3)  # best, scipy and networkx
    assert "rmat8" in page


def test_a_wrong_answer_is_reported_and_not_averaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch, one_level_off)
    settings = Settings(tasks=("bfs",), cache=tmp_path, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    [row] = outcomes.rows
    assert row.cells["scipy"].agrees is False
    assert row.cells["networkx"].agrees is True
    assert best_peer(row) == "networkx"
    assert math.isnan(mean_ratio(outcomes.rows, "scipy"))
    page = page_of(outcomes, settings, tmp_path)
    assert "**scipy differs**: 256 of 256 values differ" in page
    assert "1 of 2 peers" in page


def test_our_own_wrong_answer_fails_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch, all_at_the_start)
    settings = Settings(tasks=("bfs",), cache=tmp_path, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    assert outcomes.rows[0].proof == "fails"
    assert "**proof fails**" in page_of(outcomes, settings, tmp_path)


def test_a_peer_that_is_not_installed_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch)
    monkeypatch.setattr(Peer, "available", property(lambda peer: peer.name != "networkx"))
    settings = Settings(tasks=("bfs",), cache=tmp_path, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    assert outcomes.peers["networkx"] == "not installed"
    assert outcomes.rows[0].cells["networkx"].skipped == "not installed"
    assert "networkx not installed" in page_of(outcomes, settings, tmp_path)


def test_a_candidate_that_fails_ends_only_its_own_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch, fail)
    settings = Settings(tasks=("bfs",), cache=tmp_path, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    assert len(outcomes.rows[0].cells["networkx"].timing.seconds) == 5
    assert "- bfs: scipy ended after 3 s" in page_of(outcomes, settings, tmp_path)


def test_a_slow_candidate_is_run_once_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch)
    settings = Settings(tasks=("wcc",), cache=tmp_path, limit_seconds=0.0, **SMALL)
    outcomes = run_benchmarks(settings, quiet)
    assert not outcomes.rows[0].cells["scipy"].timing.repeated
    assert outcomes.rows[0].cells["tgraph"].timing.repeated  # whose first call compiles
    assert "¹" in page_of(outcomes, settings, tmp_path)


def test_a_task_that_tgraph_does_not_have_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch)
    monkeypatch.setattr(
        Peer, "skips", lambda peer, task, arcs: "has no such algorithm" if peer.name == "tgraph" else ""
    )
    settings = Settings(tasks=("bfs",), cache=tmp_path, **SMALL)
    page = page_of(run_benchmarks(settings, quiet), settings, tmp_path)
    assert "- bfs: tgraph has no such algorithm" in page


def test_a_process_is_ended_at_the_time_limit(tmp_path: Path) -> None:
    candidate = LibraryCandidate("scipy", threads=1, limit_seconds=0.0)
    candidate.load(prepare("rmat8", tmp_path)["undirected"], weighted=False)
    with pytest.raises(CandidateError, match="ended after 0 s"):
        candidate.run("wcc", {}, wants_answer=False)
    assert candidate.loaded is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tasks": ("sorting",)}, "--tasks='sorting' is not known"),
        ({"peers": ("excel",)}, "--peers='excel' is not known"),
        ({"rounds": 0}, "--rounds 0 must be 1 or more"),
        ({"gap": Path("nowhere")}, "--gap nowhere has no program bfs"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        run_benchmarks(Settings(**wrong), quiet)


def test_the_command_writes_page_plot_and_raw_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch)
    page, raw = tmp_path / "docs" / "benchmarks.md", tmp_path / "raw.json"
    page.parent.mkdir()
    bench(tasks="bfs,wcc", graphs="rmat8", peers="scipy", threads=1, cache=tmp_path, out=page, json_file=raw)
    assert "images/benchmarks.svg" in page.read_text()
    assert (tmp_path / "docs" / "images" / "benchmarks.svg").read_text().lstrip().startswith("<?xml")
    rows = json.loads(raw.read_text())["rows"]
    assert [len(row["cells"]["scipy"]["timing"]["seconds"]) for row in rows] == [5, 5]


def test_a_run_goes_on_where_another_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_candidates(monkeypatch)
    page, raw = tmp_path / "page.md", tmp_path / "raw.json"
    same = {"graphs": "rmat8", "peers": "scipy", "threads": 1, "cache": tmp_path, "out": page, "json_file": raw}
    bench(tasks="bfs", **same)
    [before] = json.loads(raw.read_text())["rows"]
    bench(tasks="bfs,wcc", resume=True, **same)
    after = json.loads(raw.read_text())["rows"]
    assert [row["task"] for row in after] == ["bfs", "wcc"]
    assert after[0] == before
    assert "| bfs |" in page.read_text()
    assert Outcomes.from_dict(json.loads(raw.read_text())).to_dict()["rows"] == after


def test_nothing_to_draw_is_no_plot(tmp_path: Path) -> None:
    assert not draw_plot(tmp_path / "empty.svg", Outcomes())
