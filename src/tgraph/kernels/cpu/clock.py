"""A clock for compiled code: the processor's cycle counter, cheap enough to read once per iteration."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def ticks(typing_context):
    """Return a number that grows steadily with time, in units that only ratios make sense of."""

    def codegen(context, builder, signature, args):
        function = ir.FunctionType(ir.IntType(64), [])
        return builder.call(cgutils.get_or_insert_function(builder.module, function, "llvm.readcyclecounter"), [])

    return types.int64(), codegen
