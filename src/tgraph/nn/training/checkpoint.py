"""Training that goes on after it was stopped: parameters, optimiser and random numbers in one safetensors file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tgraph.errors import FileFormatError, InvalidArgumentError

BEST = "best."


def save_checkpoint(
    path: str | os.PathLike[str],
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    notes: Mapping[str, Any] | None = None,
    best: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a model, and what training needs to go on; the file is there whole or not at all.

    Args:
        path: A `.safetensors` file.
        model: Whose parameters and buffers are written, under their names.
        optimizer: Whose state is written too.
        notes: Anything that JSON can hold, such as the epoch.
        best: Parameters of the best epoch so far.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    noted: dict[str, Any] = {"notes": dict(notes or {})}
    if best is not None:
        tensors |= {BEST + name: tensor.contiguous() for name, tensor in best.items()}
    if optimizer is not None:
        state = optimizer.state_dict()
        noted["groups"] = state["param_groups"]
        for number, values in state["state"].items():
            tensors |= {f"optimizer.{number}.{key}": torch.as_tensor(value) for key, value in values.items()}
        tensors["random"] = torch.get_rng_state()
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        save_file(tensors, temporary, {"tgraph": json.dumps(noted)})
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load_checkpoint(
    path: str | os.PathLike[str], model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Set a model, and an optimiser and torch's random numbers if given, to what was written; return notes and best.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "model.safetensors")
    ...     save_checkpoint(file, nn.Linear(2, 1), notes={"epoch": 3})
    ...     load_checkpoint(file, nn.Linear(2, 1))[0]
    {'epoch': 3}
    """
    tensors, noted = _read(path)
    own = {name: tensors[name] for name in model.state_dict() if name in tensors}
    try:
        model.load_state_dict(own)
    except RuntimeError as error:
        raise InvalidArgumentError(
            f"{os.fspath(path)} is of another model: {str(error).splitlines()[-1].strip()}"
        ) from error
    if optimizer is not None:
        if "groups" not in noted:
            raise InvalidArgumentError(f"{os.fspath(path)} holds a model, but no training that could go on")
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, number, key = name.split(".")
                state.setdefault(int(number), {})[key] = tensor
        optimizer.load_state_dict({"state": state, "param_groups": noted["groups"]})
        torch.set_rng_state(tensors["random"])
    best = {name.removeprefix(BEST): tensor for name, tensor in tensors.items() if name.startswith(BEST)}
    return noted["notes"], best


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["tgraph"])  # noqa: SIM118
    except (SafetensorError, TypeError, KeyError, ValueError) as error:
        raise FileFormatError(path, "header", f"is not that of a checkpoint: {error}") from error
