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
from typing import Any
from weakref import WeakKeyDictionary

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


_NUMBERS = (bool, int, float, np.generic)
_UNKNOWN = object()


class NotTranslatableError(TGraphError):
    """A function uses something that cannot be compiled into a kernel."""


@dataclass(frozen=True)
class Translation:
    """A function as text: `def name(parameters, constants): ...`."""

    source: str
    constants: tuple[str, ...]  # names of the program's numbers, which follow the parameters
    returned: tuple[str, ...] | None  # field names where it returns a mapping


@dataclass(frozen=True)
class _Made:
    """A translation, and what it stands on beside the text of the function."""

    translation: Translation
    outside: dict[tuple[str, ...], Any]  # names of other modules or functions around it, and what they stood for

    def is_right_for(self, function: Callable[..., Any], owner: Any) -> bool:
        numbers = (getattr(owner, constant, None) for constant in self.translation.constants)
        same = (_find(function, names) is value for names, value in self.outside.items())
        return all(isinstance(number, _NUMBERS) for number in numbers) and all(same)


_made: WeakKeyDictionary[Callable[..., Any], dict[str, _Made]] = WeakKeyDictionary()


def translate(function: Callable[..., Any], name: str) -> Translation:
    """Return the text of a bound method or a plain function, under a new name.

    >>> def message(value, weight):
    ...     return elementwise.minimum(value, weight * 2)
    >>> print(translate(message, "message").source)
    def message(value, weight):
        return minimum(value, weight * 2)
    """
    owner, inner = getattr(function, "__self__", None), inspect.unwrap(getattr(function, "__func__", function))
    before = _made.setdefault(inner, {}).get(name)  # translating takes a millisecond, as long as a small search
    if before is None or not before.is_right_for(inner, owner):
        before = _made[inner][name] = _translate(inner, owner, name)
    return before.translation


def _translate(function: Callable[..., Any], owner: Any, name: str) -> _Made:
    definition = _parse(function)
    arguments = [argument.arg for argument in definition.args.args]
    own_name = arguments.pop(0) if owner is not None else None
    translator = _Translator(function, owner, own_name, {*arguments, *_assigned(definition)})
    body = [translator.visit(statement) for statement in _without_docstring(definition.body)]
    constants = tuple(translator.constants)
    parameters = ", ".join([*arguments, *(f"self_{constant}" for constant in constants)])
    lines = [ast.unparse(ast.fix_missing_locations(statement)) for statement in body]
    text = f"def {name}({parameters}):\n" + textwrap.indent("\n".join(lines), "    ")
    return _Made(Translation(text, constants, translator.returned), translator.outside)


def _parse(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the tree of a function, for the caller to change."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError) as error:
        raise NotTranslatableError("its source cannot be read") from error
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise NotTranslatableError("it is not written with def")
    arguments = definition.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise NotTranslatableError("it has optional or variable parameters")
    return definition


def _find(function: Callable[..., Any], names: tuple[str, ...]) -> Any:
    """Return what a name, or an attribute of one, stands for in a function; `_UNKNOWN` if it is nothing."""
    code, first = function.__code__, names[0]
    if first in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(first)]
        found = getattr(cell, "cell_contents", _UNKNOWN)  # empty until the variable has a value
    else:
        found = function.__globals__.get(first, getattr(builtins, first, _UNKNOWN))
    for name in names[1:]:
        found = getattr(found, name, _UNKNOWN)
    return found


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
        self._function, self._owner = function, owner
        self._own_name, self._local_names = own_name, local_names
        self.outside: dict[tuple[str, ...], Any] = {}
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
        return self._replacement((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id == self._own_name:
            value = getattr(self._owner, node.attr)
            if not isinstance(value, _NUMBERS):
                raise NotTranslatableError(f"self.{node.attr} is a {type(value).__name__}, not a number")
            self.constants[node.attr] = value
            return ast.Name(f"self_{node.attr}", ast.Load())
        names, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in self._local_names:
            raise NotTranslatableError(f"it uses the attribute {node.attr!r} of a value")
        return self._replacement((inner.id, *reversed(names)))

    def _replacement(self, names: tuple[str, ...]) -> ast.expr:
        """Return what stands for something outside the function inside a kernel."""
        value = self.outside[names] = _find(self._function, names)
        if value is _UNKNOWN:
            raise NotTranslatableError(f"it uses {'.'.join(names)!r}, which is not known")
        if isinstance(value, (bool, int, float)):
            return _literal(value)
        for word, same in _FUNCTIONS.items():
            if any(value is one for one in same):
                return ast.Name(word, ast.Load())
        message = f"it uses {'.'.join(names)!r}, which is neither a number nor an element-wise function"
        raise NotTranslatableError(message)


def _literal(value: bool | int | float) -> ast.expr:
    if isinstance(value, float) and not math.isfinite(value):
        word = "nan" if value != value else "inf"
        literal: ast.expr = ast.Name(word, ast.Load())
        return literal if value != value or value > 0 else ast.UnaryOp(ast.USub(), literal)
    return ast.Constant(value)
