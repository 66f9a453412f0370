"""A file built from a file is the one that `read` and `write` would have made, or there is none."""

from __future__ import annotations

import errno
import gzip
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import assert_same
from tgraph.errors import FileFormatError, InvalidArgumentError, MemoryBudgetError, StoreReadError, TGraphError
from tgraph.io import files, parquet_chunks, store_chunks, tensor_file, text_chunks
from tgraph.memory import builder, edge_runs, staging, vertex_numbers

POLICIES = {
    "directed": st.booleans(),
    "duplicates": st.sampled_from(("keep", "first", "last", "min", "max", "sum")),
    "self_loops": st.sampled_from(("keep", "drop")),
}


def assert_built(source: Path, memory: str = "1GiB", **options: Any) -> tg.Graph:
    """Build with `options` and compare with what memory would have given, tensor by tensor."""
    folder = source.parent / "built"
    folder.mkdir(exist_ok=True)
    tg.build_file(source, folder / "built.safetensors", memory=memory, **options)
    expected = tg.read(source, runtime="numpy", **options)
    tg.write(expected, folder / "expected.safetensors", reverse=True)
    assert_same_files(folder / "built.safetensors", folder / "expected.safetensors")
    assert sorted(file.name for file in folder.iterdir()) == ["built.safetensors", "expected.safetensors"]
    return tg.read(folder / "built.safetensors", runtime="numpy", check="all")


def assert_same_files(built: Path, expected: Path) -> None:
    (found, said), (wanted, says) = (tensor_file.read_tensors(path) for path in (built, expected))
    assert said == says
    assert sorted(found) == sorted(wanted)
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name])
        assert found[name].dtype == wanted[name].dtype


def put(folder: Path, name: str, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    if name.endswith(".gz"):
        raw = gzip.compress(raw)
    elif name.endswith(".zst"):
        raw = zstandard.ZstdCompressor().compress(raw[: len(raw) // 2]) + zstandard.ZstdCompressor().compress(
            raw[len(raw) // 2 :]
        )
    path = folder / name
    path.write_bytes(raw)
    return path


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch, 50)


def cut_small(patch: pytest.MonkeyPatch, size: int, runs: int = 7) -> None:
    patch.setattr(text_chunks, "MAX_CHUNK_BYTES", size)
    patch.setattr(parquet_chunks, "MAX_CHUNK_ROWS", size)
    patch.setattr(store_chunks, "MAX_CHUNK_EDGES", size)
    patch.setattr(store_chunks, "MAX_CHUNK_VERTICES", size)
    patch.setattr(edge_runs, "RUNS", runs)
    patch.setattr(builder, "STAGED_SHARE", (1 << 30) // size)


TEXTS = {
    "tabs": ("a.txt", "# from to\n" + "".join(f"{i % 7}\t{i * i % 11}\n" for i in range(60)), {}),
    "no newline at the end": ("a.txt", "1\t2\n2\t3", {}),
    "sparse ids": ("a.tsv", "".join(f"{i % 5 * 10**17 - 7}\t{i**12 % 10**15}\n" for i in range(40)), {}),
    "header": ("a.csv", "from,to,km\n" + "".join(f"{i},{i * 3 % 17},{i % 4}\n" for i in range(40)), {"weights": "km"}),
    "header and comments": ("a.csv", "# hello\n\nfrom,to\n% no\n1,2\n// no\n2,1\n", {}),
    "runs of blanks": ("a.txt", "  1   20\n 1  300 \n20 300\t\n" * 9, {}),
    "carriage returns": ("a.txt", "1\t20\r\n1\t300\r\n\r\n20\t300\r\n" * 9, {}),
    "byte order mark": ("a.txt", "\ufeff1\t20\n1\t300\n20\t300\n", {}),
    "weights": ("a.txt", "".join(f"{i} {i * 7 % 13} {-i}\n" for i in range(40)), {}),
    "weights turn real": ("a.txt", "".join(f"{i} {i * 7 % 13} {i}\n" for i in range(40)) + "3 4 0.25\n", {}),
    "weights beyond 64 bits": ("a.txt", "1 2 9007199254740993\n" * 20 + "3 4 99999999999999999999\n", {}),
    "weights that are no numbers": ("a.txt", "1 2 nan\n2 3 nan\n3 1 4\n" * 10, {}),
    "weights left out": ("a.txt", "1 2 9\n2 3 x\n" * 20, {"weights": None}),
    "weight of zero edges": ("a.csv", "source,target,weight\n", {}),
    "other columns": ("a.csv", "7,a,b,1\n8,b,c,2\n" * 20, {"columns": (1, 2), "weights": 3}),
    "strings": ("a.txt", "".join(f"n{i % 9}\tlonger than twelve bytes {i % 5}\n" for i in range(40)), {}),
    "quoted strings": ("a.csv", '"a, b",c\n"line\nbreak",c\nc,"say ""hi"""\n' * 10, {"separator": ","}),
    "strings asked for": ("a.txt", "1 2\n10 9\n" * 20, {"ids": "string"}),
    "a comment with one quote": ("a.csv", '1,2\n# 5" long\n' * 20 + "2,3\n", {}),
    "skipped rows": ("a.txt", "3 lines\nof words\n1 2\n3 4\n", {"skip_rows": 2}),
    "more skipped than there is": ("a.txt", "1 2\n3 4\n", {"skip_rows": 9}),
    "separator": ("a.txt", "1;2\n3;4\n", {"separator": ";"}),
    "gz": ("a.txt.gz", "1 2\n3 4\n" * 30, {}),
    "zst": ("a.csv.zst", "a,b\n1,2\n3,4\n" * 1, {}),
    "vertex numbers": ("a.el", "0 5\n5 3\n", {}),
    "no vertex numbers": ("a.wel", "0 1000000000000000 3\n", {}),
    "numbers given": ("a.txt", "1 2 3\n3 4 5\n", {"num_vertices": 9}),
    "no labels": ("a.txt", "1 2\n3 4\n", {"labels": None}),
    "empty": ("a.txt", "", {}),
    "only comments": ("a.txt", "# one\n" * 30, {}),
    "a long comment": ("a.txt", "#" + "x" * (2 << 20) + "\n1 2\n", {}),
    "comments between": ("a.txt", "1 2\n" + "# only comments here\n" * 30 + "2 1\n", {}),
}


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("directed", [True, False])
def test_text(tmp_path: Path, small_chunks: None, case: str, directed: bool) -> None:
    name, content, options = TEXTS[case]
    assert_built(put(tmp_path, name, content), directed=directed, **options)


def test_text_in_one_chunk_and_an_archive(tmp_path: Path) -> None:
    text = "# a\n" + "".join(f"{i % 97}\t{i * i % 89}\t{i}\n" for i in range(5000))
    assert assert_built(put(tmp_path, "a.txt", text)).num_edges == 5000
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("a.txt")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text.encode()))
    assert assert_built(tmp_path / "a.tar.gz").num_edges == 5000


def test_large_ids_behind_small_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch, 3000)
    text = "".join(f"{i % 997}\t{i * i % 1013 + 5}\n" for i in range(4000))
    for more in ("70000\t1\n", f"{2**40}\t1\n" * 2, "-4\t3\n"):
        assert_built(put(tmp_path, "a.txt", text + more + text), memory="1MiB")


def test_chunks_have_fewer_bytes_where_lines_are_shorter(tmp_path: Path) -> None:
    text = f"{'x' * 200} {'y' * 200}\n" * 300 + "a b\nb c\n" * 50_000
    said: list[str] = []
    source = put(tmp_path, "a.txt", text)
    tg.build_file(source, tmp_path / "a.safetensors", memory="8MiB", say=said.append)
    taken = [int(words.partition(" ")[0].replace(",", "")) for words in said if "taken" in words]
    assert max(np.diff(taken)) < 1.5 * (4 << 20) / text_chunks.BYTES_PER_EDGE["string"]
    assert tg.read(tmp_path / "a.safetensors").num_edges == 100_300


def test_chunks_have_fewer_rows_where_strings_are_long(tmp_path: Path) -> None:
    names = [f"{i % 50:04d}" * 250 for i in range(5000)]
    pl.DataFrame({"source": names, "target": names[::-1]}).write_parquet(tmp_path / "a.parquet")
    said: list[str] = []
    tg.build_file(tmp_path / "a.parquet", tmp_path / "a.safetensors", memory="24MiB", say=said.append)
    taken = [int(words.partition(" ")[0].replace(",", "")) for words in said if "taken" in words]
    assert taken[0] == 1000
    assert max(np.diff(taken)) <= (12 << 20) / (4 * 2000)
    assert tg.read(tmp_path / "a.safetensors").num_vertices == 50


def test_ids_are_searched_for_where_there_is_no_room_for_a_table(tmp_path: Path, monkeypatch: Any) -> None:
    cut_small(monkeypatch, 3000)
    monkeypatch.setattr(vertex_numbers.IdTable, "num_bytes", lambda count: 1 << 60)
    text = "".join(f"{i % 997 * 10**12}\t{i * i % 1013}\n" for i in range(4000))
    assert_built(put(tmp_path, "a.txt", text))


def test_strings_with_the_same_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def poor_hashes(strings: pl.Series, seed: int) -> np.ndarray:
        seeds.append(seed)
        return strings.str.len_bytes().to_numpy().astype(np.int64) if seed < 2 else good_hashes(strings, seed)

    good_hashes = vertex_numbers._hashes
    monkeypatch.setattr(vertex_numbers, "_hashes", poor_hashes)
    assert_built(put(tmp_path, "a.txt", "ann bob\ncy ann\ndan bob\n"))
    assert seeds == [0, 1, 2, 0, 1, 2, 2]


FRAMES = {
    "plain": ({"source": [5, 7, 5], "target": [7, 9, 5]}, {}),
    "weights": ({"weight": [0.5, 2.0, -1.0], "target": [7, 9, 5], "source": [5, 7, 5]}, {}),
    "narrow weights": ({"a": [0, 1], "b": [1, 0], "weight": pl.Series([3, 4], dtype=pl.UInt8)}, {}),
    "single": ({"a": [0, 1], "b": [1, 0], "weight": pl.Series([3, 4], dtype=pl.Float32)}, {}),
    "strings": ({"source": ["x", "y", "x"], "target": ["y", "z", "x"]}, {}),
    "categories": ({"a": pl.Series(["x", "y"], dtype=pl.Categorical), "b": ["y", "z"]}, {}),
    "chosen": ({"a": [1], "b": [2], "c": [3]}, {"columns": ("b", "c"), "weights": "a"}),
    "empty": ({"a": pl.Series([], dtype=pl.Int64), "b": pl.Series([], dtype=pl.Int64)}, {}),
    "empty weights": ({name: pl.Series([], dtype=pl.Int32) for name in ("source", "target", "weight")}, {}),
}


@pytest.mark.parametrize("case", FRAMES)
@pytest.mark.parametrize("ending", ["parquet", "arrow", "parquet.gz"])
def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, ending: str) -> None:
    cut_small(monkeypatch, 2)
    content, options = FRAMES[case]
    packed = io.BytesIO()
    frame = pl.DataFrame(content)
    frame.write_ipc(packed) if ending == "arrow" else frame.write_parquet(packed, row_group_size=3)
    assert_built(put(tmp_path, f"a.{ending}", packed.getvalue()), **options)


@pytest.mark.parametrize("labels", [None, "integers", "strings"])
@pytest.mark.parametrize("directed", [True, False])
def test_native_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directed: bool, labels: str | None) -> None:
    cut_small(monkeypatch, 100)
    graph = tg.generate.rmat(8, 4, seed=2, directed=directed, weights=(1, 9), runtime="numpy")
    if labels is not None:
        names = np.arange(256)[::-1] * 10**12
        graph = graph.relabel(names if labels == "integers" else [f"vertex {name}" for name in names])
    source, out = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    tg.write(graph, source)

    def built(**options: Any) -> tg.Graph:
        tg.build_file(source, out, **options)
        return tg.read(out, check="all", runtime="numpy")

    assert_same(built(), graph)
    assert_same(built(duplicates="first", self_loops="drop"), graph.simplify())
    assert built(weights=None).weights is None
    assert_same(built(directed=False, duplicates="min"), graph.symmetrize() if directed else _minimum(graph))
    if directed:
        assert built(directed=False).num_edges == graph.num_edges
        assert not built(reverse=False).has_in_edges
    else:
        assert built(directed=True).num_edges == graph.num_arcs
    assert built(labels=None).vertex_labels is None
    with pytest.raises(InvalidArgumentError, match="a native file says itself that it has 256"):
        built(num_vertices=300)


def _minimum(graph: tg.Graph) -> tg.Graph:
    ids = graph.labels_of(np.arange(graph.num_vertices))
    plain = graph.relabel(None)
    merged = tg.from_edges(
        *plain.edges(), directed=False, num_vertices=graph.num_vertices, duplicates="min", runtime="numpy"
    )
    return merged if graph.vertex_labels is None else merged.relabel(ids)


def test_a_native_file_can_replace_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    tg.write(tg.from_edges([0, 1], [1, 2]), path)
    tg.build_file(path, path)
    assert tg.read(path).has_in_edges


def test_chunks_may_have_any_ids(tmp_path: Path) -> None:
    out = tmp_path / "a.safetensors"
    for columns in [([10**15, -3], [7, 7]), (["b", "a"], ["c", "b"]), ([0, 1], [1, 0])]:
        chunks = [([], [], []), *(([a], [b], [1.5]) for a, b in zip(*columns, strict=True)), ([], [], [])]
        chunks = [(s, t, np.asarray(w, np.float64)) for s, t, w in chunks]
        tg.build_file(chunks, out)
        assert_same(tg.read(out), tg.from_edges(*columns, weights=[1.5, 1.5]))
    with pytest.raises(InvalidArgumentError, match="ids of chunk 1 are not of one kind"):
        tg.build_file([([1], [2]), (["a"], ["b"])], out)
    with pytest.raises(InvalidArgumentError, match="give integers or strings"):
        tg.build_file([([(1, 2)], [(3, 4)])], out)


ids = st.one_of(st.integers(0, 12), st.integers(-(2**63), 2**63 - 1))
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='\r\n\0"#%/'), min_size=1, max_size=15)


@settings(deadline=None, max_examples=80)
@given(
    edges=st.one_of(
        st.lists(st.tuples(ids, ids, st.integers(-9, 9)), max_size=30),
        st.lists(st.tuples(ids, ids, st.floats(allow_nan=False)), max_size=30),
        st.lists(st.tuples(names, names, st.integers(-9, 9)), max_size=30),
    ),
    options=st.fixed_dictionaries(POLICIES),
    size=st.integers(1, 60),
    runs=st.integers(1, 5),
    ending=st.sampled_from(("csv", "csv.gz", "parquet", "arrow")),
    is_weighted=st.booleans(),
)
def test_any_edges(edges: Any, options: Any, size: int, runs: int, ending: str, is_weighted: bool) -> None:
    frame = pl.DataFrame(edges, schema=["source", "target", "weight"], orient="row")
    if not edges:
        frame = frame.cast(pl.Int64)
    frame = frame if is_weighted else frame.drop("weight")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        cut_small(patch, size, runs)
        packed = io.BytesIO()
        if ending.startswith("csv"):
            frame.write_csv(packed, quote_style="non_numeric")
        else:
            frame.write_parquet(packed) if ending == "parquet" else frame.write_ipc(packed)
        assert_built(put(Path(folder), f"a.{ending}", packed.getvalue()), **options)


# --- what goes wrong -------------------------------------------------------------------------------------------------
GOOD = "".join(f"{i}\t{i + 1}\t1\n" for i in range(1000))


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.txt", "# c\n" + GOOD + "7\n" + GOOD, {}),
        ("a.txt", GOOD + "7\t8\tx\n", {}),
        ("a.txt", GOOD + "7\t8y\t1\n", {}),
        ("a.txt", GOOD + "7\t8\t1\t9\n", {}),
        ("a.txt", GOOD + "7\t99999999999999999999\t1\n", {}),
        ("a.txt", "x y\nz w\n" + GOOD + "7\n", {"skip_rows": 2}),
        ("a.txt", "a\tb\n" * 500 + "c\n", {"header": True}),
        ("a.txt", b"1\t2\n" * 500 + b"\xff\xfe\t3\n", {}),
        ("a.txt", "1\n2\n", {}),
        ("a.csv", "1,2\n", {"weights": "cost"}),
        ("a.csv", "1,2\n", {"separator": "|"}),
        ("a.csv", "1,2\n", {"skip_rows": -1}),
        ("a.csv", "1,2\n", {"header": "maybe"}),
        ("a.csv", "1,2\n", {"ids": "float"}),
        ("a.csv", "1,1\n2,3\n2,2\n", {"self_loops": "error"}),
        ("a.csv", "1,1\n2,3\n2,3\n", {"duplicates": "error"}),
    ],
)
def test_errors_are_those_of_reading(
    tmp_path: Path, small_chunks: None, name: str, content: Any, options: dict[str, Any]
) -> None:
    source = put(tmp_path, name, content)
    with pytest.raises(TGraphError) as expected:
        tg.read(source, **options)
    with pytest.raises(type(expected.value)) as found:
        tg.build_file(source, tmp_path / "out.safetensors", **options)
    assert str(found.value) == str(expected.value)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def check_refused(source: Path, kind: type[BaseException], words: str, **options: Any) -> None:
    """Build over an old file: it must stay as it is, and nothing else may be left."""
    folder = source.parent / "out"
    folder.mkdir()
    (folder / "old.safetensors").write_bytes(b"old")
    with pytest.raises(kind, match=words):
        tg.build_file(source, folder / "old.safetensors", **options)
    assert [file.name for file in folder.iterdir()] == ["old.safetensors"]
    assert (folder / "old.safetensors").read_bytes() == b"old"


@pytest.mark.parametrize("ending", ["txt.gz", "txt.zst", "tar.gz"])
def test_compressed_text_that_is_cut_short(tmp_path: Path, ending: str) -> None:
    random = np.random.default_rng(1).integers(0, 10**9, (5000, 2))
    text = "".join(f"{a} {b}\n" for a, b in random.tolist())
    source = put(tmp_path, f"a.{ending}", text)
    if ending == "tar.gz":
        with tarfile.open(source, "w:gz") as tar:
            member = tarfile.TarInfo("a.txt")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    source.write_bytes(source.read_bytes()[:-2000])
    with pytest.raises(FileFormatError, match="is the file complete"):
        tg.read(source)
    check_refused(source, FileFormatError, "is the file complete")


def test_tables_that_are_cut_short_or_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"source": range(1000), "target": range(1000)})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-50])
    check_refused(tmp_path / "a.parquet", FileFormatError, "no Parquet file, or a damaged one")
    (tmp_path / "b").mkdir()
    cut_small(monkeypatch, 100)
    holed = frame.with_columns(target=pl.Series([None if i == 777 else i for i in range(1000)]))
    holed.write_parquet(tmp_path / "b" / "b.parquet")
    check_refused(tmp_path / "b" / "b.parquet", FileFormatError, "missing values, the first in row 777")


def test_a_damaged_native_file(tmp_path: Path) -> None:
    source = tmp_path / "a.safetensors"
    tg.write(tg.from_edges([0, 1, 2], [1, 2, 0]), source)
    content = bytearray(source.read_bytes())
    content[-4:] = (77).to_bytes(4, "little")
    source.write_bytes(content)
    check_refused(source, FileFormatError, "holds 77 at position 2")


def test_a_source_that_is_changed_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch, 1000)
    source = put(tmp_path, "a.txt", "1 2\n" * 5000)

    def change(words: str) -> None:
        if "taken" in words:
            with source.open("a") as file:
                file.write("3 4\n")

    check_refused(source, StoreReadError, "was changed while it was read", say=change)


@pytest.mark.parametrize("content", ["1 2 3\n" * 20, "a b 3\n" * 20])
@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, after: int) -> None:
    written = 0

    def write(file: Any, array: Any) -> None:
        nonlocal written
        written += 1
        if written > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(file, array)

    whole = files.write_array
    for module in (edge_runs, vertex_numbers, staging):
        monkeypatch.setattr(module, "write_array", write)
    source = put(tmp_path, "a.txt", content)
    check_refused(source, OSError, "no room is left in .*; nothing was written")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_small_disk(tmp_path: Path, small_disk: Path) -> None:
    for text in ("".join(f"{i} {i + 1}\n" for i in range(50_000)), "".join(f"n{i} m{i}\n" for i in range(20_000))):
        source = put(tmp_path, "a.txt", text)
        with pytest.raises(OSError, match="no room is left") as caught:
            tg.build_file(source, small_disk / "a.safetensors")
        assert caught.value.errno == errno.ENOSPC
        assert list(small_disk.iterdir()) == []


def test_memory_that_is_too_small(tmp_path: Path) -> None:
    source = put(tmp_path, "a.txt", "".join(f"{i * 10**9}\t{i}\n" for i in range(50_000)))
    for memory, words in [
        (1000, r"a chunk of text needs .*, taken already: nothing; give at least memory=\d+"),
        ("1MiB", r"a chunk of text needs .*, taken already: ids .* KiB; give at least memory=\d+"),
    ]:
        with pytest.raises(MemoryBudgetError, match=words):
            tg.build_file(source, tmp_path / "out.safetensors", memory=memory)
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_other_faults(tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    source = put(tmp_path, "a.txt", "a b\n")
    with pytest.raises(FileNotFoundError, match="does not exist; check the path"):
        tg.build_file(tmp_path / "missing.txt", out)
    with pytest.raises(InvalidArgumentError, match=r"'metis' of .* is read as a whole"):
        tg.build_file(put(tmp_path, "a.metis", "0 0\n"), out)
    with pytest.raises(InvalidArgumentError, match="depth=3 is no option: to build from 'text' takes weights, columns"):
        tg.build_file(source, out, depth=3)
    with pytest.raises(InvalidArgumentError, match="no vertex numbers"):
        tg.build_file(source, out, num_vertices=5)
    with pytest.raises(InvalidArgumentError, match=r"targets of .*n.txt holds 9; vertex numbers are from 0 to"):
        tg.build_file(put(tmp_path, "n.txt", "1 9\n"), out, num_vertices=5)
    with pytest.raises(InvalidArgumentError, match=r"sources of .*n.txt holds -1; vertex numbers start at 0"):
        tg.build_file(put(tmp_path, "n.txt", "-1 9\n"), out, labels=None)
    out.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        tg.build_file(source, out)


def test_it_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch, 100)
    said: list[str] = []
    tg.build_file(put(tmp_path, "a.txt", "1\t2\n" * 100), tmp_path / "a.safetensors", say=said.append)
    assert said[0] == "25 edges taken, 100% of the file"
    assert "100 of 100 edges numbered" in said
    assert said[-1] == "writing 100 edges"
