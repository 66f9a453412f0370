from __future__ import annotations

import copy
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.results import Iteration, Result, Trace


def result_of(labels: list[Any] | None, runtime: str = "numpy", **columns: list[Any]) -> Result:
    """A result on a graph without edges, with these fields; `friends` holds vertex numbers."""
    count = len(next(iter(columns.values())))
    graph = tg.from_edges([], [], num_vertices=count, runtime=runtime).relabel(labels)
    fields = {name: graph.runtime.asarray(np.asarray(column)) for name, column in columns.items()}
    trace = Trace("in_memory")
    trace.add(Iteration("push", 1, 2, 0.125))
    return Result("Search", graph, fields, trace, converged=True, residual=None, vertex_fields=("friends",))


# --- one value -------------------------------------------------------------------------------------------------------
def test_values_under_strings(runtime_name: str) -> None:
    result = result_of(["ann", "bob", "cy"], runtime_name, heights=[1.5, 2.5, 3.5], friends=[1, -1, 0])
    assert result["bob"] == 2.5
    assert type(result["bob"]) is float
    with pytest.raises(VertexNotFoundError, match="'dan' is not in the graph"):
        result["dan"]


def test_values_under_sparse_integers(runtime_name: str) -> None:
    result = result_of([10**12, -7, 5], runtime_name, levels=[4, 5, 6])
    assert (result[10**12], result[-7], result[5]) == (4, 5, 6)
    with pytest.raises(VertexNotFoundError, match="0 is not in the graph"):
        result[0]


def test_vertex_values_come_back_as_ids(runtime_name: str) -> None:
    named = result_of(["ann", "bob", "cy"], runtime_name, friends=[1, -1, 0])
    assert (named["ann"], named["bob"], named["cy"]) == ("bob", None, "ann")
    numbered = result_of([30, 20, 10], runtime_name, friends=[1, -1, 0])
    assert (numbered[30], numbered[20], numbered[10]) == (20, -1, 30)
    plain = result_of(None, runtime_name, friends=[1, -1, 0])
    assert [plain[vertex] for vertex in range(3)] == [1, -1, 0]


def test_components_under_strings(runtime_name: str) -> None:
    graph = tg.from_edges(["ann", "dan"], ["bob", "eve"], runtime=runtime_name)
    result = tg.wcc(graph)
    assert result.labels.tolist() == [0, 0, 2, 2]
    assert result["bob"] == "ann"
    assert result["eve"] == "dan"
    assert result.to_pandas()["labels"].tolist() == ["ann", "ann", "dan", "dan"]


# --- attributes ------------------------------------------------------------------------------------------------------
def test_fields_are_attributes(runtime_name: str) -> None:
    result = result_of(None, runtime_name, heights=[1.0, 2.0], levels=[3, 4])
    assert result.levels is result.fields["levels"]
    assert result.values is result.heights
    assert {"heights", "levels", "to_pandas"} <= set(dir(result))
    assert result.to_numpy().tolist() == [1.0, 2.0]
    assert isinstance(result.to_numpy(), np.ndarray)
    assert result.iterations == 1


def test_a_missing_attribute_names_those_that_exist() -> None:
    result = result_of(None, heights=[1.0], levels=[3])
    with pytest.raises(AttributeError, match=r"^a Search result has no 'ranks'; it has heights, levels$"):
        result.ranks  # noqa: B018


def test_results_can_be_copied_and_pickled() -> None:
    result = result_of(["ann", "bob"], heights=[1.0, 2.0])
    for twin in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert twin["bob"] == 2.0
        assert repr(twin) == repr(result)


# --- tables ----------------------------------------------------------------------------------------------------------
def test_to_pandas_under_the_users_ids(runtime_name: str) -> None:
    frame = result_of(["ann", "bob", "cy"], runtime_name, heights=[1.5, 2.5, 3.5], friends=[1, -1, 0]).to_pandas()
    assert frame.index.tolist() == ["ann", "bob", "cy"]
    assert frame.index.name == "vertex"
    assert list(frame.columns) == ["heights", "friends"]
    assert frame.loc["bob", "heights"] == 2.5
    assert frame["friends"].isna().tolist() == [False, True, False]
    assert frame["friends"].dropna().tolist() == ["bob", "ann"]


def test_to_pandas_under_integers_and_numbers() -> None:
    frame = result_of([30, 20, 10], friends=[1, -1, 0]).to_pandas()
    assert frame.index.tolist() == [30, 20, 10]
    assert frame["friends"].tolist() == [20, -1, 30]
    assert result_of(None, levels=[7, 8]).to_pandas()["levels"].to_dict() == {0: 7, 1: 8}


# --- top -------------------------------------------------------------------------------------------------------------
def test_top_breaks_ties_by_vertex_order(runtime_name: str) -> None:
    result = result_of(["a", "b", "c", "d"], runtime_name, heights=[2.0, 5.0, 5.0, 1.0], levels=[3, 1, 1, 2])
    assert result.top(3) == [("b", 5.0), ("c", 5.0), ("a", 2.0)]
    assert result.top(2, smallest=True) == [("d", 1.0), ("a", 2.0)]
    assert result.top(3, field="levels", smallest=True) == [("b", 1), ("c", 1), ("d", 2)]
    assert result.top(1, field="levels") == [("a", 3)]
    assert result.top(0) == []
    assert len(result.top()) == 4
    many = result_of(None, runtime_name, levels=[0, 1] * 500)
    assert [vertex for vertex, _ in many.top(500)] == list(range(1, 1000, 2))
    assert [vertex for vertex, _ in many.top(500, smallest=True)] == list(range(0, 1000, 2))


def test_top_of_extreme_values() -> None:
    smallest, largest = -(2**63), 2**63 - 1
    assert result_of(None, levels=[0, smallest, largest]).top(3) == [(2, largest), (0, 0), (1, smallest)]
    assert result_of(None, is_seen=[False, True, False, True]).top(2) == [(1, True), (3, True)]
    assert result_of(None, ranks=[1.0, math.inf, -math.inf]).top(3) == [(1, math.inf), (0, 1.0), (2, -math.inf)]


@pytest.mark.parametrize("smallest", [True, False])
def test_top_puts_nan_last(smallest: bool) -> None:
    ids = [vertex for vertex, _ in result_of(None, ranks=[math.nan, 1.0, 2.0]).top(3, smallest=smallest)]
    assert ids == ([1, 2, 0] if smallest else [2, 1, 0])


def test_top_of_vertex_values_shows_ids() -> None:
    assert result_of(["ann", "bob"], friends=[0, 1]).top(1) == [("bob", "bob")]


def test_top_refuses_what_it_does_not_know() -> None:
    result = result_of(None, heights=[1.0])
    for count in (-1, 1.5, "1", None, True):
        with pytest.raises(InvalidArgumentError, match=f"count={count!r} must be a whole number, 0 or more"):
            result.top(count)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="field='ranks' is not in this result; use one of heights"):
        result.column("ranks")
    with pytest.raises(InvalidArgumentError, match="field='ranks' is not in this result; use one of heights"):
        result.top(1, field="ranks")


def test_a_result_knows_its_vertices() -> None:
    result = result_of(["ann", "bob"], heights=[1.0, 2.0])
    assert "ann" in result
    assert "cy" not in result
    assert 1.0 not in result
    assert 5 not in result_of(None, heights=[1.0, 5.0])  # an id is looked for, not a value
    with pytest.raises(TypeError, match="not iterable"):
        list(result)  # type: ignore[call-overload]


# --- showing ---------------------------------------------------------------------------------------------------------
def test_repr() -> None:
    result = result_of(None, heights=[1.0] * 1500, levels=[2] * 1500)
    assert repr(result) == "Result(Search: heights, levels; 1,500 vertices, 1 iterations, converged, 0.125 s)"
    result.converged, result.residual = False, 0.00123456
    assert "not converged, residual 0.00123, 0.125 s" in repr(result)


def test_html_escapes_what_the_user_gave() -> None:
    result = result_of(["<b>", "a&b", '"x"'], **{"<i>": [1, 2, 3]}, friends=[0, 1, 2])
    result.name = "<script>"
    shown = result._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "a&amp;b" in shown
    assert "&lt;i&gt;" in shown
    assert "&lt;script&gt;" in shown
    assert set(re.findall(r"<\w+>", shown)) == {"<p>", "<b>", "<table>", "<thead>", "<tr>", "<th>", "<tbody>", "<td>"}
    assert shown.count("<b>") == 1  # the title's


def test_html_shows_the_first_rows() -> None:
    shown = result_of(None, levels=list(range(1200)))._repr_html_()
    assert shown.count("<tr>") == 11
    assert "<td>9</td>" in shown
    assert "<td>10</td>" not in shown
    assert "and 1,190 more vertices" in shown
    assert "more vertices" not in result_of(None, levels=[1, 2])._repr_html_()


# --- moving ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_to_another_runtime(runtime_name: str, target: str) -> None:
    result = result_of(["ann", "bob"], runtime_name, heights=[1.0, 2.0], friends=[1, -1])
    moved = result.to(target)
    assert moved.graph.runtime.name == target
    for tensor in moved.fields.values():
        assert type(tensor).__module__.partition(".")[0] == target
    assert moved["bob"] == 2.0
    assert moved.column("friends").tolist() == ["bob", None]
    assert (moved.trace, moved.converged, moved.residual) == (result.trace, True, None)
    assert result.graph.runtime.name == runtime_name
