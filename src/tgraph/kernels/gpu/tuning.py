"""Launch sizes by measurement: candidates are tried on the device, and the fastest are kept for it.

Triton's own `autotune` chooses per kernel, at its first launch in every process, by running it several times. That does
not serve here: push adds to what is in its cells, a pull's schedule depends on its size, and sums of floats would have
other last digits in another process. So tuning is asked for (`tgraph tune`), goes through whole runs, and what it found
stays in a file until somebody tunes again.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

import torch
from triton.runtime.errors import OutOfResources

from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.launch import Sizes

BLOCKS = ((256, 4), (512, 4), (512, 8), (1024, 4), (1024, 8), (2048, 8), (4096, 16))  # edges and warps
CANDIDATES: dict[str, list[dict[str, int]]] = {  # what is tried for each kind of kernel
    "pull": [{"pull_edges": edges, "pull_warps": warps} for edges, warps in BLOCKS],
    "push": [{"push_edges": edges, "push_warps": warps} for edges, warps in BLOCKS],
    "rows": [{"row_edges": edges, "row_numbers": numbers} for edges in (8, 16, 32) for numbers in (8, 16, 32)],
}
WORTH_A_CHANGE = 0.97  # of the seconds: less is noise


@dataclass
class Tuning:
    """What tuning found: the sizes, and the seconds of every candidate by the kind of kernel."""

    sizes: Sizes
    seconds: dict[str, dict[Sizes, float]] = field(default_factory=dict)


def tune(
    device: torch.device,
    workloads: Mapping[str, Callable[[], object]],
    rounds: int = 5,
    measure: Callable[[Callable[[], object], torch.device], float] | None = None,
) -> Tuning:
    """Try the candidates for each kind of kernel on a run that needs it; use the fastest from now on.

    Args:
        device: A GPU; its memory must have room for the workloads.
        workloads: By kind of kernel, a run whose time is mostly spent there.
        rounds: How often each is measured; the median counts.
        measure: Returns the seconds of a call; None = by the clock, waiting for the device.
    """
    measure = measure or seconds_of
    tuning = Tuning(launch.sizes_on(device))
    try:
        for kind, run in workloads.items():
            found = tuning.seconds[kind] = {}
            for sizes in dict.fromkeys([tuning.sizes, *(replace(tuning.sizes, **one) for one in CANDIDATES[kind])]):
                launch.use_sizes(device, sizes)
                try:
                    run()  # which compiles
                    found[sizes] = statistics.median(measure(run, device) for _ in range(rounds))
                except OutOfResources:  # more shared memory or registers than the device has
                    continue
            fastest = min(found, key=lambda sizes: found[sizes])
            if found[fastest] < WORTH_A_CHANGE * found.get(tuning.sizes, float("inf")):
                tuning.sizes = fastest
    finally:
        launch.use_sizes(device, tuning.sizes)
    return tuning


def seconds_of(run: Callable[[], object], device: torch.device) -> float:
    """Return how long a call takes, until the device has done what it was told."""
    wait = torch.get_device_module(device).synchronize
    wait()
    started = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - started


def keep_sizes(key: str, sizes: Sizes) -> None:
    """Write sizes into the file, beside those of other devices."""
    path = launch.sizes_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        kept = json.loads(path.read_text())
    except (OSError, ValueError):
        kept = {}
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps({**kept, key: asdict(sizes)}, indent=1))
    os.replace(temporary, path)
