"""Torch devices that lack something: the list in `tgraph.runtime.torch.capabilities`, on a fake device that refuses it.

The tests marked `gpu` go through the list on the devices that are present (`pytest -m gpu`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from runtimes import RUNTIMES

if "torch" not in RUNTIMES:
    pytest.skip("this process does not test torch", allow_module_level=True)

import torch
from test_answers import GRAPHS, RUNS, expected, make_graph

from tgraph import runtime as runtimes
from tgraph.runtime.torch import capabilities

PRESENT = [kind for kind in ("cuda", "mps", "xpu") if getattr(torch, kind).is_available()]


def refuse_what_mps_lacks(name: str, tensors: tuple[Any, ...]) -> str | None:
    """Say why Apple's devices would not do it."""
    types = {one.dtype for one in tensors if isinstance(one, torch.Tensor)}
    if torch.float64 in types:
        return "it has no float64"
    if name == "segment_reduce":
        return "it has no segment_reduce"
    is_extreme = "scatter_reduce" in name and ("amin" in tensors or "amax" in tensors)
    return "it has no extremes of int64" if is_extreme and tensors[0].dtype == torch.int64 else None


@pytest.fixture
def poor_device(fake_accelerator: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The fake device, with what Apple's devices have."""
    monkeypatch.setitem(capabilities.KINDS, "fake", capabilities.KINDS["mps"])
    fake_accelerator.refuses = refuse_what_mps_lacks
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "fake:0 has no float64")
        yield "fake"


def test_the_fake_device_refuses_what_it_lacks(fake_accelerator: Any) -> None:
    """Without the list, a run fails: so what passes below is the list's work."""
    fake_accelerator.refuses = refuse_what_mps_lacks
    with pytest.raises(NotImplementedError, match="it has no float64"):
        RUNS["pagerank"](make_graph("rmat"), runtime="torch", device="fake")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_answers_without_float64(poor_device: str, graph: str, run: str) -> None:
    """Integers are equal, floats are those of float32: 15 iterations of sums with a relative error of 6e-8 each."""
    if (graph, run) == ("weights beyond 2^53", "widest path"):
        pytest.skip("float32 holds no such weights")
    result = RUNS[run](make_graph(graph), runtime="torch", device=poor_device)
    for name, wanted in expected(graph, run, "auto").items():
        values = result.graph.runtime.to_numpy(result.fields[name])
        if wanted.dtype.kind == "f":
            assert values.dtype == np.float32
            np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-12)
        else:
            np.testing.assert_array_equal(values, wanted)


def test_a_narrower_type_is_said(poor_device: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="fake:0 has no float64: values are float32 there"):
            runtimes.get("torch", poor_device).full(3, 0.5, "float64")


@pytest.mark.parametrize("op", ["min", "max"])
def test_extremes_of_large_integers_stay_exact(poor_device: str, op: str) -> None:
    rt = runtimes.get("torch", poor_device)
    big = 2**53 + 1
    into = rt.full(2, big, "int64")
    result = rt.scatter_reduce(into, rt.asarray([0, 1, 0]), rt.asarray([big + 1, big - 1, big + 2]), op)
    assert rt.to_numpy(result).tolist() == ([big, big - 1] if op == "min" else [big + 2, big])
    values, offsets = rt.asarray([big, big + 2, 5]), rt.asarray([0, 2, 2, 3])
    nothing = np.iinfo(np.int64).max if op == "min" else np.iinfo(np.int64).min
    reduced = rt.to_numpy(rt.segment_reduce(values, offsets, op)).tolist()
    assert reduced == [big if op == "min" else big + 2, nothing, 5]


@pytest.mark.gpu
@pytest.mark.parametrize("kind", PRESENT or [pytest.param("none", marks=pytest.mark.skip(reason="no GPU is present"))])
def test_the_list_is_right_about_this_device(kind: str) -> None:
    """What the list says is there works; run on real devices only."""
    device = torch.device(kind)
    has = capabilities.capabilities_of(device)
    values, offsets = torch.ones(3, device=device), torch.tensor([0, 1, 3], device=device)
    if has.has_float64:
        assert torch.ones(1, dtype=torch.float64, device=device).item() == 1.0
    if has.has_segment_reduce:
        assert torch.segment_reduce(values, "sum", offsets=offsets, unsafe=True).tolist() == [1.0, 2.0]
    if has.has_int64_extremes:
        assert offsets.scatter_reduce(0, offsets.clamp(max=2), offsets, "amin").tolist() == [0, 1, 3]
