"""Dynamic kernel placement: whether a layer aggregates first or combines (x W) first is chosen by measured cost.

Aggregating first leaves fewer rows to combine, combining first leaves fewer features to aggregate. As in GraphTensor's
Table I, the seconds of one direction of a layer are taken to be `a * edges * features + b * rows * in * out + c`; the
coefficients are fitted by least squares to the first batches, in which every order takes turns.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.runtime.protocol import Array

AGGREGATE_FIRST, COMBINE_FIRST = ORDERS = ("aggregate_first", "combine_first")
FORWARD, BACKWARD = "forward", "backward"
KEPT_ENTRIES = 10_000  # of the trace, the newest


class Layer(NamedTuple):
    """What stays the same in all batches of a layer, as far as costs go."""

    in_width: int
    out_width: int
    needs_embeddings: bool  # whether they get a gradient; those of the first layer usually do not
    needs_parameters: bool  # whether the weights of the layer get one
    needs_edge_weights: bool
    reads_table: bool  # the embeddings are rows of a table, which combining first has to gather


class Sizes(NamedTuple):
    """The size of one batch."""

    num_sources: int
    num_targets: int
    num_edges: int


class Plan(NamedTuple):
    """The order of a forward pass and of the gradients that follow it.

    Backward, `aggregate_first` is the mirror of that order: gradients are combined, then summed for the sources.
    """

    forward: str
    backward: str


@dataclass(frozen=True)
class Placed:
    """One entry of the trace: a direction of a layer on one batch."""

    direction: str  # forward or backward
    order: str
    reason: str  # forced, trial, or estimate: the cheapest by the fitted costs
    layer: Layer
    sizes: Sizes
    estimated_seconds: float | None  # None before the costs are fitted
    measured_seconds: float


def feasible_plans(layer: Layer) -> list[Plan]:
    """Return the plans worth trying.

    After aggregating first the gradient of the embeddings can be summed before or after it is combined. After combining
    first the sums are needed for the parameters anyway.
    """
    plans = [Plan(AGGREGATE_FIRST, AGGREGATE_FIRST), Plan(COMBINE_FIRST, COMBINE_FIRST)]
    if layer.needs_embeddings and not layer.needs_edge_weights:
        plans.append(Plan(AGGREGATE_FIRST, COMBINE_FIRST))
    return plans


def work(direction: str, plan: Plan, layer: Layer, sizes: Sizes) -> tuple[float, float]:
    """Return edges x features of aggregation and rows x in x out of combination.

    The first layer's embeddings need no gradient: if it aggregated first, nothing is aggregated backward.

    >>> plan, layer = Plan("aggregate_first", "aggregate_first"), Layer(100, 10, False, True, False, False)
    >>> work("forward", plan, layer, Sizes(40, 5, 50)), work("backward", plan, layer, Sizes(40, 5, 50))
    ((5000.0, 5000.0), (0.0, 5000.0))
    """
    in_width, out_width = layer.in_width, layer.out_width
    sources, targets = (float(count * in_width * out_width) for count in sizes[:2])
    wide, narrow = float(sizes.num_edges * in_width), float(sizes.num_edges * out_width)
    if direction == FORWARD:
        return (wide, targets) if plan.forward == AGGREGATE_FIRST else (narrow, sources)
    dense = (targets if plan.forward == AGGREGATE_FIRST else sources) * layer.needs_parameters
    if plan.backward == AGGREGATE_FIRST:
        needs_inputs = layer.needs_embeddings or layer.needs_edge_weights
        return wide * layer.needs_embeddings, dense + targets * needs_inputs
    needs_sums = layer.needs_embeddings or layer.needs_parameters
    return narrow * needs_sums, dense + sources * layer.needs_embeddings


def fit(rows: list[tuple[float, float]], seconds: list[float]) -> Array:
    """Return the coefficients a, b, c, none negative, that have the least squares of relative errors.

    >>> fit([(1e6, 0.0), (2e6, 0.0), (1e6, 5e6)], [0.011, 0.021, 0.021]).round(12).tolist()
    [1e-08, 2e-09, 0.001]
    """
    columns = np.column_stack([np.array(rows, np.float64).reshape(-1, 2), np.ones(len(rows))])
    measured = np.maximum(np.array(seconds), 1e-9)
    scales = np.maximum(columns.max(0), 1e-30)
    relative = columns / scales / measured[:, None]
    best, coefficients = np.inf, np.zeros(3)
    for count in (1, 2, 3):
        for chosen in combinations(range(3), count):
            found = np.linalg.lstsq(relative[:, chosen], np.ones(len(rows)), rcond=None)[0]
            error = float(np.square(relative[:, chosen] @ found - 1).sum())
            if found.min() >= 0 and error < best - 1e-12:
                best, coefficients = error, np.zeros(3)
                coefficients[list(chosen)] = found
    return coefficients / scales


@dataclass
class _Costs:
    """The measurements of one layer, and what was fitted to them."""

    started: dict[Plan, int]
    samples: dict[tuple[str, Plan], list[tuple[tuple[float, float], float]]] = field(default_factory=dict)
    coefficients: dict[str, list[float]] = field(default_factory=dict)  # a, b, c of each direction

    def fit(self) -> None:
        """The first sample of each plan is left out if there are others: it had to compile and to touch memory."""
        for direction in (FORWARD, BACKWARD):
            lists = [found for (kind, _), found in self.samples.items() if kind == direction]
            kept = [sample for found in lists for sample in (found[1:] or found)]
            if kept:
                self.coefficients[direction] = fit([row for row, _ in kept], [took for _, took in kept]).tolist()


class Placement:
    """Chooses the order of each layer; one object serves a layer or all layers of a model.

    Args:
        order: `"auto"` tries all orders on the first batches and then takes the cheapest by the fitted costs;
            `"aggregate_first"` and `"combine_first"` force one. Answers differ by rounding only.
        trials: How many batches try each order; the first of them is not fitted to.

    `trace` has one `Placed` for each direction of each layer and batch: what was chosen and why, what it was estimated
    to take and what it took.

    >>> placement = Placement(trials=2)
    >>> layer, sizes = Layer(100, 10, False, True, False, False), Sizes(1000, 900, 5000)
    >>> for _ in range(4):  # here combining first takes half as long
    ...     plan = placement.choose(layer, sizes)
    ...     placement.record("forward", plan, layer, sizes, 0.1 if plan.forward == "combine_first" else 0.2)
    >>> placement.choose(layer, sizes).forward
    'combine_first'
    """

    def __init__(self, order: str = "auto", trials: int = 3) -> None:
        check_choice("order", order, ("auto", *ORDERS))
        if trials < 1:
            raise InvalidArgumentError(f"trials={trials} must be at least 1")
        self.order, self.trials = order, trials
        self.trace: deque[Placed] = deque(maxlen=KEPT_ENTRIES)
        self._costs: dict[Layer, _Costs] = {}

    def choose(self, layer: Layer, sizes: Sizes) -> Plan:
        """Return the plan for the next batch of a layer."""
        if self.order != "auto":
            return Plan(self.order, self.order)
        costs = self._costs.setdefault(layer, _Costs(dict.fromkeys(feasible_plans(layer), 0)))
        plan = min(costs.started, key=costs.started.__getitem__)
        if costs.started[plan] < self.trials:
            costs.started[plan] += 1
            return plan
        if not costs.coefficients:
            costs.fit()
        return min(costs.started, key=lambda plan: self._total(plan, layer, sizes))

    def is_trial(self, layer: Layer) -> bool:
        """Whether the costs of the layer are not fitted yet."""
        return self.order == "auto" and not (layer in self._costs and self._costs[layer].coefficients)

    def estimate(self, direction: str, plan: Plan, layer: Layer, sizes: Sizes) -> float | None:
        """Return the seconds that the fitted costs give, None before they are fitted."""
        coefficients = self._costs[layer].coefficients.get(direction) if layer in self._costs else None
        if coefficients is None:
            return None
        per_aggregation, per_combination, always = coefficients
        aggregation, combination = work(direction, plan, layer, sizes)
        return per_aggregation * aggregation + per_combination * combination + always

    def record(self, direction: str, plan: Plan, layer: Layer, sizes: Sizes, seconds: float) -> None:
        """Add what one direction took to the trace, and to what the costs are fitted to while they are not yet."""
        is_trial = self.is_trial(layer)
        reason = "forced" if self.order != "auto" else "trial" if is_trial else "estimate"
        order = plan.forward if direction == FORWARD else plan.backward
        estimated = self.estimate(direction, plan, layer, sizes)
        self.trace.append(Placed(direction, order, reason, layer, sizes, estimated, seconds))
        if is_trial and layer in self._costs:
            samples = self._costs[layer].samples.setdefault((direction, plan), [])
            samples.append((work(direction, plan, layer, sizes), seconds))

    def _total(self, plan: Plan, layer: Layer, sizes: Sizes) -> float:
        """Seconds forward and backward; what was never measured counts as nothing."""
        return sum(self.estimate(direction, plan, layer, sizes) or 0.0 for direction in (FORWARD, BACKWARD))
