# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Statements are appended to the innermost open block; the texts are golden."""

from __future__ import annotations

import pytest

from phalanx.program.builder import Builder
from phalanx.program.ir import int_expr
from phalanx.program.verify import verify

MOVED = """\
program
input x[37]
output y[37]

for i in range(0, 4):
  x0 = x[i * 8]
  x1 = x[i * 8 + 1]
  x2 = x[i * 8 + 2]
  x3 = x[i * 8 + 3]
  x4 = x[i * 8 + 4]
  x5 = x[i * 8 + 5]
  x6 = x[i * 8 + 6]
  x7 = x[i * 8 + 7]
  y[i * 8] = x0
  y[i * 8 + 1] = x1
  y[i * 8 + 2] = x2
  y[i * 8 + 3] = x3
  y[i * 8 + 4] = x4
  y[i * 8 + 5] = x5
  y[i * 8 + 6] = x6
  y[i * 8 + 7] = x7
x32 = x[32]
x33 = x[33]
x34 = x[34]
x35 = x[35]
x36 = x[36]
y[32] = x32
y[33] = x33
y[34] = x34
y[35] = x35
y[36] = x36
"""


def test_many_numbers_move_in_blocks_and_the_rest_after_them() -> None:
    b = Builder({"x": (37,)}, {"y": (37,)})
    b.move(b.outputs["y"], 0, b.inputs["x"], 0, 37)
    assert verify(b.finished()).text() == MOVED


NESTED = """\
program bodies=2
input x[3]
output y[3]
scratch sums[3]

for i in reversed(range(0, 3)):
  carry c0 = 0.0
  x0 = x[i]
  body i:
    x1 = c0 + x0
    sums[i] = x1
  next c0 = x1
parallel for i in range(0, 3):
  sums0 = sums[i]
  if i < 2:
    x2 = -sums0
    y[i] = x2
"""


def test_blocks_nest_and_conditions_that_are_known_fold() -> None:
    b = Builder({"x": (3,)}, {"y": (3,)})
    sums = b.buffer("sums", 3)
    with b.loop(3, down=True) as loop:
        total, x = loop.carry(0.0), b.load(b.inputs["x"], loop.index)
        with b.attributed_to(loop.index), b.only_if(1):
            loop.feed(total, b.add(total, x))
            b.store(sums, loop.index, loop.carried[total])
        with b.only_if(0):
            b.store(sums, 0, 1.0)
    with b.parallel(3) as k:
        x = b.load(sums, k)
        with b.only_if(int_expr("lt", k, 2)):
            b.store(b.outputs["y"], k, b.neg(x))
    assert verify(b.finished(bodies=2)).text() == NESTED


def test_a_loop_on_data_needs_a_condition() -> None:
    b = Builder({}, {})
    with pytest.raises(TypeError, match=r"needs a condition; call `stop`"), b.until(3):
        pass
