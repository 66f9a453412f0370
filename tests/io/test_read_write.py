"""Dispatch by ending, options, and round-trips through every format that this package writes as text or tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io import FORMAT_OF_ENDING, find_format, read, write

ANY = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
REAL = st.floats(allow_nan=False, width=64)
WHOLE = st.integers(-(2**62), 2**62)
INTEGER_IDS = st.integers(-(2**63), 2**63 - 1)
STRING_IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=6)


@st.composite
def graphs(
    draw: st.DrawFn,
    ids: st.SearchStrategy | None = None,
    weights: tuple = (None, REAL, WHOLE),
    directed: bool | None = None,
) -> Graph:
    """Graphs with duplicates, self-loops and isolated vertices; `ids` gives labels, None = vertex numbers."""
    count = draw(st.integers(1, 8))
    ends = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=20))
    sources, targets = (np.asarray([edge[k] for edge in edges], np.int64) for k in (0, 1))
    kind = draw(st.sampled_from(weights))
    values = None if kind is None else draw(st.lists(kind, min_size=len(edges), max_size=len(edges)))
    if values is not None:
        values = np.asarray(values, np.float64 if kind is REAL else np.int64)
    is_directed = draw(st.booleans()) if directed is None else directed
    graph = from_edges(sources, targets, values, is_directed, num_vertices=count, runtime="numpy")
    if ids is None:
        return graph
    return graph.relabel(draw(st.lists(ids, min_size=count, max_size=count, unique=True)))


def edge_set(graph: Graph, *, labels: bool = True) -> list[tuple]:
    """The edges in an order that does not depend on the vertex order; an undirected edge with its smaller end first."""
    sources, targets, weights = (graph if labels else graph.relabel(None)).edges()
    ends = [
        tuple(pair) if graph.directed else tuple(sorted(pair))
        for pair in zip(sources.tolist(), targets.tolist(), strict=True)
    ]
    values = [None] * len(ends) if weights is None else weights.tolist()
    return sorted(zip(ends, values, strict=True), key=repr)


def assert_same_edges(left: Graph, right: Graph) -> None:
    assert left.directed == right.directed
    assert edge_set(left) == edge_set(right)


def assert_same_rows(left: Graph, right: Graph) -> None:
    """Equal vertex by vertex, whatever the labels are."""
    assert left.num_vertices == right.num_vertices
    assert left.num_edges == right.num_edges
    assert_same_edges(left.relabel(None), right.relabel(None))
    right.check()


def through(graph: Graph, path: Path, **options: object) -> Graph:
    write(graph, path)
    return read(path, runtime="numpy", **options)


@ANY
@given(graphs(INTEGER_IDS), st.sampled_from(["txt", "edges", "csv", "tsv", "parquet", "arrow", "feather"]))
def test_tables_of_edges_keep_integer_ids(tmp_path: Path, graph: Graph, ending: str) -> None:
    assert_same_edges(through(graph, tmp_path / f"g.{ending}", directed=graph.directed), graph)


@ANY
@given(graphs(STRING_IDS), st.sampled_from(["txt", "csv", "tsv.gz", "csv.zst", "parquet", "feather"]))
def test_tables_of_edges_keep_string_ids(tmp_path: Path, graph: Graph, ending: str) -> None:
    assert_same_edges(through(graph, tmp_path / f"g.{ending}", directed=graph.directed), graph)


@ANY
@given(graphs(), st.sampled_from(["mtx", "mtx.gz", "mtx.zst"]))
def test_matrix_market_keeps_vertices_edges_and_weights(tmp_path: Path, graph: Graph, ending: str) -> None:
    again = through(graph, tmp_path / f"g.{ending}")
    assert_same_rows(graph, again)
    assert again.vertex_labels.tolist() == list(range(1, graph.num_vertices + 1))


@ANY
@given(graphs(weights=(None, WHOLE), directed=False))
def test_metis_keeps_vertices_edges_and_weights(tmp_path: Path, graph: Graph) -> None:
    graph = graph.simplify()
    again = through(graph, tmp_path / "g.metis")
    assert_same_rows(graph, again)
    assert again.vertex_labels.tolist() == list(range(1, graph.num_vertices + 1))


@ANY
@given(graphs(weights=(WHOLE,)))
def test_dimacs_keeps_vertices_edges_and_weights(tmp_path: Path, graph: Graph) -> None:
    graph = graph if graph.directed else graph.simplify("min")
    assert_same_rows(graph, through(graph, tmp_path / "g.gr", directed=graph.directed))


@ANY
@given(graphs(INTEGER_IDS), st.sampled_from(["", ".v", ".e", ".properties", ".v.gz"]))
def test_ldbc_keeps_everything(tmp_path: Path, graph: Graph, ending: str) -> None:
    write(graph, tmp_path / f"g{ending}", format="ldbc")
    again = read(tmp_path / f"g{ending}", runtime="numpy")
    assert_same_rows(graph, again)
    assert again.vertex_labels.tolist() == graph.vertex_labels.tolist()


@ANY
@given(graphs(weights=(None,)))
def test_el_keeps_vertex_numbers(tmp_path: Path, graph: Graph) -> None:
    again = through(graph, tmp_path / "g.el", directed=graph.directed)
    assert again.vertex_labels is None
    assert_same_edges(again, graph)


@ANY
@given(graphs(weights=(REAL, WHOLE)))
def test_wel_keeps_vertex_numbers_and_weights(tmp_path: Path, graph: Graph) -> None:
    if graph.num_edges:
        assert_same_edges(through(graph, tmp_path / "g.wel", directed=graph.directed), graph)


def check_read_or_refused(path: Path, content: bytes) -> None:
    """Whatever the bytes are, reading gives a sound graph of bounded size or a FileFormatError that names the file."""
    path.write_bytes(content)
    try:
        graph = read(path, runtime="numpy")
    except FileFormatError as error:
        message = str(error)
    else:
        graph.check()
        assert graph.num_vertices < 1_010_000
        return
    assert str(path) in message


HOSTILE = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = b"""1 2 3 0 -1 x a p sp c % # 1.5 999999999999999 99999999999999999999999 \xff " ,""".split(b" ")
WORDS += [b"%%MatrixMarket matrix coordinate real general", b"\n", b"\n", b"\n", b"\t"]


@HOSTILE
@given(
    st.binary(max_size=200), st.sampled_from(["txt", "csv", "el", "mtx", "metis", "gr", "parquet", "arrow", "txt.gz"])
)
def test_garbage(tmp_path: Path, content: bytes, ending: str) -> None:
    check_read_or_refused(tmp_path / f"garbage.{ending}", content)


@HOSTILE
@given(
    st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(["txt", "csv", "el", "wel", "mtx", "metis", "gr"])
)
def test_broken_words(tmp_path: Path, words: list[bytes], ending: str) -> None:
    check_read_or_refused(tmp_path / f"words.{ending}", b" ".join(words))


@HOSTILE
@given(
    graphs(weights=(WHOLE,), directed=False),
    st.sampled_from(["txt", "csv", "mtx", "metis", "gr"]),
    st.integers(0, 10_000),
    st.binary(max_size=3),
)
def test_changed_bytes(tmp_path: Path, graph: Graph, ending: str, place: int, other: bytes) -> None:
    path = tmp_path / f"changed.{ending}"
    write(graph.simplify(), path)
    content = path.read_bytes()
    place %= max(len(content), 1)
    check_read_or_refused(path, content[:place] + other + content[place + 2 :])


def test_every_known_ending_names_a_format() -> None:
    assert find_format("a/b.TXT.gz") == "text"
    assert find_format("web.tar.gz") == "text"
    assert find_format("x.graph") == "metis"
    assert find_format("x.properties") == "ldbc"
    assert {find_format(f"file{ending}") for ending in FORMAT_OF_ENDING} <= set(FORMAT_OF_ENDING.values())


def test_graph_and_properties_side_by_side_are_webgraph(tmp_path: Path) -> None:
    for ending in (".graph", ".properties"):
        (tmp_path / f"web{ending}").touch()
    assert find_format(tmp_path / "web.graph") == "webgraph"
    assert find_format(tmp_path / "web.properties") == "webgraph"


def test_webgraph_by_either_file(shared_data: Path) -> None:
    for ending in (".graph", ".properties"):
        graph = read(shared_data / "cnr-2000" / f"cnr-2000{ending}", runtime="numpy")
        assert (graph.num_vertices, graph.num_edges) == (325_557, 3_216_152)


def test_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'\.foo'.*\.mtx"):
        read(tmp_path / "graph.foo")
    with pytest.raises(InvalidArgumentError, match="format='foo' is not known"):
        read(tmp_path / "graph.txt", format="foo")


def test_missing_file_and_folder_have_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.txt does not exist"):
        read(tmp_path / "nothing.txt")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read(tmp_path / "nothing.v", directed=True)
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path / "folder.txt")
    with pytest.raises(FileNotFoundError, match="folder"):
        write(from_edges([0], [1]), tmp_path / "absent" / "graph.txt")


def test_unknown_option_names_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "graph.mtx"
    write(from_edges([0], [1]), path)
    with pytest.raises(InvalidArgumentError, match=r"directd=False.*'matrix_market' takes symmetric, runtime, device"):
        read(path, directd=False)
    with pytest.raises(InvalidArgumentError, match="takes no options"):
        write(from_edges([0], [1]), path, level=3)


def test_format_overrides_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "edges.dat"
    path.write_text("1 2\n2 3\n")
    assert read(path, format="text").num_edges == 2


def test_truncated_compressed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt.gz"
    write(from_edges(np.arange(1000), np.arange(1000)[::-1]), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match="decompressed"):
        read(path)


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    write(from_edges([0], [1]), path)
    before = path.read_bytes()
    with pytest.raises(InvalidArgumentError, match="line breaks"):
        write(from_edges(["a\nb"], ["c"]), path)
    with pytest.raises(InvalidArgumentError, match="tuple"):
        write(from_edges([(0, 1)], [(1, 1)]), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["edges.csv"]


def test_import_is_light() -> None:
    code = "import sys, tgraph.io; print(*(name for name in sys.modules if name.startswith('tgraph.io.')))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["tgraph.io.files"]


@pytest.mark.parametrize("ending", [".txt", ".csv.gz", ".parquet", ".mtx", ".gr", ".npz", ".safetensors"])
def test_a_folder_is_not_written_over(ending: str, tmp_path: Path) -> None:
    folder = tmp_path / f"graph{ending}"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        write(from_edges([0, 1], [1, 2]), folder)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


@pytest.mark.parametrize("ending", [".v", ".e", ".properties"])
def test_a_graph_of_several_files_that_is_not_there(ending: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.* does not exist; check the path"):
        read(tmp_path / f"nowhere{ending}")


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
def test_formats_of_networkx_are_named(ending: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"use tgraph\.read_{ending} or tgraph\.write_{ending}"):
        read(f"graph.{ending}")
