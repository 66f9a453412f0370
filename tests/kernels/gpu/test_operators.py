"""The operators on CPU tensors, outside the interpreter: their twins, their schemas, their shapes."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from tgraph.errors import InvalidProgramError  # noqa: E402
from tgraph.kernels.gpu import far_memory, operators, row_operators, sampling_operators  # noqa: E402

DEFINED = (far_memory, operators, row_operators, sampling_operators)  # whose import defines the operators
OFFSETS, IDS = torch.tensor([0, 2, 2, 3]), torch.tensor([1, 0, 1], dtype=torch.int32)
X, Y = torch.arange(12.0).view(2, 2, 3), torch.arange(18.0).view(3, 2, 3)
SCORES, WINNERS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.zeros(3, 2, 3, dtype=torch.int32)
REVERSE = (
    torch.tensor([0, 1, 3]),
    torch.tensor([0, 0, 2], dtype=torch.int32),
    torch.tensor([1, 0, 2], dtype=torch.int32),
)
CALLS: dict[str, tuple[Any, ...]] = {
    "segment_reduce": (SCORES[:, 0].contiguous(), OFFSETS, "sum"),
    "fill_queue": (torch.tensor([True, False, True]), torch.zeros(3, dtype=torch.int32)),
    "sum_rows": (OFFSETS, IDS, SCORES, X),
    "sum_products": (OFFSETS, IDS, X[:, 0], IDS, X[:, 1]),
    "max_rows": (OFFSETS, IDS, SCORES, X, False, WINNERS),
    "max_weighted_by_products": (OFFSETS, IDS, X[:, 0], IDS, X[:, 1], Y[:, 0], True, WINNERS[:, 0].contiguous()),
    "sum_won": (*REVERSE, WINNERS, SCORES, Y),
    "dot_won": (OFFSETS, IDS, WINNERS, None, Y),
    "dot_edges": (OFFSETS, IDS, X, Y),
    "leaky_dot_edges": (OFFSETS, IDS, X, Y, X[0], 0.2),
    "leaky_sums": (OFFSETS, IDS, None, SCORES, X, Y, 0.2),
    "sum_edges": (OFFSETS, None, SCORES),
    "softmax_edges": (OFFSETS, SCORES),
    "softmax_gradients": (OFFSETS, SCORES, SCORES),
    "draw_edges": (
        [torch.tensor([0, 1]), torch.tensor([0, 2]), torch.tensor([2, 1]), torch.tensor([0, 1, 2])],
        IDS,
        None,
        1,
        True,
        7,
        2,
        2,
    ),
    "gather_far": (X[:, 0].contiguous(), torch.tensor([1, 1, 0])),
}


@pytest.mark.parametrize("name", CALLS)
def test_schema_and_shapes_are_right(name: str) -> None:
    operator = getattr(torch.ops.tgraph, name).default
    torch.library.opcheck(operator, CALLS[name], test_utils=("test_schema", "test_faketensor"))


def test_half_precision_goes_by_float32_on_the_cpu() -> None:
    found = torch.ops.tgraph.sum_rows(OFFSETS, IDS, None, X.bfloat16())
    assert found.dtype == torch.bfloat16
    assert torch.equal(found.float(), torch.ops.tgraph.sum_rows(OFFSETS, IDS, None, X))


def test_a_program_needs_a_gpu_or_the_interpreter() -> None:
    with pytest.raises(InvalidProgramError, match="set TRITON_INTERPRET=1"):
        operators.run_program("some_module", "pull", 1, [X], [Y], [3], 8, 4)
