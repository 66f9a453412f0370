"""Proving what engines rely on: `check` calls a program's own functions on symbols instead of tensors.

Only this package imports z3, and only when `check` is called.
"""

from tgraph.prove.programs import check
from tgraph.prove.report import Check, Property

__all__ = ["Check", "Property", "check"]
