"""Atomic operations on elements of contiguous one-dimensional arrays, for workers that run on several threads.

Each is one LLVM instruction (a loop for what the processor lacks). Unless a docstring says otherwise the order is
monotonic: the element itself is never torn or lost, other memory is ordered by the barrier.

>>> import numpy as np
>>> from numba import njit
>>> @njit
... def add_one(counters):
...     return fetch_add(counters, 0, 1)
>>> counters = np.array([41])
>>> add_one(counters), counters[0]
(41, np.int64(42))
"""

from __future__ import annotations

import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_HAS_PAUSE = platform.machine().lower() in ("x86_64", "amd64", "i686")


def pointer_to(context, builder, array_type, array, index_type, index):
    """Return the address of array[index], for intrinsics."""
    data = context.make_array(array_type)(context, builder, array).data
    wide = context.cast(builder, index, index_type, types.intp if index_type.signed else types.uintp)
    return builder.gep(data, [wide], inbounds=True)


def _read_modify_write(names):
    """Make the code of an atomic operation; `names` gives LLVM's word for a kind of element: f, i or u."""

    def codegen(context, builder, signature, args):
        array_type, index_type, _ = signature.args
        pointer = pointer_to(context, builder, array_type, args[0], index_type, args[1])
        return builder.atomic_rmw(names[_kind(array_type.dtype)], pointer, args[2], "monotonic")

    return codegen


def _kind(dtype):
    if isinstance(dtype, types.Float):
        return "f"
    return "i" if dtype.signed else "u"


@intrinsic
def fetch_add(typing_context, array, index, value):
    """Add to array[index] and return what was there."""
    return array.dtype(array, index, array.dtype), _read_modify_write({"f": "fadd", "i": "add", "u": "add"})


@intrinsic
def fetch_or(typing_context, array, index, value):
    """Set bits of the integer array[index] and return what was there."""
    return array.dtype(array, index, array.dtype), _read_modify_write({"i": "or", "u": "or"})


@intrinsic
def fetch_min(typing_context, array, index, value):
    """Lower the integer array[index] to value if that is smaller, and return what was there."""
    return array.dtype(array, index, array.dtype), _read_modify_write({"i": "min", "u": "umin"})


@intrinsic
def compare_swap(typing_context, array, index, expected, new):
    """Put `new` where array[index] equals `expected` bit by bit; say whether that was so (acquire and release)."""
    signature = types.boolean(array, index, array.dtype, array.dtype)

    def codegen(context, builder, signature, args):
        array_type = signature.args[0]
        pointer = pointer_to(context, builder, array_type, args[0], signature.args[1], args[1])
        expected, new = args[2], args[3]
        if isinstance(array_type.dtype, types.Float):
            bits = ir.IntType(array_type.dtype.bitwidth)
            pointer = builder.bitcast(pointer, bits.as_pointer())
            expected, new = builder.bitcast(expected, bits), builder.bitcast(new, bits)
        swapped = builder.cmpxchg(pointer, expected, new, "acq_rel", "acquire")
        return builder.extract_value(swapped, 1)

    return signature, codegen


@intrinsic
def load(typing_context, array, index):
    """Return array[index] as it is now, and let later reads see what was written before it (acquire)."""
    signature = array.dtype(array, index)

    def codegen(context, builder, signature, args):
        array_type, index_type = signature.args
        pointer = pointer_to(context, builder, array_type, args[0], index_type, args[1])
        return builder.load_atomic(pointer, "acquire", array_type.dtype.bitwidth // 8)

    return signature, codegen


@intrinsic
def store(typing_context, array, index, value):
    """Write array[index] so that whoever loads it also sees what was written before (release)."""
    signature = types.void(array, index, array.dtype)

    def codegen(context, builder, signature, args):
        array_type, index_type, _ = signature.args
        pointer = pointer_to(context, builder, array_type, args[0], index_type, args[1])
        builder.store_atomic(args[2], pointer, "release", array_type.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def arrive(typing_context, array, index):
    """Add one to array[index], ordering all memory before and after (acquire and release)."""
    signature = types.void(array, index)

    def codegen(context, builder, signature, args):
        array_type, index_type = signature.args
        pointer = pointer_to(context, builder, array_type, args[0], index_type, args[1])
        one = ir.Constant(ir.IntType(array_type.dtype.bitwidth), 1)
        builder.atomic_rmw("add", pointer, one, "acq_rel")
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def relax(typing_context):
    """Tell the processor that this thread is spinning; nothing where it has no word for that."""

    def codegen(context, builder, signature, args):
        if _HAS_PAUSE:
            function = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, function, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def give_way(typing_context):
    """Let another thread run on this core (POSIX sched_yield)."""

    def codegen(context, builder, signature, args):
        function = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, function, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def trailing_zeros(typing_context, bits):
    """Return the position of the lowest set bit of a uint64, which must not be 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), codegen
