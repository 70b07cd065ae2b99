"""Finds which arguments a kernel writes, from its source.

A kernel that is begun again must find its arrays as they were. Only those that it writes are restored: what another
thread writes to an input meanwhile is not the kernel's to undo. The analysis never misses a write: where it cannot
tell (a function that it does not know, a source that cannot be read), the argument counts as written.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import textwrap
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# A parameter by its position; a field of it if it is a named tuple, else None; how many whole numbers index it.
# A place of a table with two indices is a number, with one a row. Only the call knows how many a table has.
Place = tuple[int, str | None, int]
Places = frozenset[Place]
_DEEPEST = 8
_NONE: Places = frozenset()
# Attributes of an array that are no view of its cells.
_NUMBERS = ("shape", "size", "ndim", "dtype", "itemsize", "strides")
# Methods of an array that write nothing.
_READING = ("reshape", "view", "ravel", "transpose", "copy", "astype", "sum", "min", "max", "item")
# Functions without an output argument; those of NumPy and math are known by their module.
_HARMLESS = (range, len, min, max, abs, int, float, bool, round, enumerate, zip, tuple, divmod, sum, print)


def every_argument(function: Callable[..., Any]) -> Places:
    """Return all arguments of a function, as if it wrote each."""
    return frozenset((number, None, 0) for number in range(function.__code__.co_argcount))


def written_arguments(function: Callable[..., Any], writes: Callable[[Any], Places | None]) -> Places:
    """Return the arguments that a function writes, itself or through functions that it calls.

    Parameters
    ----------
    function : callable
        In the subset of Python that Numba compiles.
    writes : callable
        What a function that is called writes; None if that is not known.
    """
    try:
        tree = ast.parse(textwrap.dedent(_source(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return every_argument(function)
    if not isinstance(tree, ast.FunctionDef):
        return every_argument(function)
    return _Analysis(function, writes, tree).written()


def _source(function: Callable[..., Any]) -> str:
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    last = max((end for _, end, _, _ in code.co_positions() if end is not None), default=0)
    if last <= code.co_firstlineno:  # Python was started without positions, or all stands in one line
        return inspect.getsource(function)
    return "".join(lines[code.co_firstlineno - 1 : last])


class _Analysis:
    """One function: the places that each of its names may be a view of."""

    def __init__(
        self, function: Callable[..., Any], writes: Callable[[Any], Places | None], tree: ast.FunctionDef
    ) -> None:
        self.function, self.writes, self.nodes = function, writes, list(ast.walk(tree))
        self.views: dict[str, Places] = {
            name: frozenset({(number, None, 0)})
            for number, name in enumerate(function.__code__.co_varnames[: function.__code__.co_argcount])
        }

    def written(self) -> Places:
        assigned = [pair for node in self.nodes for pair in _assigned(node)]
        while sum(self._add(target, value) for target, value in assigned):
            continue  # a name may be assigned further down in a loop
        found = set(_NONE)
        for node in self.nodes:
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                found |= self.of(node.value)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found |= self.of(node.target)  # a += b writes in place if a is an array
            elif isinstance(node, ast.Call):
                found |= self._written_by_call(node)
        return frozenset(found)

    def _add(self, target: ast.expr, value: ast.expr) -> bool:
        """Let the names of a target be views of a value; return whether that is new."""
        places, is_new = self.of(value), False
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                before = self.views.get(node.id, _NONE)
                self.views[node.id] = before | places
                is_new |= not places <= before
        return is_new

    def of(self, value: ast.expr) -> Places:
        """Return the places of which a value may be a view; arithmetic makes a new value."""
        match value:
            case ast.Name():
                return self.views.get(value.id, _NONE)
            case ast.Attribute():
                if value.attr in _NUMBERS:
                    return _NONE
                return _field(self.of(value.value), value.attr)
            case ast.Subscript():
                return _deeper(self.of(value.value), _whole_numbers(value.slice))
            case ast.Starred():
                return self.of(value.value)
            case ast.Call():
                if isinstance(value.func, ast.Name) and value.func.id == "range":
                    return _NONE
                parts = [*value.args, *(word.value for word in value.keywords)]
                if isinstance(value.func, ast.Attribute):
                    parts.append(value.func.value)
                return _union(self.of(part) for part in parts)
            case ast.IfExp():
                return self.of(value.body) | self.of(value.orelse)
            case ast.NamedExpr():
                return self.of(value.value)
            case ast.Tuple() | ast.List():
                return _union(self.of(part) for part in value.elts)
        return _NONE

    def _written_by_call(self, call: ast.Call) -> Places:
        given = [self.of(part) for part in call.args]
        every = _union([*given, *(self.of(word.value) for word in call.keywords)])
        if not every and not isinstance(call.func, ast.Attribute):
            return _NONE
        known, called = self._named(call.func)
        if not known:
            if isinstance(call.func, ast.Attribute) and call.func.attr not in _READING:
                return every | self.of(call.func.value)  # a method may write its own array: x.sort()
            return every
        if call.keywords or any(isinstance(part, ast.Starred) for part in call.args):
            return every
        written = self.writes(called)
        if written is not None:
            return _union(
                _deeper(_field(given[place], field), depth)
                for place, field, depth in written
                if place < len(given)
            )
        return _NONE if _is_harmless(called, len(given)) else every

    def _named(self, function: ast.expr) -> tuple[bool, Any]:
        """Return whether a function is known by its name, and the function."""
        names = ChainMap(self.function.__globals__, vars(builtins))
        if isinstance(function, ast.Name) and function.id not in self.views:
            return function.id in names, names.get(function.id)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = names.get(function.value.id)
            if inspect.ismodule(module) and function.value.id not in self.views:
                return hasattr(module, function.attr), getattr(module, function.attr, None)
        return False, None


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield targets and what is assigned to them, in one statement."""
    match node:
        case ast.Assign():
            for target in node.targets:
                yield target, node.value
        case ast.AnnAssign() if node.value is not None:
            yield node.target, node.value
        case ast.NamedExpr():
            yield node.target, node.value
        case ast.For() | ast.comprehension():
            yield node.target, node.iter  # as if the rows were the table: too much rather than too little


def _is_harmless(function: Any, n_given: int) -> bool:
    """Return whether a function cannot write what it is given by position."""
    n_read = getattr(function, "nin", None)  # of NumPy's functions of single numbers
    if n_read is not None:
        return n_given <= int(n_read)
    return (
        function in _HARMLESS or getattr(function, "__module__", None) == "math" or isinstance(function, type)
    )


def _whole_numbers(index: ast.expr) -> int:
    """Count the axes that an index takes away."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    is_axis = [not isinstance(part, ast.Slice | ast.Starred) and not _is_none(part) for part in parts]
    return sum(is_axis)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, ...)


def _deeper(places: Places, more: int) -> Places:
    return frozenset((number, field, min(depth + more, _DEEPEST)) for number, field, depth in places)


def _field(places: Places, name: str | None) -> Places:
    return frozenset((number, name if field is None else field, depth) for number, field, depth in places)


def _union(places: Iterable[Places]) -> Places:
    return frozenset().union(*places)
