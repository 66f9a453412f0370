"""What is particular to JAX: few compilations, 64-bit types whatever the user's setting is, several CPU devices."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import tgraph as tg
from runtimes import RUNTIMES
from tgraph import runtime as runtimes

if "jax" not in RUNTIMES:
    pytest.skip("this process does not test jax", allow_module_level=True)

import jax
import jax.numpy as jnp

from tgraph.runtime.jax import JaxTensor

KINDS_OF_CALLS = 60  # how many different operations a run makes of primitives and of a program's functions


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """Collect the compilations that happen from now on."""
    seen: list[str] = []

    def note(event: str, _seconds: float, **_: object) -> None:
        if "backend_compile" in event:
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield seen
    jax.monitoring.unregister_event_duration_listener(note)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_compilations_grow_with_buckets_not_with_iterations(algorithm: str, compilations: list[str]) -> None:
    """A grid has more than a hundred iterations with frontiers of all sizes; a second source needs nothing new."""
    jax.clear_caches()
    grid = tg.generate.grid(64, 64, weights=(1, 9), seed=3).to("jax")
    run = getattr(tg, algorithm)
    first = run(grid, 0, kernel="plain")
    num_buckets = math.log2(grid.num_arcs)
    assert first.iterations > 100
    assert 0 < len(compilations) < KINDS_OF_CALLS + 10 * num_buckets
    before = len(compilations)
    run(grid, 1000, kernel="plain")
    assert len(compilations) - before <= 10
    run(grid, 0, kernel="plain")
    assert len(compilations) - before <= 10


def test_a_program_over_all_vertices_compiles_in_its_first_iterations_only(compilations: list[str]) -> None:
    graph = tg.generate.rmat(12, 8, seed=2).to("jax")
    tg.pagerank(graph, kernel="plain", tol_l1=0.0, max_iterations=2)
    before = len(compilations)
    tg.pagerank(graph, kernel="plain", tol_l1=0.0, max_iterations=30)
    assert len(compilations) == before


def test_64_bits_whatever_the_setting_is_and_the_setting_stays() -> None:
    rt = runtimes.get("jax")
    for setting in (False, True):
        with jax.enable_x64(setting):
            tensor = rt.asarray([2**40, 1]) * 2 + 1
            assert tensor.tolist() == [2**41 + 1, 3]
            assert tensor.dtype == np.int64
            assert (tensor / 2).dtype == np.float64
            assert jax.config.jax_enable_x64 is setting
            assert jnp.arange(2.0).dtype == (np.float64 if setting else np.float32)


def test_results_become_jax_arrays() -> None:
    result = tg.pagerank(tg.from_edges([0, 1, 2], [1, 2, 0]), runtime="jax")
    assert isinstance(result.ranks, JaxTensor)
    assert isinstance(result.ranks.array, jax.Array)
    assert result.ranks.array.shape == (3,)
    with jax.enable_x64(True):
        assert float(jnp.sum(jnp.asarray(result.ranks))) == pytest.approx(1.0)


def test_numpy_memory_is_not_shared_with_arrays_that_must_not_change() -> None:
    array = np.zeros(1 << 16)
    tensor = runtimes.get("jax").asarray(array)
    array[:] = 1
    assert not np.asarray(tensor).any()


def test_sizes_that_do_not_meet_are_refused() -> None:
    rt = runtimes.get("jax")
    with pytest.raises(ValueError, match="tensors of 2 and 3 elements do not meet"):
        rt.asarray([1, 2]) + rt.asarray([1, 2, 3])
    with pytest.raises(ValueError, match="step 1"):
        rt.asarray([1, 2, 3])[::2]


def test_a_second_device_takes_no_tensors_of_the_first() -> None:
    """XLA refuses operands of two devices, so a run on the second one shows that nothing is left on the first."""
    code = """
        import tgraph as tg
        graph = tg.generate.rmat(8, 8, seed=1, weights=(1, 9))
        near = graph.to("jax", "cpu:1")
        assert near.runtime.device == "cpu:1", near.runtime.device
        for run in (lambda g: tg.bfs(g, 0), lambda g: tg.sssp(g, 0), tg.wcc, tg.hits, tg.pagerank):
            result = run(near)
            assert result.trace.kernel == "plain" and result.values.device == "cpu:1"
            difference = abs(result.to_numpy() - run(graph.to("numpy")).to_numpy())
            assert not (difference > 1e-6).any()
        print("equal")
    """
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = run_python("if True:" + code, environment)
    assert done == "equal"


def run_python(code: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()
