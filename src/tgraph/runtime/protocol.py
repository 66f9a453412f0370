"""What a tensor runtime must offer: the primitives that operators are built from.

A runtime object belongs to one device. Types are NumPy's. Behaviour is the same in every runtime, and the tests in
`tests/conformance` run on each of them:

- a position outside a tensor raises `OutOfRangeError` (an `IndexError`), negative ones included;
- a reduction keeps the type of its values (`count` gives int64) and gives `dtypes.identity` for an empty segment;
- NaN wins every `min` and `max` and comes last in every order, as in NumPy; no float result warns;
- a method whose docstring says *consumes* may write into that argument: use what it returns.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

Tensor: TypeAlias = Any  # torch.Tensor, numpy.ndarray, ...: all have +, -, *, /, comparisons and slices
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Runtime(Protocol):
    """The primitives of one tensor runtime on one device."""

    name: str
    device: str

    # --- making, moving, reading -------------------------------------------------------------------------------------
    def asarray(self, data: Any, dtype: Any = None) -> Tensor:
        """Return `data` (a list, a NumPy array or a tensor) as a tensor here, without a copy where that is possible."""

    def share(self, tensor: Tensor) -> Tensor:
        """Return a tensor of any runtime as one here, in the same memory where that is possible.

        Nobody may write into either of them afterwards; `asarray` copies where that would be wrong.
        """

    def to_numpy(self, tensor: Tensor) -> Array:
        """Return the tensor as a NumPy array, without a copy on the CPU; read-only where tensors never change."""

    def full(self, size: int, value: Any, dtype: Any) -> Tensor:
        """Return a new tensor `[size]` filled with `value`."""

    def arange(self, start: int, stop: int, dtype: Any) -> Tensor:
        """Return start, start + 1, ..., stop - 1."""

    def astype(self, tensor: Tensor, dtype: Any) -> Tensor:
        """Return the tensor with another element type."""

    def dtype(self, tensor: Tensor) -> np.dtype[Any]:
        """Return the element type."""

    def copy(self, tensor: Tensor) -> Tensor:
        """Return a copy that shares no memory."""

    def has_own_memory(self, tensor: Tensor) -> bool:
        """Say whether methods may consume the tensor: nobody else sees its memory, or nothing is ever written there."""

    def item(self, tensor: Tensor) -> Any:
        """Return the only element as a Python scalar. Waits for the device."""

    # --- selecting ---------------------------------------------------------------------------------------------------
    def index_select(self, tensor: Tensor, positions: Tensor) -> Tensor:
        """Return `tensor[positions]`."""

    def mask_select(self, tensor: Tensor, mask: Tensor) -> Tensor:
        """Return the elements where `mask` holds, in order."""

    def nonzero(self, mask: Tensor) -> Tensor:
        """Return the positions (int64) where `mask` holds, ascending."""

    def index_put(self, tensor: Tensor, positions: Tensor, values: Tensor) -> Tensor:
        """Return the tensor with `values` (a tensor or a scalar) at `positions`. Consumes `tensor`.

        Where a position occurs twice with different values, either may stay.
        """

    def concatenate(self, tensors: list[Tensor]) -> Tensor:
        """Return the tensors, all of one type, one behind the other."""

    # --- expanding and ordering --------------------------------------------------------------------------------------
    def repeat_interleave(self, tensor: Tensor, counts: Tensor, total: int) -> Tensor:
        """Return element i `counts[i]` times. Raises `InvalidArgumentError` on the CPU if the counts are wrong.

        `total` is the sum of the counts, known to the caller, so that nobody has to wait for the device.
        """

    def cumsum(self, tensor: Tensor) -> Tensor:
        """Return the inclusive running sum; of integers in int64."""

    def searchsorted(self, ascending: Tensor, values: Tensor, side: str = "left") -> Tensor:
        """Return where `values` would be inserted (int64); `side` is `left` or `right`."""

    def sort(self, tensor: Tensor) -> Tensor:
        """Return the elements in ascending order."""

    def argsort(self, tensor: Tensor) -> Tensor:
        """Return the positions (int64) that sort the tensor; equal elements keep their order."""

    def unique(self, tensor: Tensor) -> Tensor:
        """Return the distinct elements in ascending order; every NaN is distinct."""

    # --- reducing ----------------------------------------------------------------------------------------------------
    def reduce(self, tensor: Tensor, op: str) -> Tensor:
        """Return the reduction of all elements as a tensor with one element; the identity where there are none."""

    def scatter_reduce(self, into: Tensor, positions: Tensor, values: Tensor, op: str) -> Tensor:
        """Reduce each `values[i]` into `into[positions[i]]` by min, max, sum, any or count. Consumes `into`.

        What `into` holds takes part. Both have one type; a count takes values of any type.
        """

    def segment_reduce(self, values: Tensor, offsets: Tensor, op: str) -> Tensor:
        """Return the reduction of `values[offsets[i]:offsets[i + 1]]` for every i."""

    # --- element-wise; types meet as in NumPy, also with scalars: int64 and 1.5 in float64 ----------------------------
    def where(self, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
        """Return `yes` where the condition holds and `no` elsewhere."""

    def minimum(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the smaller of each pair; NaN if either is."""

    def maximum(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the larger of each pair; NaN if either is."""

    def absolute(self, tensor: Tensor) -> Tensor:
        """Return the magnitudes."""

    def sqrt(self, tensor: Tensor) -> Tensor:
        """Return the square roots, of integers in float64; NaN of negative ones."""

    def exp(self, tensor: Tensor) -> Tensor:
        """Return e to the power of each element, of integers in float64."""

    def log(self, tensor: Tensor) -> Tensor:
        """Return the natural logarithms, of integers in float64; -inf of 0 and NaN of negative ones."""
