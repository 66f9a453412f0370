"""What every training has in common: epochs, the best of them, stopping early, and going on later."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tgraph.errors import InterruptedRunError, InvalidArgumentError
from tgraph.nn.training.checkpoint import load_checkpoint, save_checkpoint
from tgraph.results.progress import Progress

SECONDS_BETWEEN_CHECKPOINTS = 10.0


@dataclass(frozen=True)
class Epoch:
    """What one epoch did."""

    number: int
    loss: float
    score: float  # on what is held out; nan = not looked at in this epoch
    seconds: float


@dataclass
class Training:
    """All epochs, and the best one, whose parameters the model has at the end."""

    epochs: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None  # the last one among equals
    rose_at: int = 0  # the epoch in which the best score was first reached
    scores: dict[str, float] = field(default_factory=dict)  # of the best epoch, on what is tested

    @property
    def seconds(self) -> float:
        """The time of all epochs."""
        return sum(epoch.seconds for epoch in self.epochs)

    def __repr__(self) -> str:
        best = "none" if self.best is None else f"epoch {self.best.number}, {self.best.score:.4f}"
        scores = "".join(f", {name} {value:.4f}" for name, value in self.scores.items())
        return f"Training({len(self.epochs)} epochs, {self.seconds:.1f} s, best: {best}{scores})"


@dataclass(frozen=True)
class Plan:
    """How long to train, and what is kept of it.

    Args:
        epochs: At most so many.
        patience: Stop when the score has not risen for so many epochs; None = never.
        look_every: In which epochs the score on what is held out is looked at.
        seed: Of dropout and batches.
        checkpoint: A safetensors file; if it is there, training goes on from it.
        progress: `on`, `off` or `auto`, where somebody looks.
    """

    epochs: int = 200
    patience: int | None = None
    look_every: int = 1
    seed: int = 0
    checkpoint: str | os.PathLike[str] | None = None
    progress: str = "auto"

    def __post_init__(self) -> None:
        for name in ("epochs", "look_every", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidArgumentError(f"{name}={value!r} must be 1 or more")


def run_epochs(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    plan: Plan,
    learn: Callable[[int], float],
    score: Callable[[], float],
) -> Training:
    """Train until the plan says so, and leave the model with the parameters of the best epoch.

    Args:
        model: What is trained.
        optimizer: By whom.
        plan: How long.
        learn: Goes through one epoch, given its number, and returns the mean loss.
        score: Returns how good the model is on what is held out; more is better, later is better among equals.
    """
    training, best = Training(), dict[str, Tensor]()
    with torch.random.fork_rng(devices=[]):  # the user's random numbers stay as they are
        torch.manual_seed(plan.seed)
        if plan.checkpoint is not None and Path(plan.checkpoint).exists():
            notes, best = load_checkpoint(plan.checkpoint, model, optimizer)
            training = _restored(notes)
        try:
            with Progress(type(model).__name__, plan.progress, plan.epochs) as progress:
                best = _run(model, optimizer, plan, learn, score, training, best, progress)
        except KeyboardInterrupt as error:
            _finish(model, best)
            raise InterruptedRunError(f"training was stopped after {len(training.epochs)} epochs", training) from error
    _finish(model, best)
    return training


def _run(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    plan: Plan,
    learn: Callable[[int], float],
    score: Callable[[], float],
    training: Training,
    best: dict[str, Tensor],
    progress: Progress,
) -> dict[str, Tensor]:
    """Go through the epochs that are left; return the parameters of the best one."""
    saved_at = time.perf_counter()
    while len(training.epochs) < plan.epochs and not _is_stuck(training, plan.patience):
        number, started = len(training.epochs), time.perf_counter()
        model.train()
        loss, found = learn(number), math.nan
        if not math.isfinite(loss):
            raise InvalidArgumentError(f"the loss of epoch {number} is {loss}; use a smaller learning rate")
        is_last = number + 1 == plan.epochs
        if is_last or (number + 1) % plan.look_every == 0:
            model.eval()
            with torch.no_grad():
                found = score()
        epoch = Epoch(number, loss, found, time.perf_counter() - started)
        training.epochs.append(epoch)
        if not math.isnan(found) and (training.best is None or found >= training.best.score):
            if training.best is None or found > training.best.score:
                training.rose_at = number
            training.best = epoch
            best = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        progress.say(f"epoch {number + 1} of at most {plan.epochs}, loss {loss:.4f}, {_told(training)}")
        is_due = time.perf_counter() - saved_at > SECONDS_BETWEEN_CHECKPOINTS or _is_stuck(training, plan.patience)
        if plan.checkpoint is not None and (is_last or is_due):
            save_checkpoint(plan.checkpoint, model, optimizer, _noted(training), best)
            saved_at = time.perf_counter()
    return best


def _is_stuck(training: Training, patience: int | None) -> bool:
    """Whether so many epochs have passed since the score rose."""
    if patience is None or training.best is None:
        return False
    return training.epochs[-1].number - training.rose_at >= patience


def _told(training: Training) -> str:
    if training.best is None:
        return "no score yet"
    return f"best score {training.best.score:.4f} in epoch {training.best.number + 1}"


def _finish(model: nn.Module, best: dict[str, Tensor]) -> None:
    if best:
        model.load_state_dict(best)
    model.eval()


def _noted(training: Training) -> dict[str, Any]:
    rows = [[epoch.number, epoch.loss, None if math.isnan(epoch.score) else epoch.score, epoch.seconds]
            for epoch in training.epochs]  # fmt: skip
    best = None if training.best is None else training.best.number
    return {"epochs": rows, "best": best, "rose_at": training.rose_at}


def _restored(notes: dict[str, Any]) -> Training:
    epochs = [
        Epoch(number, loss, math.nan if score is None else score, s) for number, loss, score, s in notes["epochs"]
    ]
    return Training(epochs, None if notes["best"] is None else epochs[notes["best"]], notes["rose_at"])
