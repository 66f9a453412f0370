from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from tgraph.operators import vertex_select


def test_example(example: tg.Graph) -> None:
    mask = example.full(False, "bool", at={5: True, 2: True, 4: True})
    selected = vertex_select(example.runtime, mask)
    assert selected.tolist() == [2, 4, 5]
    assert example.runtime.dtype(selected) == np.int32


def test_nobody_and_everybody(example: tg.Graph) -> None:
    assert vertex_select(example.runtime, example.full(False, "bool")).tolist() == []
    assert vertex_select(example.runtime, example.full(True, "bool")).tolist() == list(range(7))


@settings(deadline=None)
@given(mask=st.lists(st.booleans(), max_size=40), name=st.sampled_from(["numpy", "torch"]))
def test_any_mask(mask: list[bool], name: str) -> None:
    runtime = tg.runtime.get(name)
    selected = vertex_select(runtime, runtime.asarray(np.asarray(mask, bool)))
    assert selected.tolist() == [vertex for vertex, active in enumerate(mask) if active]
