"""Times on a shared machine: candidates take turns, medians of rounds are compared."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Timing:
    """The seconds of one candidate in every round; `first_seconds` is the call that warmed it up.

    >>> Timing([2.0, 1.0, 4.0]).median
    2.0
    """

    seconds: list[float] = field(default_factory=list)
    first_seconds: float | None = None

    @property
    def median(self) -> float:
        """The median of all rounds, or the one time of a candidate that was too slow to be repeated."""
        if self.seconds:
            return statistics.median(self.seconds)
        return float("nan") if self.first_seconds is None else self.first_seconds

    @property
    def repeated(self) -> bool:
        """Whether there were rounds after the first call."""
        return bool(self.seconds)

    @property
    def noise(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        if len(self.seconds) < 2 or not self.median:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / 2 / self.median


def ratio(ours: Timing, theirs: Timing) -> float:
    """Return our time over theirs: the median over rounds, as both of a round had the same task at nearly one time.

    >>> ratio(Timing([1.0, 1.0, 9.0]), Timing([2.0, 2.0, 18.0]))
    0.5
    """
    if ours.repeated and theirs.repeated:
        return statistics.median(one / other for one, other in zip(ours.seconds, theirs.seconds, strict=True))
    return ours.median / theirs.median


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean, NaN of nothing.

    >>> round(geometric_mean([0.5, 2.0]), 9)
    1.0
    """
    found = list(values)
    return statistics.geometric_mean(found) if found else float("nan")
