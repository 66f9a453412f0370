"""Programs compiled into Triton kernels, in the interpreter, against the plain path."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from launched_cases import PAIRS

import tgraph as tg
from odd_graphs import odd_graphs
from tgraph.errors import InvalidProgramError
from tgraph.kernels import registry
from tgraph.kernels.gpu.fused.pull import Pull
from user_programs import WidestPath

FIFTY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def on_gpu(run: Any, **how: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.KERNELS, "cpu", "gpu")
        return run(kernel="fused", **how)


def assert_same(run: Any, rtol: float = 0, **how: Any) -> Any:
    """Compare a run on the kernels with the plain one: values, iterations, and who was active when."""
    expected, found = run(kernel="plain", **how), on_gpu(run, **how)
    assert found.trace.kernel == "fused"
    assert (found.iterations, found.converged) == (expected.iterations, expected.converged)
    for name, tensor in expected.fields.items():
        assert found.fields[name].dtype == tensor.dtype
        torch.testing.assert_close(found.fields[name], tensor, rtol=rtol, atol=0, equal_nan=True)
    seen, wanted = ([(row.active_vertices, row.active_edges) for row in one.trace] for one in (found, expected))
    assert seen == wanted
    return found


def rounding(dtype: str, graph: tg.Graph, iterations: int) -> float:
    """Return how far two orders of summing values that are not negative may lie apart: half an ulp per term."""
    if not dtype.startswith("float"):
        return 0.0
    return iterations * (2 * graph.num_edges + 1) * float(np.finfo(dtype).eps)


class Mixed(tg.Program):
    """Any type and reduction; it reads the edge and both ends, and counts messages, so each must come once."""

    def __init__(self, dtype: str, reduce: str, active: str, along: str) -> None:
        self.dtype, self.reduce, self.active, self.along = dtype, reduce, active, along

    def init(self, graph: tg.Graph) -> Any:
        numbers = graph.runtime.arange(0, graph.num_vertices, "int64")
        fields = {
            "value": graph.runtime.astype(numbers % 5 % (2 if self.dtype == "bool" else 5), self.dtype),
            "rounds": graph.full(0, "int32"),
        }
        return fields, None if self.active == "all" else numbers % 3 == 0

    def message(self, value: Any, weight: Any, source: Any, target_rounds: Any) -> Any:
        return tg.where((source % 4 != 3) | (weight > 1), value, tg.where(target_rounds < 0, value, value))

    def update(self, value: Any, rounds: Any, incoming: Any) -> Any:
        return {"value": tg.where(rounds < 3, incoming, value), "rounds": rounds + 1}


@pytest.mark.parametrize("direction", ["push", "pull"])
@FIFTY
@given(
    odd_graphs(weights=("none", "int32", "float64")),
    st.sampled_from(PAIRS),
    st.sampled_from(["out", "in", "both"]),
)
def test_frontiers_of_any_type_and_reduction(direction: str, graph: tg.Graph, pair: Any, along: str) -> None:
    dtype, reduce = pair
    assume(graph.num_vertices)
    graph = graph.to("torch", "cpu")
    assert_same(
        lambda **how: tg.run(Mixed(dtype, reduce, "changed", along), graph, max_iterations=2, **how),
        rounding(dtype, graph, 2),
        direction=direction,
    )


@FIFTY
@given(odd_graphs(weights=("none", "float32")), st.sampled_from(PAIRS), st.sampled_from(["out", "both"]))
def test_sweeps_of_any_type_and_reduction(graph: tg.Graph, pair: Any, along: str) -> None:
    dtype, reduce = pair
    assume(graph.num_vertices)
    graph = graph.to("torch", "cpu")
    assert_same(
        lambda **how: tg.run(Mixed(dtype, reduce, "all", along), graph, max_iterations=2, **how),
        rounding(dtype, graph, 2),
    )


def sent_along(value: Any, weight: Any, source: Any) -> Any:
    return tg.where((source % 4 != 3) | (weight > 1), value, value)


class Aggregated(tg.Program):
    """Overrides `compute`: what reaches each vertex along its edges, once."""

    active = "all"

    def __init__(self, dtype: str, reduce: str, along: str) -> None:
        self.dtype, self.op, self.along_edges = dtype, reduce, along

    def init(self, graph: tg.Graph) -> Any:
        numbers = graph.runtime.arange(0, graph.num_vertices, "int64")
        return graph.runtime.astype(numbers % (2 if self.dtype == "bool" else 5), self.dtype), None

    def compute(self, state: Any, edges: Any) -> Any:
        value = state.fields["value"]
        found = edges.aggregate(value, self.op, along=self.along_edges, message=sent_along)
        state.fields["value"] = edges.graph.runtime.astype(found, self.dtype)
        return edges.graph.runtime.full(1, 0.0, "float64")


@FIFTY
@given(
    odd_graphs(weights=("none", "int32", "float64")),
    st.sampled_from(PAIRS),
    st.sampled_from(["out", "in", "both"]),
)
def test_aggregations_of_any_type_and_reduction(graph: tg.Graph, pair: Any, along: str) -> None:
    dtype, reduce = pair
    assume(graph.num_vertices)
    graph = graph.to("torch", "cpu")
    expected = tg.run(Aggregated(dtype, reduce, along), graph, max_iterations=1, kernel="plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.KERNELS, "cpu", "gpu")
        calls, reduced = [], Pull.reduce
        patch.setattr(Pull, "reduce", lambda *args: (calls.append(1), reduced(*args))[1])
        found = tg.run(Aggregated(dtype, reduce, along), graph, max_iterations=1)
    assert calls
    torch.testing.assert_close(found.values, expected.values, rtol=rounding(dtype, graph, 1), atol=0, equal_nan=True)


class Nans(tg.Program):
    """Weights may be NaN, which wins."""

    reduce = "min"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(math.inf, "float32", at={0: 0.0}), graph.full(False, "bool", at={0: True})

    def message(self, value: Any, weight: Any) -> Any:
        return value + weight

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
@pytest.mark.parametrize("reduce", ["min", "max"])
def test_nan_wins(direction: str, reduce: str) -> None:
    weights = np.array([1.0, np.nan, -2.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    ends = [0, 0, 0, 0, 1, 1, 2], [1, 2, 3, 3, 4, 5, 6]
    graph = tg.from_edges(*ends, weights, runtime="torch")

    def run(**how: Any) -> Any:
        program = Nans()
        program.reduce = reduce
        return tg.run(program, graph, max_iterations=3, **how)

    found = assert_same(run, direction=direction)
    assert found.values[2].isnan()


def hub(count: int = 70) -> tg.Graph:
    """Rows longer than what several programs take, in both directions, with empty rows beside."""
    spokes = np.arange(1, count + 1)
    ends = np.concatenate([np.zeros_like(spokes), spokes]), np.concatenate([spokes, np.full(count, count + 3)])
    return tg.from_edges(*ends, (ends[1] % 5 + 1).astype(np.float64), num_vertices=count + 6, runtime="torch")


@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_hubs_larger_than_a_program(direction: str) -> None:
    graph = hub()
    graph.adjacency("in")
    assert_same(lambda **how: tg.run(WidestPath(), graph, **how), direction=direction)
    assert_same(lambda **how: tg.bfs(graph, 0, parents=False, **how), direction=direction)
    assert_same(lambda **how: tg.sssp(graph, 0, parents=False, max_iterations=9, **how), direction=direction)


ALGORITHMS = {
    "bfs": lambda graph, **how: tg.bfs(graph, 0, direction="push", **how),
    "sssp": lambda graph, **how: tg.sssp(graph, 0, direction="pull", **how),
    "wcc": lambda graph, **how: tg.wcc(
        graph, max_iterations=50, **(how | {"kernel": "auto"} if how["kernel"] == "fused" else how)
    ),
    "pagerank": lambda graph, **how: tg.pagerank(graph, tol_l1=0, max_iterations=3, **how),
    "pagerank to the end": lambda graph, **how: tg.pagerank(graph, tol_l1=0.1, **how),
    "weighted pagerank": lambda graph, **how: tg.pagerank(graph, tol_l1=0, max_iterations=2, weighted=True, **how),
    "hits": lambda graph, **how: tg.hits(
        graph, max_iterations=2, **(how | {"kernel": "auto"} if how["kernel"] == "fused" else how)
    ),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(FIFTY, max_examples=5)
@given(odd_graphs(weights=("none", "float32")))
def test_algorithms_on_odd_graphs(name: str, graph: tg.Graph) -> None:
    assume(graph.num_vertices and not (graph.weighted and graph.weight_range[0] < 0))
    assume(name != "weighted pagerank" or (graph.weighted and graph.weight_range[1] < 1e30))
    graph = graph.to("torch", "cpu")
    how = {"parents": False} if name in ("bfs", "sssp") else {}
    expected = ALGORITHMS[name](graph, kernel="plain", **how)
    found = on_gpu(lambda **more: ALGORITHMS[name](graph, **more, **how))
    for field, tensor in expected.fields.items():
        torch.testing.assert_close(found.fields[field], tensor, rtol=1e-9, atol=1e-300)


def test_a_tolerance_ends_a_sweep_where_the_plain_path_ends_it() -> None:
    graph = tg.generate.rmat(4, 3, seed=5, runtime="torch")
    for tolerance in (1e-1, 1e-4):
        found = assert_same(partial(tg.pagerank, graph, tol_l1=tolerance), rtol=1e-12)
        assert found.converged
    expected = tg.pagerank(graph, tol_l1=1e-4, kernel="plain")
    np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-9)


class Arithmetic(tg.Program):
    """One of every operator, on types that Triton alone would let meet in other ways than torch."""

    active, reduce = "all", "sum"

    def __init__(self) -> None:
        self.third, self.seven, self.is_on = 1.0 / 3.0, 7, True

    def init(self, graph: tg.Graph) -> Any:
        numbers = graph.runtime.arange(0, graph.num_vertices, "int64") - 4
        return {
            "value": graph.runtime.astype(numbers, "float64"),
            "whole": graph.runtime.astype(numbers, "int32"),
            "small": graph.runtime.astype(numbers, "float32"),
            "flag": numbers > 0,
        }, None

    def message(self, value: Any, whole: Any, small: Any, flag: Any, source: Any, target: Any) -> Any:
        """Numbers of all kinds."""
        rest = (
            whole % self.seven - whole // 3 + (whole & 5) + (whole | 2) + (whole ^ source) + (whole << 1) + (whole >> 1)
        )
        parts = small * self.third + value / (tg.absolute(value) + 1.5) + small % 2.5 + value // 2.0
        a, b = tg.sqrt(tg.absolute(whole)), tg.exp(small * 0.125)
        parts += (
            tg.where(flag & ~(target == 2), a, b) + tg.log(tg.maximum(small, 1)) - tg.minimum(whole, 1.5) + value**3
        )
        return parts + rest * (-1) + tg.where(self.is_on, 0.1, -math.inf) + tg.where(whole > 0, 2, 3)

    def total(self, value: Any, whole: Any) -> Any:
        return whole * 2

    def update(self, value: Any, incoming: Any, total: Any) -> Any:
        changed: Any = value * self.third + incoming / 64
        return changed + total * 1e-3

    def change(self, value: Any, new_value: Any, total: Any) -> Any:
        return tg.absolute(new_value - value) + 0 * total


def test_operators_have_the_types_of_torch() -> None:
    graph = tg.generate.rmat(3, 3, seed=1, runtime="torch")
    assert_same(lambda **how: tg.run(Arithmetic(), graph, max_iterations=3, **how), rtol=1e-6)


class Settling(tg.Program):
    """Truth values that settle, and data of edges under a name that kernels use themselves."""

    reduce, monotonic = "any", True

    def init(self, graph: tg.Graph) -> Any:
        start = graph.full(False, "bool", at={0: True})
        return {"done": start}, start

    def edge_data(self, graph: tg.Graph) -> Any:
        return {"queue": graph.out_targets % 3}

    def message(self, done: Any, queue: Any) -> Any:
        return done & (queue != 1)

    def update(self, done: Any, incoming: Any) -> Any:
        return done | incoming

    def settled(self, done: Any) -> Any:
        return done


@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_settled_vertices_and_data_of_edges(direction: str) -> None:
    graph = tg.generate.grid(4, 3, runtime="torch").symmetrize()
    assert_same(lambda **how: tg.run(Settling(), graph, **how), direction=direction)


def test_what_triton_has_not_runs_plainly_and_says_why() -> None:
    class Powers(WidestPath):
        def message(self, width: Any, weight: Any) -> Any:
            return width**weight

    graph = tg.from_edges([0, 1], [1, 2], [1.0, 2.0], runtime="torch")
    with pytest.raises(InvalidProgramError, match="only powers from 1 to 8 are compiled"):
        on_gpu(lambda **how: tg.run(Powers(), graph, **how))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.KERNELS, "cpu", "gpu")
        assert tg.run(Powers(), graph).trace.kernel == "plain"
