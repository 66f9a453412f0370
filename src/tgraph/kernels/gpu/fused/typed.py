"""From a function on one element (`kernels.cpu.fused.translate`) to Triton text, with the types that torch would give.

Each expression is written together with a sample of its value: a tensor `[1]` of torch, or a number for what is a
number in Python. An operation is done on the samples to learn its type, and its operands are cast to that in the text.
So integers, truth values, halves and plain numbers meet as on the plain path, which Triton alone would do otherwise.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from tgraph import elementwise
from tgraph.kernels.cpu.fused.translate import NotTranslatableError, Translation

TRITON_TYPES = {
    torch.bool: "tl.int1",
    torch.uint8: "tl.uint8",
    torch.int8: "tl.int8",
    torch.int16: "tl.int16",
    torch.int32: "tl.int32",
    torch.int64: "tl.int64",
    torch.float16: "tl.float16",
    torch.float32: "tl.float32",
    torch.float64: "tl.float64",
}
_NUMBER_TYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}
_SIGNS: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
_CALLED_SIGNS: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Div: ("divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("modulo", operator.mod),
}
_LOGICAL = {"+": "|", "*": "&"}  # of truth values, as torch has them
_LARGEST_POWER = 8


class Typed(NamedTuple):
    """Triton text and a sample of what it gives."""

    text: str
    sample: Any

    @property
    def dtype(self) -> torch.dtype:
        """The type of the text's value; plain numbers are as wide as they can be."""
        return dtype_of(self.sample)

    def cast(self, dtype: torch.dtype) -> str:
        """Return the text of the value in another type."""
        return self.text if dtype == self.dtype else f"({self.text}).to({TRITON_TYPES[dtype]})"


def dtype_of(sample: Any) -> torch.dtype:
    """Return the type of a sample: torch's, or that of a Python number."""
    dtype: torch.dtype = sample.dtype if isinstance(sample, torch.Tensor) else _NUMBER_TYPES[type(sample)]
    return dtype


def sample_of(dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor of a type, for which nothing is undefined."""
    return torch.ones(1, dtype=dtype)


def write_function(translation: Translation, name: str, samples: dict[str, Any]) -> tuple[str, list[torch.dtype]]:
    """Return a function as Triton text under a name, and the types that it returns.

    `samples` has one for every parameter, and for every number of the program under `self_` and its name.

    >>> from tgraph.kernels.cpu.fused.translate import translate
    >>> def message(value, weight):
    ...     return value + 0.5 * weight
    >>> text, types = write_function(translate(message, "message"), "message", {"value": sample_of(torch.float64),
    ...     "weight": sample_of(torch.int32)})
    >>> types
    [torch.float64]
    """
    definition = ast.parse(translation.source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    parameters = [argument.arg for argument in definition.args.args]
    writer = _Writer({parameter: Typed(f"u_{parameter}", samples[parameter]) for parameter in parameters})
    for statement in definition.body:
        writer.write(statement)
    if not writer.returned:
        raise NotTranslatableError("it returns nothing")
    listed = ", ".join(f"u_{parameter}" for parameter in parameters)
    lines = "\n".join(f"    {line}" for line in writer.lines)
    return f"@triton.jit\ndef {name}({listed}):\n{lines}\n", [value.dtype for value in writer.returned]


class _Writer:
    """Writes the statements of one function."""

    def __init__(self, known: dict[str, Typed]) -> None:
        self._known = known | {word: _number(float(word)) for word in ("inf", "nan")}
        self.lines: list[str] = []
        self.returned: list[Typed] = []

    def write(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Return) and statement.value is not None:
            values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
            self.returned = [self._value(value) for value in values]
            self.lines.append(f"return {', '.join(value.text for value in self.returned)}")
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], statement.value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            read = ast.BinOp(ast.Name(statement.target.id, ast.Load()), statement.op, statement.value)
            self._assign(statement.target, read)
        else:
            raise NotTranslatableError(f"it uses a statement that Triton has not: {ast.unparse(statement)}")

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=True))
        names = [one.id for one, _ in pairs if isinstance(one, ast.Name)]
        if len(names) < len(pairs):
            raise NotTranslatableError(f"it assigns to {ast.unparse(target)}")
        values = [self._value(one) for _, one in pairs]
        written = ", ".join(f"u_{name}" for name in names)
        self.lines.append(f"{written} = {', '.join(one.text for one in values)}")
        self._known |= {name: Typed(f"u_{name}", one.sample) for name, one in zip(names, values, strict=True)}

    def _value(self, node: ast.expr) -> Typed:
        try:
            return self._written(node)
        except (ArithmeticError, RuntimeError, TypeError) as error:
            raise NotTranslatableError(f"{ast.unparse(node)} is not defined: {error}") from error

    def _written(self, node: ast.expr) -> Typed:
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return _number(node.value)
        if isinstance(node, ast.Name):
            return self._known[node.id]
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self._value(node.operand)
            return Typed(f"(-{value.text})", -value.sample) if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return _called(node.func.id, [self._value(argument) for argument in node.args])
        raise NotTranslatableError(f"Triton has not: {ast.unparse(node)}")

    def _binary(self, node: ast.BinOp) -> Typed:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Pow):
            return _power(left, node.right)
        if type(node.op) in _CALLED_SIGNS:
            name, function = _CALLED_SIGNS[type(node.op)]
            sample = function(left.sample, right.sample)
            dtype = dtype_of(sample)
            return _cast_back(f"el.{name}", [left, right], dtype, sample)
        sign, function = _SIGNS[type(node.op)]
        sample = function(left.sample, right.sample)
        dtype = dtype_of(sample)
        sign = _LOGICAL.get(sign, sign) if dtype == torch.bool else sign
        return Typed(f"({left.cast(dtype)} {sign} {right.cast(dtype)})", sample)

    def _compared(self, node: ast.Compare) -> Typed:
        values = [self._value(value) for value in (node.left, *node.comparators)]
        parts = []
        for sign, left, right in zip(node.ops, values[:-1], values[1:], strict=True):
            if type(sign) not in _SIGNS:
                raise NotTranslatableError(f"it compares by {type(sign).__name__}")
            dtype = _met(left.sample, right.sample)
            parts.append(f"({left.cast(dtype)} {_SIGNS[type(sign)][0]} {right.cast(dtype)})")
        return Typed(f"({' & '.join(parts)})", _is_plain(*values) or sample_of(torch.bool))


def _is_plain(*values: Typed) -> bool:
    """Whether all are numbers of Python: then so is what is made of them."""
    return not any(isinstance(value.sample, torch.Tensor) for value in values)


def _met(left: Any, right: Any) -> torch.dtype:
    """Return the type in which two samples are compared."""
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return torch.result_type(left, right)
    return dtype_of(left + right)


def _number(value: bool | int | float) -> Typed:
    text = f'float("{value}")' if isinstance(value, float) else repr(value)
    return Typed(f"tl.full([], {text}, {TRITON_TYPES[dtype_of(value)]})", value)


def _power(base: Typed, exponent: ast.expr) -> Typed:
    value = exponent.value if isinstance(exponent, ast.Constant) else None
    if type(value) is not int or not 1 <= value <= _LARGEST_POWER:
        raise NotTranslatableError(f"only powers from 1 to {_LARGEST_POWER} are compiled, not {ast.unparse(exponent)}")
    return Typed(f"({' * '.join([base.text] * value)})", base.sample**value)


def _called(name: str, values: list[Typed]) -> Typed:
    samples = [value.sample for value in values]
    if name == "invert":
        return Typed(f"(~{values[0].text})", ~samples[0])
    sample = getattr(elementwise, name)(*samples)
    dtype = dtype_of(sample)
    if name == "where":
        condition, yes, no = values
        return Typed(f"tl.where({condition.cast(torch.bool)}, {yes.cast(dtype)}, {no.cast(dtype)})", sample)
    if name in ("minimum", "maximum"):
        return Typed(f"el.{name}({', '.join(value.cast(dtype) for value in values)})", sample)
    if name == "absolute":
        return Typed(f"tl.abs({values[0].cast(dtype)})", sample)
    return _cast_back("el.sqrt" if name == "sqrt" else f"tl.{name}", values, dtype, sample)


def _cast_back(function: str, values: list[Typed], dtype: torch.dtype, sample: Any) -> Typed:
    """Call a function that knows no half precision, in float32 where that is asked for."""
    wide = torch.float32 if dtype == torch.float16 else dtype
    text = f"{function}({', '.join(value.cast(wide) for value in values)})"
    return Typed(text if wide == dtype else f"({text}).to({TRITON_TYPES[dtype]})", sample)
