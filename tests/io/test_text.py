"""Edge lists as text: layouts, options, damage, archives, real files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io import read, write


def parse(tmp_path: Path, text: str | bytes, name: str = "edges.txt", **options: object) -> Graph:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path, runtime="numpy", **options)


def pairs(graph: Graph) -> list[tuple]:
    sources, targets, _ = graph.edges()
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


EDGES = [(1, 20), (1, 300), (20, 300)]
LAYOUTS = {
    "tab": "1\t20\n1\t300\n20\t300\n",
    "no newline at the end": "1\t20\n1\t300\n20\t300",
    "blank": "1 20\n1 300\n20 300\n",
    "comma": "1,20\n1,300\n20,300\n",
    "comma and blank": "1, 20\n1 ,300\n20 , 300\n",
    "semicolon": "1;20\n1;300\n20;300\n",
    "runs of blanks": "  1   20\n 1  300 \n20 300\t\n",
    "runs of tabs": "1\t\t20\n1\t300\n20\t\t\t300\n",
    "tabs and blanks": "1 20\n1\t300\n20 \t 300\n",
    "trailing tabs": "1\t20\t\n1\t300\t\n20\t300\t\n",
    "carriage returns": "1\t20\r\n1\t300\r\n20\t300\r\n",
    "runs and carriage returns": "1  20\r\n1 300\r\n 20 300 \r\n",
    "empty lines": "\n1\t20\n\n1\t300\n   \n20\t300\n\n\n",
    "byte order mark": "\ufeff1\t20\n1\t300\n20\t300\n",
    "byte order mark and comment": "\ufeff# hello\n1\t20\n1\t300\n20\t300\n",
    "comments of all kinds": "# a\n% b\n// c\n1\t20\n# d\n1\t300\n// e\n20\t300\n% f",
    "indented comment": "1\t20\n  # d\n1\t300\n20\t300\n",
    "SNAP": "# Directed graph\n# Nodes: 3 Edges: 3\n# FromNodeId\tToNodeId\n1\t20\n1\t300\n20\t300\n",
    "header": "FromNodeId\tToNodeId\n1\t20\n1\t300\n20\t300\n",
    "header behind a comment": "# x\nsource,target\n1,20\n1,300\n20,300\n",
    "header of unknown names": "person;friend\n1;20\n1;300\n20;300\n",
    "header in runs": "src    dst\n1    20\n1   300\n20  300\n",
    "header with other columns": 'id,target,source,name\n7,20,1,"a,b"\n8,300,1,c\n9,300,20,d\n',
    "plus signs": "+1\t20\n1\t+300\n20\t300\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path: Path, layout: str) -> None:
    graph = parse(tmp_path, LAYOUTS[layout])
    assert sorted(pairs(graph)) == EDGES
    assert not graph.weighted
    assert graph.directed


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1 2 5\n2 3 7\n", {}, [5, 7]),
        ("1 2 5\n2 3 0.5\n", {}, [5.0, 0.5]),
        ("1 2 5 9\n2 3 7 8\n", {"weights": 3}, [9, 8]),
        ("1 2 1254192988\n2 3 1254192999\n", {"weights": None}, None),
        ("source,target,weight\n1,2,1e3\n2,3,-inf\n", {}, [1e3, -np.inf]),
        ("source,target,time\n1,2,99\n2,3,98\n", {}, None),
        ("source,target,time,Edge Weight\n1,2,99,5\n2,3,98,7\n", {}, [5, 7]),
        ("source,target,time\n1,2,99\n2,3,98\n", {"weights": "time"}, [99, 98]),
        ("a,b,c\n1,2,99\n2,3,98\n", {}, [99, 98]),
        ("1  2   5\n2 3 7\n", {}, [5, 7]),
    ],
)
def test_weights(tmp_path: Path, text: str, options: dict, expected: list | None) -> None:
    graph = parse(tmp_path, text, **options)
    assert pairs(graph) == [(1, 2), (2, 3)]
    assert (graph.weights.tolist() if graph.weighted else None) == expected


def test_weights_turn_real_behind_the_sample(tmp_path: Path) -> None:
    graph = parse(tmp_path, "".join(f"{i} {i + 1} {i}\n" for i in range(5000)) + "0 5 0.25\n")
    assert graph.num_edges == 5001
    assert graph.weights.dtype == np.float64


def test_irregularity_behind_the_sample(tmp_path: Path) -> None:
    graph = parse(tmp_path, "".join(f"{i} {i + 1}\n" for i in range(5000)) + " 0   5 \n// end\n")
    assert graph.num_edges == 5001
    assert not graph.weighted


def test_columns_by_name_and_number(tmp_path: Path) -> None:
    text = "time,to_whom,by_whom\n5,1,2\n6,1,3\n"
    assert pairs(parse(tmp_path, text, columns=("by_whom", "to_whom"))) == [(2, 1), (3, 1)]
    assert pairs(parse(tmp_path, text, columns=(2, 1), weights="time")) == [(2, 1), (3, 1)]
    for wrong in [("by_whom", "nobody"), (2, 3), (1, 1), "ab"]:
        with pytest.raises(InvalidArgumentError, match="columns"):
            parse(tmp_path, text, columns=wrong)
    with pytest.raises(InvalidArgumentError, match="column of ids"):
        parse(tmp_path, text, columns=(2, 1), weights=2)
    with pytest.raises(InvalidArgumentError, match="has no header"):
        parse(tmp_path, "1 2 3\n", weights="cost")


def test_string_ids(tmp_path: Path) -> None:
    graph = parse(tmp_path, 'from,to\n"ann, the first",bob\nbob,çy\n', name="names.csv")
    assert graph.vertex_labels.tolist() == ["ann, the first", "bob", "çy"]
    assert pairs(parse(tmp_path, "a b\nb 7\n")) == [("a", "b"), ("b", "7")]
    assert pairs(parse(tmp_path, "# x\na\tb\n% y\nb\tc\n")) == [("a", "b"), ("b", "c")]
    assert pairs(parse(tmp_path, "%a\tb\n%b\tc\n", comments=())) == [("%a", "b"), ("%b", "c")]


def test_quotes_and_ids_option_make_strings(tmp_path: Path) -> None:
    assert pairs(parse(tmp_path, '"1","2"\n"2","3"\n', name="a.csv")) == [("1", "2"), ("2", "3")]
    assert pairs(parse(tmp_path, "1,2\n2,3\n", ids="string")) == [("1", "2"), ("2", "3")]
    assert pairs(parse(tmp_path, '"1","2"\n"2","3"\n', name="a.csv", ids="integer")) == [(1, 2), (2, 3)]


def test_header_option(tmp_path: Path) -> None:
    assert pairs(parse(tmp_path, "x y\na b\n")) == [("a", "b"), ("x", "y")]
    assert pairs(parse(tmp_path, "x y\na b\n", header=True)) == [("a", "b")]
    assert pairs(parse(tmp_path, "source target\na b\n", header=False)) == [("a", "b"), ("source", "target")]


def test_options_of_from_edges(tmp_path: Path) -> None:
    text = "0 1 4\n0 1 2\n1 0 3\n2 2 1\n"
    graph = parse(tmp_path, text, directed=False, duplicates="min", self_loops="drop")
    assert (graph.num_vertices, graph.num_edges, graph.weights.tolist()) == (3, 1, [2, 2])
    assert parse(tmp_path, text, num_vertices=9).num_vertices == 9
    assert parse(tmp_path, "5 7\n", labels=[7, 6, 5]).vertex_labels.tolist() == [7, 6, 5]
    assert parse(tmp_path, "5 7\n", labels=None).num_vertices == 8


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# comments\n", "source,target\n", "#" + "x" * (2 << 20) + "\n"])
def test_empty(tmp_path: Path, text: str) -> None:
    graph = parse(tmp_path, text)
    assert (graph.num_vertices, graph.num_edges) == (0, 0)


def test_more_comments_than_the_head(tmp_path: Path) -> None:
    assert pairs(parse(tmp_path, "# long comment\n" * 100_000 + "5 6\n")) == [(5, 6)]


GOOD = "".join(f"{i}\t{i + 1}\t1\n" for i in range(1000))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("# c\n" + GOOD + "7\n" + GOOD, 1002, "has 1 column"),
        (GOOD + "7\t8\n", 1001, "has 2 column"),
        (GOOD + "7\t8\tx\n", 1001, "'x', which is no number; use weights=None"),
        (GOOD + "7\t8y\t1\n", 1001, "'8y', which is no integer; use ids='string'"),
        (GOOD + "7\t8\t1\t9\n", 1001, "has 4 columns"),
        (GOOD + "7\t99999999999999999999\t1\n", 1001, "64 bits"),
        (GOOD + "7\t\t1\n", 1001, "no integer"),
        ("1\t99999999999999999999\n", 1, "64 bits"),
        ("1\tb\na\tb\nc\n", 3, "has 1 column"),
        ("1\n2\n", None, "has 1 column"),
        ("1 2 {}\n", 1, "use weights=None"),
        ("%%MatrixMarket matrix coordinate\n", 1, "format='matrix_market'"),
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, text: str, line: int | None, reason: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(tmp_path, text)
    assert reason in str(caught.value)
    assert caught.value.path.endswith("edges.txt")
    if line:
        assert caught.value.where == f"line {line}"


def test_line_numbers_count_skipped_rows(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="line 4: "):
        parse(tmp_path, "3 2\n1 2\n2 3\nx\n", skip_rows=1)


@pytest.mark.parametrize("content", [b"a\tb\n" * 500 + b"\xff\xfe\tb\n", b"1\t2\n" * 500 + b"\xff\xfe\t3\n"])
def test_bytes_that_are_no_text(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(FileFormatError, match="line 501: byte 0xff is no UTF-8"):
        parse(tmp_path, content)


@pytest.mark.parametrize("content", [bytes(range(256)) * 10, b"\x1f\x8b\x08" + b"\x00" * 100, b"\x00" * 5000])
def test_binary_files_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(FileFormatError):
        parse(tmp_path, content)


@pytest.mark.parametrize(
    "options",
    [{"separator": "|"}, {"header": "maybe"}, {"ids": "float"}, {"skip_rows": -1}, {"skip_rows": 1.5}],
)
def test_wrong_options(tmp_path: Path, options: dict) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(options))):
        parse(tmp_path, "1 2\n", **options)


def test_el_keeps_isolated_vertices_but_allocates_for_no_huge_id(tmp_path: Path) -> None:
    graph = parse(tmp_path, "0 5\n5 3\n", name="graph.el")
    assert graph.num_vertices == 6
    assert graph.vertex_labels is None
    huge = parse(tmp_path, "0 1000000000000000\n", name="graph.el")
    assert huge.vertex_labels.tolist() == [0, 10**15]


def test_el_and_wel_are_written_as_gap_reads_them(tmp_path: Path) -> None:
    graph = from_edges([10, 30], [30, 20], weights=[5, 6])
    write(graph, tmp_path / "g.wel")
    assert (tmp_path / "g.wel").read_text() == "0 2 5\n2 1 6\n"
    with pytest.raises(InvalidArgumentError, match=r"use \.wel"):
        write(graph, tmp_path / "g.el")
    with pytest.raises(InvalidArgumentError, match=r"use \.el"):
        write(from_edges([0], [1]), tmp_path / "g.wel")


def test_written_text(tmp_path: Path) -> None:
    write(from_edges([3, 1], [1, 2], directed=False), tmp_path / "g.txt")
    text = (tmp_path / "g.txt").read_text()
    assert text == "# undirected, every edge once\n# vertices: 3 edges: 2\n# source\ttarget\n1\t2\n1\t3\n"


def archive(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def test_archive_of_one_file(tmp_path: Path) -> None:
    archive(tmp_path / "one.tar.gz", {"one.txt": b"2 2\n1 2\n2 3\n"})
    assert pairs(read(tmp_path / "one.tar.gz", skip_rows=1)) == [(1, 2), (2, 3)]
    archive(tmp_path / "two.tar.gz", {"one.txt": b"1 2\n", "two.txt": b"1 2\n"})
    with pytest.raises(FileFormatError, match=r"holds 2 files \(one.txt, two.txt\)"):
        read(tmp_path / "two.tar.gz")
    archive(tmp_path / "none.tar.gz", {})
    with pytest.raises(FileFormatError, match="holds 0 files"):
        read(tmp_path / "none.tar.gz")
    with pytest.raises(InvalidArgumentError, match="only read"):
        write(from_edges([0], [1]), tmp_path / "new.tar.gz")


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 2**62), st.integers(-(2**62), 99)), min_size=1, max_size=20),
    st.sampled_from([" ", "\t", ",", ";", "  ", " \t", ", "]),
    st.sampled_from(["", " ", "   "]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
)
def test_any_layout_gives_the_same_edges(
    tmp_path: Path, edges: list, separator: str, margin: str, end: str, has_comment: bool
) -> None:
    lines = [f"{margin}{source}{separator}{target}{margin}" for source, target in edges]
    lines.insert(len(lines) // 2, "# comment" if has_comment else "")
    assert sorted(pairs(parse(tmp_path, end.join(lines)))) == sorted(edges)


@pytest.mark.parametrize(
    ("name", "options", "num_vertices", "num_edges"),
    [
        ("wiki-Vote/wiki-Vote.txt.gz", {}, 7_115, 103_689),
        ("ego-Facebook/facebook_combined.txt.gz", {"directed": False}, 4_039, 88_234),
        ("email-Enron/email-Enron.txt.gz", {}, 36_692, 367_662),
        ("email-Enron/email-Enron.txt.gz", {"directed": False, "duplicates": "first"}, 36_692, 183_831),
        ("soc-Slashdot0902/soc-Slashdot0902.txt.gz", {}, 82_168, 948_464),
        ("web-NotreDame/web-NotreDame.tar.gz", {"skip_rows": 1}, 325_729, 1_497_134),
        ("sx-mathoverflow/sx-mathoverflow.txt.gz", {"weights": None}, 24_818, 506_550),
    ],
)
def test_real_graphs(shared_data: Path, name: str, options: dict, num_vertices: int, num_edges: int) -> None:
    graph = read(shared_data / name, **options)
    assert (graph.num_vertices, graph.num_edges, graph.weighted) == (num_vertices, num_edges, False)


def test_timestamps_as_weights(shared_data: Path) -> None:
    graph = read(shared_data / "sx-mathoverflow/sx-mathoverflow.txt.gz", weights=2, runtime="numpy")
    assert graph.weights.min() == 1254192988
    assert graph.weights.dtype == np.int64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": 3}, "columns=3 must be two"),
        ({"comments": 3}, "comments=3 must be the text that comments begin with"),
        ({"directed": "no"}, "directed='no' must be True or False"),
    ],
)
def test_options_of_another_kind_are_named(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        parse(tmp_path, "1 2\n2 3\n", **options)
