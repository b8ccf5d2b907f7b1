# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Integers of a program fold while they are built; operands of a statement are found and replaced."""

from __future__ import annotations

import numpy as np
import pytest

from phalanx.languages.codegen import _OPERATORS
from phalanx.program.ir import (
    INT_OPS,
    InductionVariable,
    IntExpr,
    Table,
    Value,
    apart,
    counters_of,
    entry,
    evaluate,
    int_expr,
    less,
    operands_of,
    plus,
    read_by,
    renamed,
    select,
    statements,
    times,
)
from phalanx.program.text import parse
from phalanx.program.verify import _INTERVALS


def test_every_operation_on_integers_has_a_rule_in_each_table() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from phalanx.backends.native.emit.writer import ARITHMETIC, COMPARED

    apart_from = {"entry", "select", "lanes"}  # of which visitors know more than an operator
    for table in (_INTERVALS, _OPERATORS, {*ARITHMETIC, *COMPARED, "and"}):
        assert {*table} == {*INT_OPS} - apart_from


def test_sums_have_one_constant_and_constants_fold() -> None:
    i, j = InductionVariable(), InductionVariable()
    assert plus(plus(i, 2), plus(j, 3)) == IntExpr("add", (IntExpr("add", (i, j)), 5))
    assert less(plus(i, 2), 2) is i
    assert (times(i, 1), times(0, i), times(i, 0), plus(3, 4)) == (i, 0, 0, 7)
    assert apart(plus(i, -4)) == (i, -4)
    assert select(int_expr("lt", 1, 2), i, j) is i


def test_tables_of_equal_entries_and_the_identity_fold() -> None:
    i = InductionVariable()
    assert entry(Table("same", np.array([4, 4, 4])), i) == 4
    assert entry(Table("identity", np.arange(5)), i) is i
    parent = Table("parent", np.array([-1, 0, 0]))
    index = entry(parent, plus(i, 1))
    assert counters_of(index) == {i}
    assert evaluate(index, {i: np.array([0, 1])}, {}).tolist() == [0, 0]


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(TypeError, match="unknown operation on integers 'power'"):
        IntExpr("power", (1, 2))
    with pytest.raises(TypeError, match="unknown operation on real numbers 'cbrt'"):
        Value("cbrt", (1.0,))


TEXT = """\
program
input x[2]
output y[]

x0 = x[0]
repeat i in range(9):
  carry c0 = x0
  x1 = c0 * 0.5
  x2 = x1 if i < 2 else c0
  x3 = less(x2, 1.0)
  next c0 = x2
  stop if x3
y[0] = c0
"""


def test_operands_are_what_statements_read() -> None:
    program = parse(TEXT)
    load, loop, store = program.body
    product, choice, mask = loop.body
    (carried,) = loop.carried
    assert operands_of(load) == ()
    assert operands_of(product) == (carried, 0.5)
    assert operands_of(choice) == (product, carried)
    assert operands_of(loop) == (load, choice, mask)
    assert operands_of(store) == (carried,)
    assert read_by(program.body) == {load, carried, product, choice, mask, 0.5, 1.0}


def test_renamed_statements_are_new_only_where_an_operand_is() -> None:
    program = parse(TEXT)
    for s in statements(program.body):
        if not operands_of(s) or s is program.body[1]:
            continue
        assert renamed(s, {}) is s
        first = operands_of(s)[0]
        again = renamed(s, {first: 7.0})
        assert operands_of(again) == (7.0, *operands_of(s)[1:])
