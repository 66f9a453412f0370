"""From a program's element-wise function on tensors to the same function on single elements, as source text.

The text refers to nothing outside itself: numbers from the program or the module around it become parameters or
literals, and the functions of `tgraph.elementwise` (also NumPy's and math's of the same meaning) those of
`fused.functions`. What cannot be translated raises `NotTranslatableError` with the reason; the plain path then serves.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tgraph import elementwise
from tgraph.errors import TGraphError

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "where": (elementwise.where, np.where),
    "minimum": (elementwise.minimum, np.minimum),
    "maximum": (elementwise.maximum, np.maximum),
    "absolute": (elementwise.absolute, np.absolute, np.abs, abs),
    "sqrt": (elementwise.sqrt, np.sqrt, math.sqrt),
    "exp": (elementwise.exp, np.exp, math.exp),
    "log": (elementwise.log, np.log, math.log),
}
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
_EXPRESSIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Constant, ast.Name, ast.Attribute, ast.Dict, ast.Tuple),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.expr_context, ast.keyword),
)


class NotTranslatableError(TGraphError):
    """A function uses something that cannot be compiled into a kernel."""


@dataclass(frozen=True)
class Translation:
    """A function as text: `def name(parameters, constants): ...`."""

    source: str
    constants: tuple[str, ...]  # names of the program's numbers, which follow the parameters
    returned: tuple[str, ...] | None  # field names where it returns a mapping


def translate(function: Callable[..., Any], name: str) -> Translation:
    """Return the text of a bound method or a plain function, under a new name.

    >>> def message(value, weight):
    ...     return elementwise.minimum(value, weight * 2)
    >>> print(translate(message, "message").source)
    def message(value, weight):
        return minimum(value, weight * 2)
    """
    definition = _parse(function)
    owner = getattr(function, "__self__", None)
    arguments = [argument.arg for argument in definition.args.args]
    own_name = arguments.pop(0) if owner is not None else None
    translator = _Translator(function, owner, own_name, {*arguments, *_assigned(definition)})
    body = [translator.visit(statement) for statement in _without_docstring(definition.body)]
    constants = tuple(translator.constants)
    parameters = ", ".join([*arguments, *(f"self_{constant}" for constant in constants)])
    lines = [ast.unparse(ast.fix_missing_locations(statement)) for statement in body]
    text = f"def {name}({parameters}):\n" + textwrap.indent("\n".join(lines), "    ")
    return Translation(text, constants, translator.returned)


def _parse(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the tree of a function, for the caller to change."""
    try:
        tree = ast.parse(_read_source(inspect.unwrap(getattr(function, "__func__", function))))
    except (OSError, TypeError, SyntaxError) as error:
        raise NotTranslatableError("its source cannot be read") from error
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise NotTranslatableError("it is not written with def")
    arguments = definition.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise NotTranslatableError("it has optional or variable parameters")
    return definition


@cache  # reading takes a millisecond, as long as a search of a small graph
def _read_source(function: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(function))


def _assigned(definition: ast.FunctionDef) -> set[str]:
    names = [node for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {node.id for node in names}


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


class _Translator(ast.NodeTransformer):
    """Replaces names by what they stand for, and refuses what has no meaning for one element."""

    def __init__(self, function: Any, owner: Any, own_name: str | None, local_names: set[str]) -> None:
        variables = inspect.getclosurevars(inspect.unwrap(getattr(function, "__func__", function)))
        self._known = {**vars(builtins), **variables.globals, **variables.nonlocals}
        self._owner, self._own_name, self._local_names = owner, own_name, local_names
        self.constants: dict[str, Any] = {}
        self.returned: tuple[str, ...] | None = None

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            raise NotTranslatableError(f"it uses a statement of kind {type(node).__name__}")
        if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
            raise NotTranslatableError(f"it uses an expression of kind {type(node).__name__}")
        return super().visit(node)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if not isinstance(node.value, ast.Dict):
            return ast.Return(self.visit(node.value)) if node.value else node
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.value.keys]
        if not all(isinstance(key, str) for key in keys):
            raise NotTranslatableError("it returns a mapping whose keys are not written out")
        self.returned = tuple(str(key) for key in keys)
        return ast.Return(ast.Tuple([self.visit(value) for value in node.value.values], ast.Load()))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        if node.value is None:
            raise NotTranslatableError("it declares a variable without a value")
        return ast.Assign([node.target], self.visit(node.value))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Invert):
            return ast.Call(ast.Name("invert", ast.Load()), [self.visit(node.operand)], [])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self._local_names:
            return node
        if node.id not in self._known:
            raise NotTranslatableError(f"it uses {node.id!r}, which is not known")
        return _replacement(node.id, self._known[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id == self._own_name:
            value = getattr(self._owner, node.attr)
            if not isinstance(value, (bool, int, float, np.generic)):
                raise NotTranslatableError(f"self.{node.attr} is a {type(value).__name__}, not a number")
            self.constants[node.attr] = value
            return ast.Name(f"self_{node.attr}", ast.Load())
        names, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in self._local_names or inner.id not in self._known:
            raise NotTranslatableError(f"it uses the attribute {node.attr!r} of a value")
        found = self._known[inner.id]
        for name in reversed(names):
            found = getattr(found, name)
        return _replacement(ast.unparse(node), found)


def _replacement(name: str, value: Any) -> ast.expr:
    """Return what stands for a global name inside a kernel."""
    if isinstance(value, (bool, int, float)):
        return _literal(value)
    for word, same in _FUNCTIONS.items():
        if any(value is one for one in same):
            return ast.Name(word, ast.Load())
    raise NotTranslatableError(f"it uses {name!r}, which is neither a number nor an element-wise function")


def _literal(value: bool | int | float) -> ast.expr:
    if isinstance(value, float) and not math.isfinite(value):
        word = "nan" if value != value else "inf"
        literal: ast.expr = ast.Name(word, ast.Load())
        return literal if value != value or value > 0 else ast.UnaryOp(ast.USub(), literal)
    return ast.Constant(value)
