"""Medians, noise and ratios of rounds."""

from __future__ import annotations

import math

import pytest

from tgraph.bench.measure import Timing, geometric_mean, ratio


def test_the_ratio_is_taken_round_by_round() -> None:
    ours, theirs = Timing([1.0, 10.0, 1.0]), Timing([2.0, 20.0, 2.0])
    assert ratio(ours, theirs) == 0.5


def test_a_candidate_that_ran_once_counts_with_its_one_time() -> None:
    slow = Timing(first_seconds=80.0)
    assert not slow.repeated
    assert ratio(Timing([2.0, 2.0, 2.0]), slow) == pytest.approx(0.025)


def test_noise_is_half_the_distance_between_the_quartiles() -> None:
    assert Timing([1.0, 2.0, 3.0, 4.0, 5.0]).noise == pytest.approx(1 / 3)
    assert Timing([1.0]).noise == 0.0


def test_the_mean_of_nothing_is_not_a_number() -> None:
    assert math.isnan(geometric_mean([]))
    assert math.isnan(Timing().median)
