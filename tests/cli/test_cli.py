"""The command line, called as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tgraph as tg
from tgraph.cli import main
from tgraph.errors import InterruptedRunError

EDGES = "# a comment\nann\tbob\t5\nann\tcy\t2\nbob\tdan\t3\ncy\tdan\t9\n"


@pytest.fixture
def city(tmp_path: Path) -> Path:
    file = tmp_path / "city.txt"
    file.write_text(EDGES)
    return file


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the command line in this process; return exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tgraph", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as exit_:
            main()
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err

    return run


def test_info_shows_the_graph_and_checks_it(call, city):
    code, out, _ = call("info", city, "--check")
    assert code == 0
    assert "ann to dan" in out
    assert "all invariants hold" in out


def test_convert_keeps_ids_and_weights(call, city, tmp_path):
    code, out, _ = call("convert", city, tmp_path / "city.safetensors")
    assert code == 0
    assert "4 vertices, 4 edges" in out
    back = tg.read(tmp_path / "city.safetensors")
    assert back.vertex_labels.tolist() == ["ann", "bob", "cy", "dan"]
    assert back.weights.tolist() == [5, 2, 3, 9]


def test_compress_writes_a_graph_that_algorithms_take(call, city, tmp_path):
    graph = tg.generate.web_like(300, 8, seed=1)
    tg.write(graph, tmp_path / "web.safetensors")
    code, out, _ = call("compress", tmp_path / "web.safetensors", tmp_path / "small.safetensors")
    assert code == 0
    small = tg.read(tmp_path / "small.safetensors")
    assert small.describe().rpartition(", ")[0] in out
    assert f"{small.ratio:.2f} times smaller, depth {small.depth}, " in out
    assert "million edges per second" in out
    assert f"about {small.predicted_speed_up:.1f} times faster" in out
    answers = [call("pagerank", tmp_path / f"{name}.safetensors", "--top", 3)[:2] for name in ("web", "small")]
    assert [code for code, _ in answers] == [0, 0]
    tables = [[line for line in out.splitlines() if "│" in line] for _, out in answers]
    assert len(tables[0]) == len(tables[1]) > 0
    code, out, _ = call("info", tmp_path / "small.safetensors")
    assert code == 0
    assert "virtual" in out
    code, _, err = call("compress", city, tmp_path / "city.safetensors")
    assert code == 2
    assert "drop_weights=True" in err
    assert call("compress", city, tmp_path / "city.safetensors", "--drop-weights")[0] == 0


@pytest.mark.parametrize(
    "options",
    [(), ("--undirected",), ("--reverse", "--simplify", "--neighbors", "coded"), ("--unweighted", "--skip-rows", 2)],
)
def test_convert_within_a_budget_gives_the_same_file(call, city, tmp_path, options):
    near, far = tmp_path / "near.safetensors", tmp_path / "far.safetensors"
    assert call("convert", city, near, *options)[0] == 0
    code, out, _ = call("convert", city, far, *options, "--memory", "64MiB")
    assert (code, out) == (0, f"wrote {far}\n")
    assert far.read_bytes() == near.read_bytes()
    code, _, err = call("convert", city, far, "--memory", 1000)
    assert code == 2
    assert "memory=1000 B is too small" in err


@pytest.mark.parametrize(
    ("options", "vertices"),
    [
        (["--kind", "rmat", "--scale", "6"], 64),
        (["--kind", "erdos_renyi", "--vertices", "50", "--edges", "80"], 50),
        (["--kind", "barabasi_albert", "--vertices", "50", "--edges", "3"], 50),
        (["--kind", "web_like", "--vertices", "50", "--edges", "3"], 50),
        (["--kind", "grid", "--rows", "4", "--columns", "5", "--weights", "1", "9"], 20),
        (["--kind", "road_like", "--rows", "4", "--columns", "5"], 20),
        (["--kind", "star", "--vertices", "9"], 9),
        (["--kind", "path", "--vertices", "9"], 9),
        (["--kind", "complete", "--vertices", "9"], 9),
    ],
)
def test_generate_every_kind(call, tmp_path, options, vertices):
    file = tmp_path / "graph.safetensors"
    code, out, err = call("generate", file, *options)
    assert code == 0, err
    graph = tg.read(file)
    assert graph.num_vertices == vertices
    assert graph.weighted == ("--weights" in options or "road_like" in options)
    assert str(file) in out.replace("\n", "")


def test_bfs_writes_levels_under_the_users_ids(call, city, tmp_path):
    files = ["--out", tmp_path / "levels.parquet", "--trace", tmp_path / "t.json"]
    code, out, _ = call("bfs", city, "--source", "ann", *files)
    assert code == 0
    assert "converged" in out
    frame = pl.read_parquet(tmp_path / "levels.parquet")
    assert frame["vertex"].to_list() == ["ann", "bob", "cy", "dan"]
    assert frame["levels"].to_list() == [0, 1, 1, 2]
    assert frame["parents"].to_list() == ["ann", "ann", "ann", "bob"]
    trace = json.loads((tmp_path / "t.json").read_text())
    assert [row["active_edges"] for row in trace["iterations"]] == [2, 2, 0]


def test_sssp_uses_weights_and_can_ignore_them(call, city, tmp_path):
    assert call("sssp", city, "--source", "ann", "--out", tmp_path / "d.csv")[0] == 0
    assert pl.read_csv(tmp_path / "d.csv")["distances"].to_list() == [0.0, 5.0, 2.0, 8.0]
    assert call("sssp", city, "--source", "ann", "--unweighted", "--out", tmp_path / "d.csv")[0] == 0
    assert pl.read_csv(tmp_path / "d.csv")["distances"].to_list() == [0.0, 1.0, 1.0, 2.0]


def test_wcc_counts_components(call, tmp_path):
    file = tmp_path / "two.csv"
    file.write_text("source,target\n1,2\n7,9\n9,8\n")
    code, out, _ = call("wcc", file, "--out", tmp_path / "c.npz")
    assert code == 0
    assert "2 components; the largest has 3 vertices" in out
    with np.load(tmp_path / "c.npz") as stored:
        assert stored["vertex"].tolist() == [1, 2, 7, 8, 9]
        assert stored["labels"].tolist() == [1, 1, 7, 7, 7]


def test_pagerank_and_hits_show_the_top(call, city):
    code, out, _ = call("pagerank", city, "--top", 1, "--weighted", "--tol-l1", "1e-9", "--max-iterations", 500)
    assert code == 0
    assert "dan" in out
    assert "bob" not in out
    code, out, _ = call("hits", city, "--top", 2, "--direction", "push", "--runtime", "torch")
    assert code == 0
    assert "authorities" in out


def test_memory_leaves_the_edges_in_the_file(call, city, tmp_path):
    store, trace_file = tmp_path / "city.safetensors", tmp_path / "trace.json"
    assert call("convert", city, store, "--reverse")[0] == 0
    code, out, _ = call("pagerank", store, "--memory", "100KiB", "--trace", trace_file)
    assert code == 0
    assert "dan" in out
    trace = json.loads(trace_file.read_text())
    assert trace["engine"] == "out_of_memory"
    assert trace["iterations"][0]["moved"] == {"filter": 16}


def test_memory_of_a_device(call, city, tmp_path, fake_accelerator):
    store, trace_file = tmp_path / "city.safetensors", tmp_path / "trace.json"
    assert call("convert", city, store)[0] == 0
    code, out, _ = call("pagerank", store, "--memory", "1MiB", "--device", "fake", "--trace", trace_file)
    assert code == 0
    assert "dan" in out
    assert fake_accelerator.to_device_bytes > 0
    assert json.loads(trace_file.read_text())["engine"] == "out_of_memory"


def test_generate_within_a_budget_is_the_same_graph(call, tmp_path):
    for file, options in (("near", []), ("far", ["--memory", "1MiB"])):
        assert call("generate", tmp_path / f"{file}.safetensors", "--scale", 10, "--seed", 4, *options)[0] == 0
    near, far = (tg.read(tmp_path / f"{file}.safetensors", runtime="numpy") for file in ("near", "far"))
    assert near.out_targets.tolist() == far.out_targets.tolist()
    assert far.has_in_edges


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pagerank", "CITY", "--memory", "1MiB"], "tgraph convert"),
        (["generate", "x.safetensors", "--kind", "grid", "--memory", "1MiB"], "--kind rmat"),
        (["bfs", "CITY", "--source", "zoe"], "vertex 'zoe' is not in the graph"),
        (["pagerank", "absent.txt"], "absent.txt"),
        (["pagerank", "CITY", "--out", "ranks.xlsx"], "must end in one of .parquet, .csv, .npz"),
        (["compress", "CITY", "small.csv", "--drop-weights"], "small.csv cannot hold virtual vertices"),
        (["random_walks", "CITY", "--out", "walks.parquet"], "walks are lines of text, one each; use the ending .txt"),
        (["pagerank", "CITY", "--trace", "trace.txt"], "--trace trace.txt must end in one of .json, .html"),
        (["pagerank", "CITY", "--trace", "nowhere/trace.json"], "the folder nowhere does not exist"),
        (["pagerank", "CITY", "--out", "nowhere/ranks.csv"], "create it first"),
        (["pagerank", "CITY", "--direction", "sideways"], "direction='sideways' is not known"),
        (["pagerank", "CITY", "--damping", "2"], "damping=2.0 must be from 0 to 1"),
        (["info", "picture.png"], ".safetensors"),
        (["tune", "--device", "cpu"], "device='cpu' has no Triton kernels to tune; use cuda or xpu"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(call, city, arguments, words):
    code, out, err = call(*(str(city) if word == "CITY" else word for word in arguments))
    assert code == 2
    assert words in err
    assert err.startswith("tgraph: ")
    assert "Traceback" not in out + err


def test_a_wrong_option_exits_with_2(call, city):
    assert call("pagerank", city, "--tolerance", "1")[0] == 2


def test_nothing_is_written_when_a_run_fails(call, city, tmp_path):
    target = tmp_path / "ranks.csv"
    target.write_text("old")
    assert call("bfs", city, "--source", "zoe", "--out", target)[0] == 2
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["city.txt", "ranks.csv"]


VERBS = (
    "info",
    "convert",
    "generate",
    "bfs",
    "sssp",
    "wcc",
    "pagerank",
    "hits",
    "katz",
    "eigenvector",
    "php",
    "triangles",
)
VERBS += ("lcc", "k_core", "scc", "mst", "mis", "coloring", "cdlp", "louvain", "leiden", "random_walks")


@pytest.mark.parametrize("verb", VERBS[3:])
def test_every_algorithm_runs(call, city, verb):
    source = ["--source", "ann"] if verb in ("bfs", "sssp", "php") else []
    code, out, _ = call(verb, city, *source, *([] if verb == "random_walks" else ["--quiet"]))
    assert code == 0
    assert "ann" in out


def test_a_spanning_forest_is_written_as_edges(call, tmp_path):
    edges, out = tmp_path / "edges.csv", tmp_path / "forest.csv"
    edges.write_text("a,b,3\nb,c,1\na,c,2\nd,e,7\n")
    assert call("mst", edges, "--out", out)[0] == 0
    header, *lines = out.read_text().splitlines()
    assert header == "source,target,weight"
    assert sorted(lines) == ["a,c,2", "b,c,1", "d,e,7"]


def test_missing_parents_are_empty_texts_in_npz(call, tmp_path):
    edges, out = tmp_path / "edges.csv", tmp_path / "levels.npz"
    edges.write_text("a,b\nc,a\n")
    assert call("bfs", edges, "--source", "a", "--out", out)[0] == 0
    written = np.load(out)
    pairs = zip(written["vertex"].tolist(), written["parents"].tolist(), strict=True)
    assert dict(pairs) == {"a": "a", "b": "a", "c": ""}


def test_help_teaches_every_verb(call):
    code, out, _ = call("--help")
    assert code == 0
    for verb in VERBS:
        assert verb in out
        help_code, text, _ = call(verb, "--help")
        assert help_code == 0
        assert "Example: tgraph " + verb in text


def test_the_installed_command_and_version(tmp_path):
    command = Path(sys.executable).with_name("tgraph")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"tgraph {tg.__version__}"


def test_an_interrupted_run_says_so_and_writes_nothing(call, city, tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise InterruptedRunError("PageRank was interrupted after 3 iterations", None)

    monkeypatch.setattr(tg, "pagerank", interrupted)
    code, out, err = call("pagerank", city, "--out", tmp_path / "ranks.csv")
    assert code == 130
    assert err == "tgraph: PageRank was interrupted after 3 iterations; nothing was written\n"
    assert "Traceback" not in out
    assert not (tmp_path / "ranks.csv").exists()


def test_an_interrupt_outside_a_run_is_quiet_too(call, city, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tg, "pagerank", interrupted)
    code, out, err = call("pagerank", city)
    assert code == 130
    assert err == "tgraph: interrupted; nothing was written\n"
    assert "Traceback" not in out


def test_clusters_are_simulated(call, tmp_path: Path) -> None:
    file = tmp_path / "graph.safetensors"
    tg.write(tg.generate.rmat(8, 8, seed=1), file)
    speeds = ("--edges-per-second", "1e9", "--values-per-second", "4e8")
    code, out, _ = call("simulate-cluster", file, "--ranks", "2,16", *speeds)
    assert code == 0
    assert "graph.safetensors: an iteration of PageRank, 1e+09 edges per second" in " ".join(out.split())
    code, out, _ = call("simulate-cluster", "rmat33", "--ranks", "64", *speeds, "--gigabits", "25")
    assert "2.164e+09" in out  # edges of the largest rank
    assert "201.6 GB" in out
    code, _, err = call("simulate-cluster", "rmat33", "--ranks", "0", *speeds)
    assert code != 0
    assert "--ranks 0: give whole numbers of 1 or more" in err
