"""Compile every kernel that a run would launch for GPUs that are not here: to PTX for CUDA and to AMDGCN for ROCm.

`Recorder` takes the place of Triton's launcher: the host code runs as it would on a GPU, on CPU tensors that nobody
fills, and each kernel is noted with the types of its arguments instead of being launched. What was noted is then
compiled. So what is compiled is what would be launched, not a list that someone keeps up to date.

Of what was compiled the compilers say how much of a multiprocessor it takes: shared memory on every target, and for AMD
also how many waves of it fit a SIMD unit at once (occupancy, 8 at most) and whether registers were spilled to memory.

Run as a script, in a process without TRITON_INTERPRET: `python tests/kernels/gpu/compile_ahead.py`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

TARGETS = {
    "cuda sm_80": GPUTarget("cuda", 80, 32),
    "cuda sm_90": GPUTarget("cuda", 90, 32),
    "hip gfx942": GPUTarget("hip", "gfx942", 64),
}
_TYPES = {
    torch.bool: "i1",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}


@dataclass(frozen=True)
class Launch:
    """A kernel with the types of its arguments: what a compiled kernel depends on."""

    kernel: JITFunction = field(hash=False, compare=False)
    name: str
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Any], ...]
    num_warps: int

    def compile(self, target: GPUTarget) -> tuple[str, int]:
        """Return the assembly for a target, and the bytes of shared memory that a program needs."""
        source = ASTSource(fn=self.kernel, signature=dict(self.signature), constexprs=dict(self.constants))
        compiled = triton.compile(source, target=target, options={"num_warps": self.num_warps})
        return compiled.asm["ptx" if target.backend == "cuda" else "amdgcn"], compiled.metadata.shared


def keep_assembly(*stage: Any) -> tuple[str, str] | None:
    """Leave out NVIDIA's assembler: Triton asks for a name of this change first, then for the change itself."""
    if not stage:
        return "assembly only", "assembly only"
    stages = stage[1]
    if "cubin" in stages:
        stages["cubin"] = lambda _source, _metadata: b""
    return None


def type_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "*" + _TYPES[value.dtype]
    if isinstance(value, float):
        return "fp32"
    return "i32" if -(2**31) <= value < 2**31 else "i64"


class Recorder:
    """Notes what would be launched."""

    def __init__(self) -> None:
        self.launches: dict[Launch, str] = {}
        self.case = ""

    def __call__(self, kernel: JITFunction, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        num_warps = options.pop("num_warps", 4)
        names = [parameter.name for parameter in kernel.params]
        values = dict(zip(names, args, strict=False)) | options
        fixed = {
            parameter.name for parameter in kernel.params if parameter.is_constexpr or values[parameter.name] is None
        }
        signature = tuple((name, "constexpr" if name in fixed else type_of(values[name])) for name in names)
        constants = tuple((name, values[name]) for name in names if name in fixed)
        module = kernel.fn.__module__
        launch = Launch(kernel, f"{module}.{kernel.fn.__name__}", signature, constants, num_warps)
        self.launches.setdefault(launch, self.case)


@contextmanager
def recording() -> Iterator[Recorder]:
    """Let the operators' CPU form be the kernels, as in the interpreter, and note their launches."""
    from tgraph.kernels.gpu import launch

    recorder, is_interpreted, run = Recorder(), launch.is_interpreted, JITFunction.run
    launch.is_interpreted = lambda: True
    JITFunction.run = lambda kernel, *args, **kwargs: recorder(kernel, *args, **kwargs)
    try:
        yield recorder
    finally:
        launch.is_interpreted, JITFunction.run = is_interpreted, run


def compile_all(launches: list[Launch], targets: list[str]) -> Iterator[tuple[Launch, str, str, int]]:
    """Yield every launch, target, assembly (or what went wrong) and shared bytes, by a process for each core."""
    pairs = [(number, target) for number in range(len(launches)) for target in targets]
    global _launches
    _launches = launches
    with multiprocessing.get_context("fork").Pool() as pool:
        for (number, target), text, shared in pool.imap_unordered(_compile_one, pairs):
            yield launches[number], target, text, shared


_launches: list[Launch] = []


def _compile_one(pair: tuple[int, str]) -> tuple[tuple[int, str], str, int]:
    number, target = pair
    try:
        return pair, *_launches[number].compile(TARGETS[target])
    except Exception as error:
        return pair, f"FAILED {type(error).__name__}: {error}", 0


class Occupied:
    """How much of a multiprocessor the kernels take that were compiled; sizes that are only tried in tuning apart."""

    def __init__(self) -> None:
        self.shared_bytes = 0
        self.lowest_occupancy: dict[str, int] = {}  # by the name of the kernel
        self.spills: list[str] = []

    def add(self, case: str, launch: Launch, text: str, shared: int) -> None:
        """Note what a compiler says of a kernel."""
        if case.startswith("tuned"):
            return
        self.shared_bytes = max(self.shared_bytes, shared)
        found = re.search(r"; Occupancy: (\d+)", text)
        if found is None:
            return
        name = launch.name.rpartition(".")[2]
        self.lowest_occupancy[name] = min(self.lowest_occupancy.get(name, 8), int(found[1]))
        if re.search(r"_spill_count: +[1-9]", text):
            self.spills.append(f"{case}: {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--only", default="", help="compile only cases whose name contains this")
    parser.add_argument("--assemble", action="store_true", help="also run NVIDIA's assembler, ptxas")
    options = parser.parse_args()
    if not options.assemble:
        triton.knobs.runtime.add_stages_inspection_hook = keep_assembly
    with recording() as recorder:
        from launched_cases import everything

        for case, run in everything().items():
            if options.only in case:
                recorder.case = case
                run()
    started = time.perf_counter()
    wrong, sizes, occupied = [], dict.fromkeys(options.targets, 0), Occupied()
    for launch, target, text, shared in compile_all(list(recorder.launches), options.targets):
        occupied.add(recorder.launches[launch], launch, text, shared)
        is_right = not text.startswith("FAILED") and (".visible .entry" in text or "amdhsa_kernel" in text)
        sizes[target] += is_right
        if not is_right:
            wrong.append(f"{recorder.launches[launch]}: {launch.name} for {target}: {text[:2000]}")
    seconds = round(time.perf_counter() - started)
    print(json.dumps({"kernels": len(recorder.launches), "compiled": sizes, "seconds": seconds, **vars(occupied)}))
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
