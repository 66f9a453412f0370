"""What kernels call to read and make Python objects: functions of Python's C interface, found by their names.

All are of the stable interface but two, which are used where Python has them.

An object is its address, `id(object)`. Whoever calls a kernel keeps the objects alive; the kernel keeps the GIL (`JIT`
here, and not that of `team`), so that nobody changes them meanwhile. Kernels call nothing that could run Python code of
a user before they have read what they came for. A kernel that fails returns so and leaves no exception behind.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tgraph.kernels.cpu import team

JIT = {**team.JIT, "nogil": False}
AHEAD = 16  # objects: memory is asked for so long before it is read
WORD_BYTES = types.intp.bitwidth // 8
LINE_BYTES = 64  # of the cache
ITEM_LINES = 4  # of a dictionary's items; a large one is read in order from there, which the processor notices
TYPE_PLACE = object.__basicsize__ - WORD_BYTES  # the address of its type ends the head of every object
ITEMS_PLACE = dict.__basicsize__ - 2 * WORD_BYTES  # the address of a dictionary's items, where they are known
ITEMS_ARE_KNOWN = (  # where Python keeps the items of a dictionary
    sys.implementation.name == "cpython"
    and (3, 11) <= sys.version_info[:2] <= (3, 14)
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)

_object, _status, _size = types.intp, types.int32, types.intp


def _function(name, returns, *takes):
    return types.ExternalFunction(name, returns(*takes))


dict_next = _function("PyDict_Next", _status, _object, types.intp, types.intp, types.intp)
dict_size = _function("PyDict_Size", _size, _object)
get_item = _function("PyDict_GetItemWithError", _object, _object, _object)  # borrowed, 0 = not there
set_item = _function("PyDict_SetItem", _status, _object, _object, _object)  # negative = failed
set_add = _function("PySet_Add", _status, _object, _object)
set_new = _function("PySet_New", _object, _object)
list_append = _function("PyList_Append", _status, _object, _object)
hash_of = _function("PyObject_Hash", types.intp, _object)  # neither int nor str can fail
int_new = _function("PyLong_FromLongLong", _object, types.int64)
int_value = _function("PyLong_AsLongLong", types.int64, _object)  # -1 may be an error
int_as_float = _function("PyLong_AsDouble", types.float64, _object)
float_new = _function("PyFloat_FromDouble", _object, types.float64)
float_value = _function("PyFloat_AsDouble", types.float64, _object)
release = _function("Py_DecRef", types.void, _object)
error_occurred = _function("PyErr_Occurred", _object)
clear_error = _function("PyErr_Clear", types.void)


if hasattr(ctypes.pythonapi, "_PyDict_SetItem_KnownHash"):
    _set_item_hashed = _function("_PyDict_SetItem_KnownHash", _status, _object, _object, _object, types.intp)

    @njit(**JIT)
    def set_item_hashed(dictionary, key, value, key_hash):
        """Set an item whose key has this hash; negative = failed."""
        return _set_item_hashed(dictionary, key, value, key_hash)

else:

    @njit(**JIT)
    def set_item_hashed(dictionary, key, value, key_hash):
        """Set an item; negative = failed."""
        return set_item(dictionary, key, value)


def empty_dict(size: int) -> dict[Any, Any]:
    """Return a dictionary with room for so many items, where Python can make one."""
    if not hasattr(ctypes.pythonapi, "_PyDict_NewPresized"):
        return {}
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_ssize_t)(("_PyDict_NewPresized", ctypes.pythonapi))(size)


@intrinsic
def word_at(typing_context, address):
    """Return the word at an address."""

    def codegen(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], args[0].type.as_pointer()))

    return types.intp(types.intp), codegen


@intrinsic
def put_word(typing_context, address, word):
    """Write the word at an address."""

    def codegen(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], args[1].type.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), codegen


@njit(**JIT)
def type_of(address):
    """Return the address of an object's type."""
    return word_at(address + TYPE_PLACE)


@intrinsic
def ask_for(typing_context, address):
    """Bring what is at an address into the cache some time soon; a wrong address does no harm."""

    def codegen(context, builder, signature, args):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        to_read, keep_close, of_data = word(0), word(3), word(1)
        prefetch = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0i8")
        builder.call(prefetch, [builder.inttoptr(args[0], byte), to_read, keep_close, of_data])
        return context.get_dummy_value()

    return types.void(types.intp), codegen


@njit(**JIT)
def ask_for_items(dictionary):
    """Bring the first items of a dictionary, which is in the cache itself, into the cache some time soon.

    Where they are is known of some versions of Python only. In others this asks for something else, in vain.
    """
    items = word_at(dictionary + ITEMS_PLACE)
    for line in range(ITEM_LINES):
        ask_for(items + line * LINE_BYTES)
