"""Dropout by our kernel: the right part is left out, gradients follow the same mask, the seed decides."""

from __future__ import annotations

import pytest
import torch

import tgraph as tg
from tgraph.nn.dropout import Dropout


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_is_left_out_and_the_rest_grows(share: float, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    dropped = Dropout(share)(torch.ones(1001, 333, dtype=dtype))
    kept = dropped != 0
    deviation = (share * (1 - share) / kept.numel()) ** 0.5
    assert abs(float(kept.double().mean()) - (1 - share)) < 5 * deviation
    torch.testing.assert_close(dropped[kept], torch.full_like(dropped[kept], 1 / (1 - share)))


def test_neighbours_are_left_out_independently() -> None:
    torch.manual_seed(4)
    kept = (Dropout(0.5)(torch.ones(1_000_000)) != 0).double() - 0.5
    for step in (1, 2, 3, 64):
        assert abs(float((kept[step:] * kept[:-step]).mean())) < 5 * 0.25 / 1000


def test_gradients_follow_the_same_mask_twice() -> None:
    x = torch.randn(50, 7, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.4)(x)
    (first,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    scale = torch.where(y.detach() != 0, 1 / 0.6, 0.0).double()
    torch.testing.assert_close(first.detach(), 2 * x.detach() * scale**2)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 2 * scale**2)


def test_the_seed_decides_not_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def masks() -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(9)
        dropout = Dropout(0.5)
        return dropout(torch.ones(700, 999)), dropout(torch.ones(700, 999))

    monkeypatch.setattr(tg.config, "num_threads", 1)
    one, next_one = masks()
    monkeypatch.setattr(tg.config, "num_threads", 3)
    assert torch.equal(masks()[0], one)
    assert not torch.equal(one, next_one)


def test_order_in_memory_does_not_matter() -> None:
    x = torch.randn(40, 30)
    torch.manual_seed(2)
    straight = Dropout(0.5)(x)
    torch.manual_seed(2)
    assert torch.equal(Dropout(0.5)(x.t().contiguous().t()), straight)


def test_evaluation_none_all_and_other_types() -> None:
    x = torch.ones(100)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    assert not Dropout(1.0)(x).any()
    assert Dropout(0.5)(x.half()).dtype == torch.float16
    assert Dropout(0.5)(torch.empty(0, 3)).shape == (0, 3)
