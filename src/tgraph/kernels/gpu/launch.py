"""How kernels are launched: how much a program takes, and with how many warps.

A program is what CUDA calls a block and ROCm a workgroup. Sizes are powers of two. `Sizes` has what holds unless a
device was tuned (`kernels.gpu.tuning`), and is asked for by device, when something is launched. The order of sums of
floats follows from the sizes, so these change only when somebody tunes.

- `pull_edges`, `push_edges`: 8 warps of 32 lanes with 4 edges each (on AMD 8 waves of 64 lanes with 2). A warp reads 32
  consecutive ids of 4 bytes, one line of 128 bytes, 4 times over, and waits for 4 gathers at the same time. The scan
  over a program's edges needs a few KiB of shared memory, so that registers, not it, say how many programs a
  multiprocessor holds.
- `few_edges`: a frontier with fewer edges than would give every multiprocessor a program is pushed in smaller ones, one
  edge per lane: there is nothing to hide latency with but the other multiprocessors.
- `vertices`: for kernels that go once over vertices.
- `row_edges` x features: kernels on embeddings take one row and a part of its features; that many edges of the row are
  read at once, each as one piece of consecutive memory.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import triton

from tgraph.config import config

GPUS = ("cuda", "xpu")  # torch's names of devices that launch kernels
LANES = 32  # of a warp; a wave on AMD has 64
MOST_WARPS = 8  # of kernels on rows


@dataclass(frozen=True)
class Sizes:
    """What a program takes, and its warps."""

    pull_edges: int = 1024  # also of segment reductions and of the sampler
    pull_warps: int = 8
    push_edges: int = 1024
    push_warps: int = 8
    few_edges: int = 128
    vertices: int = 1024
    vertex_warps: int = 8
    carries: int = 128  # parts of a row that lies in many programs, which are joined at once
    row_edges: int = 16
    most_features: int = 128  # of a program
    row_numbers: int = 16  # that each lane of a program on a row holds
    scores: int = 64  # numbers of edges that a program reads at once, with one warp: most rows have fewer

    def feature_block(self, width: int) -> int:
        """Return how many features a program takes: all, as a power of two, up to `most_features`.

        >>> Sizes().feature_block(3), Sizes().feature_block(602)
        (4, 128)
        """
        return min(self.most_features, 1 << max(0, width - 1).bit_length())

    def row_warps(self, features: int) -> int:
        """Return the warps of a program that reads `row_edges` x `features` numbers at once.

        >>> Sizes().row_warps(4), Sizes().row_warps(128)
        (1, 4)
        """
        return min(MOST_WARPS, max(1, self.row_edges * features // (LANES * self.row_numbers)))

    def push_block(self, num_edges: int, multiprocessors: int) -> tuple[int, int]:
        """Return the edges and warps of a program that pushes: smaller ones where some multiprocessors would have none.

        >>> Sizes().push_block(1_000_000, 108), Sizes().push_block(50_000, 108)
        ((1024, 8), (128, 4))
        """
        if programs(num_edges, self.push_edges)[0] >= multiprocessors:
            return self.push_edges, self.push_warps
        return self.few_edges, max(1, self.few_edges // LANES)


DEFAULTS = Sizes()
_in_use: dict[torch.device, Sizes] = {}


def sizes_on(device: torch.device) -> Sizes:
    """Return the sizes for a device: those that it was tuned to, by this process or another, else the defaults."""
    if device.type not in GPUS:
        return _in_use.get(device, DEFAULTS)
    if device not in _in_use:
        _in_use[device] = read_sizes(device_key(device)) or DEFAULTS
    return _in_use[device]


def use_sizes(device: torch.device, sizes: Sizes) -> None:
    """Let kernels on a device be launched with these sizes from now on, in this process."""
    _in_use[device] = sizes


def device_key(device: torch.device) -> str:
    """Return under which name the sizes of a device are kept: those of its kind and of the compiler."""
    return f"{torch.get_device_module(device).get_device_name(device)}, triton {triton.__version__}"


def read_sizes(key: str) -> Sizes | None:
    """Return the sizes that were kept under a name; None where there are none, or those of another version."""
    try:
        return Sizes(**json.loads(sizes_file().read_text())[key])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sizes_file() -> Path:
    """Return the file of what devices were tuned to."""
    return Path(config.cache_dir) / "launch_sizes.json"


@cache
def multiprocessors(device: torch.device) -> int:
    """Return how many programs a device runs side by side at least; 1 where it does not say."""
    if device.type not in GPUS:
        return 1
    found = torch.get_device_module(device).get_device_properties(device)
    return int(getattr(found, "multi_processor_count", 0) or getattr(found, "max_compute_units", 1))


def is_interpreted() -> bool:
    """Say whether kernels run in Triton's interpreter, on CPU tensors: it is decided when triton is imported."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def programs(size: int, each: int) -> tuple[int]:
    """Return the grid for `size` things, `each` per program; at least one.

    >>> programs(2049, 1024), programs(0, 1024)
    ((3,), (1,))
    """
    return (max(1, -(-size // each)),)
