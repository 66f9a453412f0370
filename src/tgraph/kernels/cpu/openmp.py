"""Running a worker on the OpenMP threads of another library, such as torch, instead of on threads of our own.

Between two operations torch's threads spin for some milliseconds, in case there is more to do. Threads of our own then
share cores with threads that only wait, and a team that has as many threads as there are cores takes about twice as
long. The same threads serve both if both are started through the same `libgomp`; starting them takes two microseconds.

This is used from the main thread only: libgomp has threads of their own for every thread that starts some. Where there
is no libgomp in the process, and after a fork, which its threads do not survive, teams run on our own threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tgraph.kernels.cpu.team import run_team, team_size

SOONER = 10  # times as fast as threads of our own are started
START = "GOMP_parallel"  # libgomp's: start(function of a pointer, the pointer, threads, flags)

_is_child = threading.Event()
os.register_at_fork(after_in_child=_is_child.set)


@cache
def _has_start() -> bool:
    """Say whether torch has brought libgomp into this process; compiled code finds it from then on."""
    if "torch" not in sys.modules or not sys.platform.startswith("linux"):
        return False
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[-1] for line in lines if "libgomp" in line and "torch" in line}
    if len(paths) != 1:
        return False
    library = ctypes.CDLL(paths.pop())
    llvmlite.binding.add_symbol(START, ctypes.cast(library[START], ctypes.c_void_p).value)
    return True


def _can_share() -> bool:
    return threading.current_thread() is threading.main_thread() and not _is_child.is_set() and _has_start()


def run_on_shared_threads(launch: Callable[..., None], worker: Callable[..., None], work: int, *args: Any) -> None:
    """Run `worker(rank, size, *args)` for every rank, on OpenMP threads if there are some, and wait for all.

    `work` elements decide how many threads that are, see `team_size`; those of OpenMP start sooner and take part
    earlier. `launch(size, *args)` is compiled and does the same by `start_threads`.
    """
    can_share = _can_share()
    size = team_size(work * SOONER if can_share else work)
    if size > 1 and can_share:
        launch(size, *args)
    else:
        run_team(worker, size, *args)


@intrinsic
def start_threads(typing_context, worker, size, args):
    """Run `worker(rank, size, *args)` on `size` OpenMP threads and wait for all; the worker must not raise.

    Ranks are taken from a counter, since a function that libgomp starts is told nothing else than where its data are.
    Workers must not wait for each other: they may run one after the other.
    """
    types_of_call = (types.intp, types.intp, *args.types)
    worker.dispatcher.compile(types_of_call)
    signature = types.void(worker, types.intp, args)

    def codegen(context, builder, signature, values):
        compiled = worker.dispatcher.overloads[types_of_call]
        context.active_code_library.add_linking_library(compiled.library)
        data_type = ir.LiteralStructType([ir.IntType(64), values[1].type, values[2].type])
        data = cgutils.alloca_once(builder, data_type)
        for place, value in enumerate((ir.IntType(64)(0), values[1], values[2])):
            builder.store(value, cgutils.gep_inbounds(builder, data, 0, place))
        body = _body(context, builder.module, data_type, compiled, types_of_call)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [body.type, byte, word, word])
        start = cgutils.get_or_insert_function(builder.module, kind, START)
        builder.call(start, [body, builder.bitcast(data, byte), builder.trunc(values[1], word), word(0)])
        return context.get_dummy_value()

    return signature, codegen


def _body(context, module, data_type, compiled, types_of_call):
    """Return the function that every thread runs: it takes ranks and calls the worker while there are any left.

    libgomp may start fewer threads than it was asked for (OMP_THREAD_LIMIT); then one of them has several ranks.
    """
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    function = ir.Function(module, kind, module.get_unique_name("openmp_body"))
    function.linkage = "internal"
    entry, take, work, leave = (function.append_basic_block() for _ in range(4))
    builder = ir.IRBuilder(entry)
    data = builder.bitcast(function.args[0], data_type.as_pointer())
    counter, size, args = (cgutils.gep_inbounds(builder, data, 0, place) for place in range(3))
    builder.branch(take)
    builder.position_at_end(take)
    rank = builder.atomic_rmw("add", counter, ir.IntType(64)(1), "monotonic")
    builder.cbranch(builder.icmp_signed("<", rank, builder.load(size)), work, leave)
    builder.position_at_end(work)
    unpacked = cgutils.unpack_tuple(builder, builder.load(args))
    callee = context.declare_function(module, compiled.fndesc)
    given = [rank, builder.load(size), *unpacked]
    context.call_conv.call_function(builder, callee, types.none, types_of_call, given)
    builder.branch(take)
    builder.position_at_end(leave)
    builder.ret_void()
    return function
