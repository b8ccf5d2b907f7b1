# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which quantity a scalar belongs to: the name on the left of the line that made it.

Algorithm files stay free of bookkeeping. Only when an algorithm is traced, a copy of it is compiled
that announces each assigned name to the graph before the assignment runs.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from .graph import Graph

_NOTE = "__quantity__"
_KEEP = "__keep__"
_ROOT = __name__.partition(".")[0]
_PACKAGE = _ROOT + ".algorithms"
_SWEEPS = (_ROOT + ".sweeps",)  # sweeps, some of which share their names with algorithms

Around = Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]]
_NOTHING: Around = {}


def announcing(
    function: Callable[..., Any], graph: Graph, result: str, around: Around = _NOTHING
) -> Callable[..., Any]:
    """The function with every assignment announced to the graph; `result` names what it returns.

    `around` holds decorators, by name, for the functions that it and its helpers call.
    """
    code = _announcing_code(function)
    if code is None:  # no source available: the whole function is one quantity
        return _scoped(function, graph, result)
    scope = dict(inspect.unwrap(function).__globals__)
    scope[_NOTE] = lambda name: setattr(graph, "quantity", name or result)
    scope[_KEEP] = graph.keep
    for name, value in list(scope.items()):
        if not isinstance(value, FunctionType) or value is function:
            continue
        called: Any = value
        if value.__module__.startswith(_PACKAGE):
            called = _Lazily(value, graph, name, around)
        if value.__name__ in around and value.__module__ not in _SWEEPS:
            called = around[value.__name__](called)
        scope[name] = called
    exec(code, scope)
    return _scoped(scope[function.__name__], graph, result)


class _Lazily:
    """A function of another algorithm file, which is instrumented at its first call."""

    def __init__(self, function: Callable[..., Any], graph: Graph, name: str, around: Around) -> None:
        self.function, self.graph, self.name, self.around = function, graph, name, around
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        prepared = self.graph.prepared
        key = (self.function, self.name)
        if key not in prepared:
            prepared[key] = announcing(self.function, self.graph, self.name, self.around)
        return prepared[key](*args, **keywords)


def _scoped(function: Callable[..., Any], graph: Graph, result: str) -> Callable[..., Any]:
    """The function with the graph's quantity set to `result` while it runs, and restored after it."""

    def run(*args: Any, **keywords: Any) -> Any:
        before, graph.quantity = graph.quantity, result
        try:
            return function(*args, **keywords)
        finally:
            graph.quantity = before

    return run


@cache
def _announcing_code(function: Callable[..., Any]) -> CodeType | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    _Announce().visit(definition)
    return compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec")


class _Announce(ast.NodeTransformer):
    """Announce the quantity before every assignment and return; a nested function's return has its name.

    Variables of the function itself are passed to the graph, which may record their values.
    """

    result = ""
    inside = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        outer, self.result = self.result, node.name if self.inside else ""
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1
        self.result = outer
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            return _one_by_one(target, node.value)
        names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
        keep = [_keep(target.id)] if isinstance(target, ast.Name) and self.inside == 1 else []
        return [_note(names[0]), node, *keep] if names else node

    def visit_Return(self, node: ast.Return) -> Any:
        return [_note(self.result), node]


def _note(name: str) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(name)], []))


def _keep(name: str) -> ast.stmt:
    arguments: list[ast.expr] = [ast.Constant(name), ast.Name(name, ast.Load())]
    return ast.Expr(ast.Call(ast.Name(_KEEP, ast.Load()), arguments, []))


def _one_by_one(targets: ast.Tuple, values: ast.Tuple) -> list[ast.stmt]:
    """`a, b = x, y` as single assignments, each announced: all values are computed before names are bound."""
    steps: list[ast.stmt] = []
    parts: list[ast.expr] = []
    starred = any(isinstance(x, ast.Starred) for x in (*targets.elts, *values.elts))
    for k, value in enumerate(values.elts):
        names = [] if starred else [n.id for n in ast.walk(targets.elts[k]) if isinstance(n, ast.Name)]
        names = names or [n.id for n in ast.walk(targets) if isinstance(n, ast.Name)]
        if names:
            steps.append(_note(names[0]))
        part = f"__part_{k}__"
        inner = value.value if isinstance(value, ast.Starred) else value
        steps.append(ast.Assign([ast.Name(part, ast.Store())], inner))
        read: ast.expr = ast.Name(part, ast.Load())
        parts.append(ast.Starred(read, ast.Load()) if isinstance(value, ast.Starred) else read)
    return [*steps, ast.Assign([targets], ast.Tuple(parts, ast.Load()))]
