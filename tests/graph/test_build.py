"""Building graphs: every policy against a dictionary, every kind of input, every refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph.config import config
from tgraph.errors import InvalidArgumentError, InvalidGraphError, VertexNotFoundError
from tgraph.graph import Graph, from_csr, from_edges
from tgraph.graph.build import DUPLICATES, SELF_LOOPS, as_weights
from tgraph.kernels.cpu import team

Edge = tuple[Any, Any, Any]  # source, target, weight


def stored_edges(graph: Graph) -> list[Edge]:
    """Every stored direction under the user's ids, in storage order."""
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    values = [None] * targets.size if weights is None else weights.tolist()
    return list(zip(graph.labels_of(sources).tolist(), graph.labels_of(targets).tolist(), values, strict=True))


def pairs(graph: Graph) -> list[tuple[Any, Any]]:
    return [edge[:2] for edge in stored_edges(graph)]


# --- the model --------------------------------------------------------------------------------------------------------
JOIN: dict[str, Callable[[list[Any]], list[Any]]] = {
    "keep": list,
    "first": lambda weights: weights[:1],
    "last": lambda weights: weights[-1:],
    "min": lambda weights: [min(weights)],
    "max": lambda weights: [max(weights)],
    "sum": lambda weights: [sum(weights)],
    "error": list,
}


def model(edges: list[Edge], directed: bool, duplicates: str, self_loops: str) -> list[Edge] | None:
    """What should be stored, sorted by source and target, or None where an error is due."""
    if self_loops == "error" and any(source == target for source, target, _ in edges):
        return None
    rows: dict[tuple[Any, Any], list[Any]] = {}
    for source, target, weight in edges:
        if source == target and self_loops == "drop":
            continue
        for key in {(source, target)} if directed else {(source, target), (target, source)}:
            rows.setdefault(key, []).append(weight)
    if duplicates == "error" and any(len(weights) > 1 for weights in rows.values()):
        return None
    weighted = any(weight is not None for _, _, weight in edges)
    return [
        (*key, weight)
        for key in sorted(rows)
        for weight in (JOIN[duplicates](rows[key]) if weighted else rows[key][: None if duplicates == "keep" else 1])
    ]


ids = st.one_of(st.integers(0, 6), st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1, 2**40, 10**18]))


@settings(max_examples=300, deadline=None)
@given(
    ends=st.one_of(
        st.lists(st.tuples(ids, ids), max_size=25),
        st.lists(st.tuples(*[st.sampled_from(["a", "b", "", "ä", "long label", "7"])] * 2), max_size=15),
    ),
    weighted=st.sampled_from([None, "int64", "float64", "int32"]),
    directed=st.booleans(),
    duplicates=st.sampled_from(DUPLICATES),
    self_loops=st.sampled_from(SELF_LOOPS),
    num_threads=st.sampled_from([1, 2, 4]),
    runtime=st.sampled_from(["torch", "numpy"]),
    data=st.data(),
)
def test_from_edges_equals_the_model(
    ends: Any, weighted: str | None, directed: bool, duplicates: str, self_loops: str, num_threads: int, runtime: str,
    data: st.DataObject,
) -> None:  # fmt: skip
    numbers = data.draw(st.lists(st.integers(-9, 9), min_size=len(ends), max_size=len(ends)))
    edges = [(*end, number if weighted else None) for end, number in zip(ends, numbers, strict=True)]
    expected = model(edges, directed, duplicates, self_loops)
    weights = np.array(numbers, weighted) if weighted else None
    how = {"directed": directed, "duplicates": duplicates, "self_loops": self_loops, "runtime": runtime}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "num_threads", num_threads)
        patch.setattr(team, "MIN_WORK_PER_THREAD", 1)
        if expected is None:
            with pytest.raises(InvalidArgumentError, match="'error'; use 'keep' or"):
                from_edges([end[0] for end in ends], [end[1] for end in ends], weights, **how)
            return
        graph = from_edges([end[0] for end in ends], [end[1] for end in ends], weights, **how)
        graph.check()
    found = stored_edges(graph)
    assert [edge[:2] for edge in found] == [edge[:2] for edge in expected]
    assert found == expected
    labels = sorted({label for end in ends for label in end})
    assert graph.labels_of(np.arange(graph.num_vertices)).tolist() == labels
    loops = sum(source == target for source, target, _ in expected)
    assert graph.num_self_loops == loops
    assert graph.num_edges == (len(expected) if directed else (len(expected) + loops) // 2)
    assert graph.is_sorted
    assert graph.runtime.name == runtime
    assert not weighted or graph.runtime.dtype(graph.weights) == np.dtype(weighted)


# --- kinds of input ---------------------------------------------------------------------------------------------------
INTEGER_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4", ">i8"]
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "object array": lambda items: np.array(items, object),
    "object array of NumPy integers": lambda items: np.array([np.int64(item) for item in items], object),
    "strided": lambda items: np.repeat(items, 2)[::2],
    "torch": torch.tensor,
    "torch int32": lambda items: torch.tensor(items, dtype=torch.int32),
    "pandas": pd.Series,
    "pandas nullable": lambda items: pd.Series(items, dtype="Int64"),
    "pandas index": pd.Index,
    "pandas categorical": lambda items: pd.Series(items).astype("category"),
    "polars": pl.Series,
    "polars uint32": lambda items: pl.Series(items, dtype=pl.UInt32),
    "arrow": pa.array,
    "arrow chunked": lambda items: pa.chunked_array([items[:2], items[2:]]),
    **{f"numpy {dtype}": lambda items, dtype=dtype: np.array(items, dtype) for dtype in INTEGER_TYPES},
}
STRING_COLUMNS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "numpy U": np.array,
    "numpy StringDType": lambda items: np.array(items, np.dtypes.StringDType()),
    "object array": lambda items: np.array(items, object),
    "pandas": pd.Series,
    "pandas string": lambda items: pd.Series(items, dtype="string"),
    "pandas categorical": lambda items: pd.Series(items, dtype="category"),
    "polars": pl.Series,
    "polars categorical": lambda items: pl.Series(items, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda items: pa.array(items, pa.large_string()),
    "arrow chunked": lambda items: pa.chunked_array([items[:1], items[1:]]),
    "arrow dictionary": lambda items: pa.array(items).dictionary_encode(),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_integer_columns(kind: str) -> None:
    column = COLUMNS[kind]
    graph = from_edges(column([20, 10, 30, 10]), column([10, 30, 20, 20]))
    assert pairs(graph) == [(10, 20), (10, 30), (20, 10), (30, 20)]
    assert graph.vertex_labels is not None
    assert graph.vertex_labels.dtype == np.int64
    numbered = from_edges(column([2, 1, 3, 1]), column([1, 3, 2, 2]), num_vertices=5)
    assert numbered.vertex_labels is None
    assert pairs(numbered) == [(1, 2), (1, 3), (2, 1), (3, 2)]


@pytest.mark.parametrize("kind", STRING_COLUMNS)
def test_string_columns(kind: str) -> None:
    column = STRING_COLUMNS[kind]
    graph = from_edges(column(["b", "a", "c"]), column(["a", "c", "b"]))
    assert pairs(graph) == [("a", "c"), ("b", "a"), ("c", "b")]
    assert graph.vertex_of("c") == 2


@pytest.mark.parametrize("kind", ["list", "tuple", "torch", "pandas", "polars", "arrow", "arrow chunked", "strided"])
def test_weight_columns(kind: str) -> None:
    graph = from_edges([0, 1, 2], [1, 2, 0], COLUMNS[kind]([1.5, -2.0, 0.25]))
    assert stored_edges(graph) == [(0, 1, 1.5), (1, 2, -2.0), (2, 0, 0.25)]


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        ("float16", "float32"), ("float32", "float32"), ("float64", "float64"), (">f8", "float64"), ("bool", "int32"),
        ("int8", "int32"), ("int16", "int32"), ("int32", "int32"), ("int64", "int64"), (">i4", "int32"),
        ("uint8", "int64"), ("uint16", "int64"), ("uint32", "int64"), ("uint64", "int64"),
    ],
)  # fmt: skip
def test_weight_types(dtype: str, stored: str, runtime_name: str) -> None:
    graph = from_edges([0, 1], [1, 0], np.array([1, 0], dtype), runtime=runtime_name)
    assert graph.runtime.dtype(graph.weights) == np.dtype(stored)
    assert np.asarray(graph.weights).tolist() == [1, 0]


def test_weights_are_kept_exactly() -> None:
    assert stored_edges(from_edges([0], [1], [2**53 + 1])) == [(0, 1, 2**53 + 1)]
    special = stored_edges(from_edges([0, 0, 0], [1, 2, 3], [np.nan, np.inf, 0.0]))
    assert np.isnan(special[0][2])
    assert [edge[2] for edge in special[1:]] == [np.inf, 0.0]
    assert as_weights(torch.tensor([1.5], requires_grad=True)).tolist() == [1.5]
    assert as_weights(pa.array([True, False])).tolist() == [1, 0]


def test_the_input_is_not_changed_and_not_shared() -> None:
    sources, targets, weights = np.array([1, 0], np.int32), np.array([0, 1], np.int32), np.array([1.0, 2.0])
    for column in (sources, targets, weights):
        column.setflags(write=False)
    graph = from_edges(sources, targets, weights, directed=False)
    assert not any(np.shares_memory(column, np.asarray(graph.weights)) for column in (sources, targets, weights))
    assert stored_edges(graph) == [(0, 1, 1.0), (0, 1, 2.0), (1, 0, 1.0), (1, 0, 2.0)]


# --- ids and labels ---------------------------------------------------------------------------------------------------
def test_ids_that_are_numbers_need_no_labels() -> None:
    graph = from_edges([0, 2], [1, 0])
    assert graph.vertex_labels is None
    assert graph.num_vertices == 3


@pytest.mark.parametrize("labels", [[30, 10, 20, 99], np.array([30, 10, 20, 99]), pl.Series([30, 10, 20, 99])])
def test_given_labels_fix_the_order_and_add_isolated_vertices(labels: Any) -> None:
    graph = from_edges([10, 20], [20, 30], labels=labels)
    assert graph.vertex_labels is not None
    assert graph.vertex_labels.tolist() == [30, 10, 20, 99]
    assert np.asarray(graph.out_targets).tolist() == [2, 0]
    assert np.asarray(graph.out_degrees()).tolist() == [0, 1, 1, 0]
    assert from_edges([10], [20], labels=labels, num_vertices=4).num_vertices == 4


def test_given_string_labels() -> None:
    graph = from_edges(["b"], ["a"], labels=["a", "b", "alone"])
    assert (graph.num_vertices, graph.vertex_of("alone"), pairs(graph)) == (3, 2, [("b", "a")])


def test_labels_none_means_vertex_numbers() -> None:
    graph = from_edges([5], [3], labels=None)
    assert (graph.num_vertices, graph.vertex_labels) == (6, None)
    assert from_edges([], [], labels=None).num_vertices == 0


def test_tuples_and_mixed_objects_come_in_order_of_appearance() -> None:
    graph = from_edges([(1, 2), "a", 3], ["a", 3, (1, 2)])
    assert graph.vertex_labels is not None
    assert graph.vertex_labels.tolist() == [(1, 2), "a", 3]
    assert graph.vertex_of((1, 2)) == 0
    assert from_edges([(0, 0), (0, 1)], [(0, 1), (0, 0)]).num_vertices == 2


def test_integers_and_strings_that_look_alike_stay_apart() -> None:
    graph = from_edges([1, "1"], ["1", 1])
    assert graph.num_vertices == 2
    assert from_edges([1, 2], ["1", "2"]).num_vertices == 4


@pytest.mark.parametrize("directed", [True, False])
def test_empty_graphs(directed: bool, runtime_name: str) -> None:
    for graph, size in (
        (from_edges([], [], directed=directed, runtime=runtime_name), 0),
        (from_edges([], [], [], directed=directed, num_vertices=4, runtime=runtime_name), 4),
        (from_edges(np.empty(0), np.empty(0, np.int32), labels=["x", "y"], directed=directed), 2),
    ):
        graph.check()
        assert (graph.num_vertices, graph.num_edges, graph.num_arcs) == (size, 0, 0)


def test_vertex_ids_are_32_bit_and_offsets_64_bit(runtime_name: str) -> None:
    graph = from_edges([10**18, 5], [5, -(2**63)], runtime=runtime_name)
    assert graph.runtime.dtype(graph.out_targets) == np.int32
    assert graph.runtime.dtype(graph.out_offsets) == np.int64
    assert graph.runtime.name == runtime_name


def test_undirected_duplicates_join_across_directions() -> None:
    graph = from_edges([0, 1, 1], [1, 0, 1], [5, 3, 7], directed=False, duplicates="first")
    assert stored_edges(graph) == [(0, 1, 5), (1, 0, 5), (1, 1, 7)]
    assert graph.num_edges == 2


# --- refusals ---------------------------------------------------------------------------------------------------------
def call(**arguments: Any) -> dict[str, Any]:
    return arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (call(sources=[0, 1], targets=[1]), "sources has 2 entries and targets 1; give one of each per edge"),
        (call(sources=[0], targets=[1], weights=[1, 2]), "weights has 2 entries for 1 edges"),
        (call(sources=[0.5], targets=[1]), "sources holds float64; ids must be integers or strings (missing values?)"),
        (call(sources=[1], targets=np.array([1.0])), "targets holds float64"),
        (call(sources=[1, np.nan], targets=[1, 2]), "sources holds float64"),
        (call(sources=[1, None], targets=[1, 2]), "sources has missing values; drop those edges first"),
        (call(sources=["a", None], targets=["b", "c"]), "sources has missing values"),
        (call(sources=np.array(["a", np.nan], object), targets=["b", "c"]), "sources has missing values"),
        (call(sources=pd.Series([1, None], dtype="Int64"), targets=[1, 2]), "missing values"),
        (call(sources=[1, pd.NA], targets=[1, 2]), "sources has missing values"),
        (call(sources=pd.Series(["a", None], dtype="string"), targets=["a", "b"]), "sources has missing values"),
        (call(sources=pl.Series([1, None]), targets=[1, 2]), "sources holds float64"),
        (call(sources=pl.Series(["a", None]), targets=["a", "b"]), "sources has missing values"),
        (call(sources=pa.array([1, None]), targets=[1, 2]), "sources holds float64"),
        (call(sources=[True], targets=[False]), "sources holds bool"),
        (call(sources=[1j], targets=[1]), "sources holds complex128"),
        (call(sources=np.array([b"a"]), targets=[1]), "sources holds bytes8"),
        (call(sources=np.zeros((2, 2), int), targets=[0, 1]), "sources has 2 dimensions"),
        (call(sources=[5, 1], targets=[0, 1], directed="no"), "directed='no' must be True or False"),
        (call(sources=[5, 1], targets=[0, 1], directed=None), "directed=None must be True or False"),
        (call(sources={5, 1}, targets=[0, 1]), "sources is a set, not a column"),
        (call(sources=[5, 1], targets={0: 1, 1: 2}), "targets is a dict, not a column"),
        (call(sources=[5, 1], targets=[1, 2], weights={1.0, 2.0}), "weights is a set, not a column"),
        (call(sources=[5, 1], targets=[1, 2], weights=3.0), "weights=3.0 must be a column of values"),
        (call(sources="ab", targets="cd"), "sources='ab' must be a column of values"),
        (call(sources=[[0, 1], [1, 2]], targets=[0, 1]), "sources holds [0, 1], a list; give one id per edge"),
        (call(sources=[{"a": 1}], targets=[0]), "a dict; give one id per edge"),
        (call(sources=torch.zeros(2, 2, dtype=torch.int64), targets=[0, 1]), "sources has 2 dimensions"),
        (call(sources=[2**63], targets=[0]), "sources holds 9223372036854775808; ids must be below 2^63"),
        (call(sources=[2**63, -1], targets=[0, 1]), "sources holds ids beyond 64 bits; give them as strings"),
        (call(sources=[2**70], targets=[0]), "sources holds ids beyond 64 bits; give them as strings"),
        (call(sources=[0], targets=[1], weights=["x"]), "weights must be numbers"),
        (call(sources=[0], targets=[1], weights=[1j]), "weights holds complex128"),
        (call(sources=[0], targets=[1], weights=[None]), "weights holds object"),
        (call(sources=[0], targets=[1], weights=[[1.0]]), "weights"),
        (call(sources=[0], targets=[1], weights=np.ones((1, 1))), "weights has 2 dimensions"),
        (call(sources=[0], targets=[1], weights=np.array([2**63], np.uint64)), "integer weights must be below 2^63"),
        (call(sources=[-1], targets=[1], num_vertices=3), "sources holds -1; vertex numbers start at 0"),
        (call(sources=[0], targets=[-2], labels=None), "targets holds -2; vertex numbers start at 0"),
        (call(sources=[0], targets=[3], num_vertices=3), "targets holds 3, beyond num_vertices=3; use 4 or more"),
        (call(sources=["a"], targets=["b"], num_vertices=3), "sources holds no integers"),
        (call(sources=[0], targets=[1], num_vertices=-1), "num_vertices=-1 must be a whole number, 0 or more"),
        (call(sources=[0], targets=[1], num_vertices=2.5), "num_vertices=2.5 must be a whole number"),
        (call(sources=[0], targets=[1], num_vertices="2"), "num_vertices='2' must be a whole number"),
        (call(sources=[0], targets=[1], num_vertices=True), "num_vertices=True must be a whole number"),
        (call(sources=[0], targets=[1], labels="none"), "labels='none' is not known"),
        (call(sources=[0], targets=[1], labels=[0, 1, 1]), "labels has 3 entries but only 2 distinct ones"),
        (call(sources=[0], targets=[1], labels=[0, 1], num_vertices=3), "labels has 2 entries for 3 vertices"),
        (call(sources=[0], targets=[1], duplicates="merge"), "duplicates='merge' is not known; use one of 'keep'"),
        (call(sources=[0], targets=[1], self_loops="remove"), "self_loops='remove' is not known"),
        (call(sources=[0, 0], targets=[1, 1], duplicates="error"), "1 stored edges repeat another one"),
        (call(sources=[0, 1], targets=[1, 1], self_loops="error"), "edge 1 is a self-loop and self_loops='error'"),
        (call(sources=[0], targets=[1], runtime="abacus"), "runtime='abacus' is not known"),
        (call(sources=[0], targets=[1], device="nowhere"), "device='nowhere'"),
    ],
)  # fmt: skip
def test_bad_edges(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        from_edges(**arguments)


def test_edges_of_vertices_that_the_labels_lack() -> None:
    with pytest.raises(VertexNotFoundError, match="vertex 7 is not in the graph"):
        from_edges([1, 7], [2, 1], labels=[1, 2])
    with pytest.raises(VertexNotFoundError, match="vertex 'z' is not in the graph"):
        from_edges(["z"], ["a"], labels=["a"])


# --- from_csr ---------------------------------------------------------------------------------------------------------
def test_from_csr(runtime_name: str) -> None:
    graph = from_csr([0, 2, 2, 3], [2, 1, 0], [1.0, 2.0, 3.0], labels=["a", "b", "c"], runtime=runtime_name)
    assert stored_edges(graph) == [("a", "c", 1.0), ("a", "b", 2.0), ("c", "a", 3.0)]
    assert not graph.is_sorted
    assert from_csr([0, 2, 2, 3], [1, 2, 0]).is_sorted
    assert graph.runtime.name == runtime_name


def test_from_csr_shares_memory_where_types_fit(runtime_name: str) -> None:
    offsets, targets, weights = np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([0.5, 1.5])
    graph = from_csr(offsets, targets, weights, runtime=runtime_name)
    for mine, yours in zip(graph.adjacency("out").to_numpy(), (offsets, targets, weights), strict=True):
        assert np.shares_memory(mine, yours)


def test_from_csr_undirected() -> None:
    graph = from_csr([0, 2, 3], [0, 1, 0], directed=False)
    assert (graph.num_edges, graph.num_arcs, graph.num_self_loops) == (2, 3, 1)
    with pytest.raises(InvalidGraphError, match="stored in one direction only"):
        from_csr([0, 1, 1], [1], directed=False)


@pytest.mark.parametrize("dtype", INTEGER_TYPES)
def test_from_csr_takes_every_integer_type(dtype: str) -> None:
    graph = from_csr(np.array([0, 1, 2], dtype), np.array([1, 0], dtype))
    assert graph.runtime.dtype(graph.out_targets) == np.int32
    assert pairs(graph) == [(0, 1), (1, 0)]


def test_from_csr_of_nothing() -> None:
    for graph in (from_csr([0], []), from_csr([0, 0, 0], [], [])):
        graph.check()
        assert graph.num_edges == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([0, 1], [5]), "1 edges lead outside the vertices (0 to 0); position 0 to 5"),
        (([0, 1], [-1]), "1 edges lead outside the vertices (0 to 0); position 0 to -1"),
        (([0, 1], [2**40]), "position 0 to 1099511627776"),
        (([1, 1], [0]), "out_offsets starts at 1, not 0"),
        (([0, 2, 1], [0]), "out_offsets falls from 2 to 1 at vertex 1"),
        (([0, 1], [0, 0]), "out_offsets ends at 1 but there are 2 edges"),
        (([0, 1], [0], [1, 2]), "there are 2 weights for 1 edges"),
    ],
)
def test_broken_rows(arguments: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(InvalidGraphError, match=re.escape(problem)) as raised:
        from_csr(*arguments)
    assert len(raised.value.problems) >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "offsets is empty; it needs one entry more than there are vertices"),
        (([0.0, 1.5], [0]), "offsets holds float64"),
        (([0, 1], [0.0]), "targets holds float64; vertex numbers must be integers"),
        (([0, 1], ["a"]), "vertex numbers must be integers"),
        (([0, 1], np.zeros((1, 1), int)), "targets has 2 dimensions"),
        ((["a"], []), "offsets must be integers"),
        (([0, 1], [0], None, "yes"), "directed='yes' must be True or False"),
        (([0, 1], np.array([2**64 - 1], np.uint64)), "targets holds 18446744073709551615"),
        (([0, 1], [0], None, True, ["a", "b"]), "labels has 2 entries for 1 vertices"),
    ],
)
def test_bad_rows(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        from_csr(*arguments)


@pytest.mark.parametrize(("dtype", "wider"), [("int32", "int64 or float64"), ("int64", "float64")])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_beyond_the_type_of_the_weights_are_refused(dtype: str, wider: str, sign: int) -> None:
    most = np.iinfo(dtype).max
    weights = sign * np.array([most, most // 2, 7], dtype)
    with pytest.raises(InvalidArgumentError, match=f"beyond {dtype}; use {wider} weights"):
        from_edges([0, 0, 0], [1, 1, 2], weights, duplicates="sum")
    with pytest.raises(InvalidArgumentError, match=f"beyond {dtype}"):
        from_edges([0, 0, 0], [1, 1, 2], weights).simplify("sum")
    summed = from_edges(
        [0, 0, 0, 0], [1, 2, 2, 3], sign * np.array([most // 2, 5, 7, most // 2], dtype), duplicates="sum"
    )
    assert stored_edges(summed) == [(0, 1, sign * (most // 2)), (0, 2, sign * 12), (0, 3, sign * (most // 2))]
