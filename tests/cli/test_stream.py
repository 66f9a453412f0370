"""`tgraph stream`, called as a user calls it."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import tgraph as tg
from tgraph.cli import main

UPDATES = "op,source,target,weight,time\n+,cy,dan,1,10\n-,ann,bob,0,20\n+,dan,eve,2,30\n"


@pytest.fixture
def city(tmp_path: Path) -> Path:
    file = tmp_path / "city.safetensors"
    tg.write(tg.from_edges(["ann", "ann", "bob"], ["bob", "cy", "dan"], [5.0, 2.0, 3.0]), file)
    (tmp_path / "updates.csv").write_text(UPDATES)
    return file


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the command line in this process; return exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tgraph", "stream", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err

    return run


def test_updates_are_applied_and_results_written(call, city, tmp_path):
    out = tmp_path / "distances.csv"
    options = ("--updates", tmp_path / "updates.csv", "--keep", "sssp:source=ann", "--batch", 2, "--out", out, "-q")
    code, text, err = call(city, *options)
    assert (code, err) == (0, "")
    first, second, last, wrote = text.splitlines()
    assert first.startswith("batch 1: inserted=1, deleted=1; sssp:source=ann: 2 changed; ")
    assert second.startswith("batch 2: inserted=1, vertices_added=1; sssp:source=ann: 1 changed; ")
    assert last.startswith("2 batches in ")
    assert last.endswith("DynamicGraph(5 vertices, 4 edges, directed, weighted, labelled)")
    assert wrote == f"wrote {out}"
    distances = dict(pl.read_csv(out).select("vertex", "distances").rows())
    assert distances == {"ann": 0, "bob": float("inf"), "cy": 2, "dan": 3, "eve": 5}


def test_updates_from_stdin_and_several_results(call, city, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UPDATES.encode())))
    options = (
        "-u",
        "-",
        "--keep",
        "wcc",
        "--keep",
        "bfs:source=ann",
        "--batch",
        "1min",
        "--out",
        tmp_path / "r.parquet",
    )
    code, text, err = call(city, *options)
    assert code == 0, err
    assert "batch 1: inserted=2, deleted=1" in text
    assert sorted(path.name for path in tmp_path.glob("r*")) == ["r-bfs-source-ann.parquet", "r-wcc.parquet"]


def test_the_same_command_goes_on(call, city, tmp_path):
    options = ("-u", tmp_path / "updates.csv", "--keep", "wcc", "--batch", 1, "--journal", tmp_path / "state")
    assert "3 batches in" in call(city, *options)[1]
    code, text, _ = call(city, *options)
    assert code == 0
    assert "0 batches, 3 skipped that the journal had in" in text
    with (tmp_path / "updates.csv").open("a") as file:
        file.write("+,eve,ann,1,40\n")
    text = call(city, *options)[1]
    assert "batch 4: inserted=1; wcc: 0 changed" in text
    assert "1 batches, 3 skipped" in text


def test_columns_windows_and_integers(call, tmp_path):
    tg.write(tg.from_edges([1, 2], [2, 3]), tmp_path / "graph.safetensors")
    (tmp_path / "log.txt").write_text("7 1 3 x\n9 3 4 x\n30 4 1 x\n")
    options = ("-u", tmp_path / "log.txt", "--columns", "time=0,source=1,target=2", "--batch", 1, "--window", "10s")
    code, text, err = call(tmp_path / "graph.safetensors", *options)
    assert code == 0, err
    assert "batch 3: inserted=1, deleted=2" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", "magic"), "'magic' is not known"),
        (("--keep", "sssp:ann"), "--keep sssp:ann: 'ann' is not understood"),
        (("--columns", "from=1"), "'from=1' is not understood"),
        (("--batch", "10m"), "batch='10m' is no number of edges"),
        (("--existing", "shout"), "existing='shout' is not known"),
        (("--out", "x.txt"), "must end in one of"),
    ],
)
def test_wishes_that_cannot_be_met(call, city, tmp_path, options, message):
    code, _, err = call(city, "-u", tmp_path / "updates.csv", *options)
    assert code == 2
    assert message in err


def test_ctrl_c_ends_with_130(city, tmp_path):
    command = [sys.executable, "-c", "from tgraph.cli import main; main()", "stream", str(city), "-u", "-"]
    process = subprocess.Popen(
        [*command, "--batch", "1", "--journal", str(tmp_path / "state")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"cy dan 4 10\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"batch 1: inserted=1")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert b"stopped after 1 batches" in process.stderr.read()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    with tg.stream.open(tmp_path / "state") as stream:
        assert stream.version == 1
