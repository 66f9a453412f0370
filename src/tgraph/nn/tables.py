"""Tables with one row per vertex: features and labels, in memory or mapped from a file."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io.tensor_file import map_file
from tgraph.nn.rows import shared_tensor

_DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
}


def as_table(argument: str, table: Any, num_rows: int) -> Tensor:
    """Return a tensor or array (mapped ones stay mapped) as a tensor that shares its memory, or raise."""
    if isinstance(table, np.ndarray):
        table = shared_tensor(table)
    if not isinstance(table, Tensor):
        raise InvalidArgumentError(f"{argument} is a {type(table).__name__}; give a torch tensor or a NumPy array")
    if not table.ndim or table.shape[0] != num_rows:
        raise InvalidArgumentError(
            f"{argument} has the shape {tuple(table.shape)}; it needs one row for each of the {num_rows} vertices"
        )
    if not table.is_contiguous():
        raise InvalidArgumentError(f"{argument} is not contiguous; give {argument}.contiguous() or a copy")
    return table


def open_table(path: str | os.PathLike[str], name: str | None = None) -> Tensor:
    """Map a table from a safetensors or NumPy file: rows are read from the file when they are looked up.

    Only the pages that rows lie on are read, and the system may forget them again: a table may be larger than memory.
    A `Loader` has the rows of a batch read all at once, in the background (on Linux, from files that you own or may
    write: of others it does not say what is in memory).

    Args:
        path: A `.safetensors` or `.npy` file.
        name: Of the tensor in a safetensors file; None = the only one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "features.npy")
    ...     np.save(path, np.eye(3, dtype=np.float32))
    ...     open_table(path)[1].tolist()
    [0.0, 1.0, 0.0]
    """
    if os.fspath(path).endswith(".npy"):
        return torch.from_numpy(np.load(path, mmap_mode="c"))
    mapped = map_file(path, at_random=True)
    try:
        length = int(mapped[:8].view("<u8")[0])
        tensors = json.loads(mapped[8 : 8 + length].tobytes())
    except (ValueError, IndexError) as error:
        raise FileFormatError(path, "header", "is not that of a safetensors file") from error
    tensors.pop("__metadata__", None)
    if name is None and len(tensors) == 1:
        name = next(iter(tensors))
    if name is None or name not in tensors:
        raise InvalidArgumentError(f"name={name!r} is not in {os.fspath(path)}; it has {', '.join(sorted(tensors))}")
    found = tensors[name]
    if found["dtype"] not in _DTYPES:
        raise FileFormatError(path, name, f"has the type {found['dtype']}, which is not known here")
    first, last = (8 + length + place for place in found["data_offsets"])
    content = torch.from_numpy(mapped[first:last].view(np.uint8))
    return content.view(_DTYPES[found["dtype"]]).reshape(found["shape"])
