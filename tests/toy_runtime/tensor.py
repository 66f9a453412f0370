"""Step 1: the tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.runtime.protocol import Array
from tgraph.runtime.wrapped import WrappedTensor


class ToyTensor(WrappedTensor):
    """An array that never changes."""

    __slots__ = ("elements",)

    runtime_name = "toy"
    device = "cpu"

    def __init__(self, elements: Any) -> None:
        self.elements: Array = np.asarray(elements).view()
        self.elements.setflags(write=False)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.elements.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.elements.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.elements, dtype, copy=copy)

    def __getitem__(self, place: int | slice) -> Any:
        return ToyTensor(self.elements[place]) if isinstance(place, slice) else self.elements[place]

    def _apply(self, name: str, *operands: Any) -> ToyTensor:
        with np.errstate(all="ignore"):
            return ToyTensor(getattr(np, name)(*map(unwrapped, operands)))


def unwrapped(value: Any) -> Any:
    """Return what the tensor holds; numbers stay as they are."""
    return value.elements if isinstance(value, ToyTensor) else value
