# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which quantity a scalar belongs to: the name on the left of the line that made it.

Algorithm texts stay free of bookkeeping. Only when one is traced, a copy of it is compiled
that announces each assigned name to the graph before the assignment runs.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from .scalar import Graph

_NOTE = "__quantity__"
_PACKAGE = __name__.partition(".")[0] + ".algorithms"


def announcing(function: Callable[..., Any], graph: Graph, result: str) -> Callable[..., Any]:
    """The function with every assignment announced to the graph; `result` names what it returns."""
    code = _announcing_code(function)
    if code is None:  # no source at hand: the whole function is one quantity
        return _scoped(function, graph, result)
    scope = dict(inspect.unwrap(function).__globals__)
    scope[_NOTE] = lambda name: setattr(graph, "quantity", name or result)
    for name, value in list(scope.items()):
        if (
            isinstance(value, FunctionType)
            and value.__module__.startswith(_PACKAGE)
            and value is not function
        ):
            scope[name] = _Lazily(value, graph, name)
    exec(code, scope)
    return _scoped(scope[function.__name__], graph, result)


class _Lazily:
    """A function of another algorithm file, prepared only if it is called."""

    def __init__(self, function: Callable[..., Any], graph: Graph, name: str) -> None:
        self.function, self.graph, self.name = function, graph, name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return announcing(self.function, self.graph, self.name)(*args, **keywords)


def _scoped(function: Callable[..., Any], graph: Graph, result: str) -> Callable[..., Any]:
    """The function, after which the graph's quantity is what it was before."""

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
    """Puts a note before every assignment and return; what a function inside returns has its name."""

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
        names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
        return [_note(names[0]), node] if names else node

    def visit_Return(self, node: ast.Return) -> Any:
        return [_note(self.result), node]


def _note(name: str) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(name)], []))
