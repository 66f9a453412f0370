"""update: every vertex that received something takes its new value, and those that changed become active.

    values     5  1  9        vertices 0, 3, 6 with min
    incoming   7  1  2
    new        5  1  2
    changed    F  F  T        vertex 6 is active in the next iteration

Work: O(vertices given).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tgraph.runtime import Runtime, Tensor


def update(
    runtime: Runtime, fields: Mapping[str, Tensor], function: Callable[[], Any], main_field: str
) -> tuple[dict[str, Tensor], Tensor]:
    """Call `function` and return the new fields and the mask of vertices where any of them changed.

    The function returns a tensor (the new main field) or a mapping from field names to tensors.
    """
    result = function()
    new_fields = dict(result) if isinstance(result, Mapping) else {main_field: result}
    mask = None
    for name, new in new_fields.items():
        old = fields[name]
        new = runtime.astype(new, runtime.dtype(old))
        new_fields[name] = new
        differs = changed_mask(old, new)
        mask = differs if mask is None else mask | differs
    return new_fields, mask


def changed_mask(old: Tensor, new: Tensor) -> Tensor:
    """Return where two tensors differ; NaN equals NaN.

    >>> import numpy as np
    >>> changed_mask(np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, np.nan]))
    array([False,  True, False])
    """
    return (old != new) & ((old == old) | (new == new))
