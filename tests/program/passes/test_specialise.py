# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Uniforms become a table of constants, in loops as well; nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from phalanx.program.interpret import interpret
from phalanx.program.passes.specialise import specialise
from phalanx.program.text import parse
from phalanx.program.verify import verify

BEFORE = """\
program
input x[3]
output y[]
uniform u[2]

u0 = u[0]
for i in range(0, 3):
  carry c0 = u0
  x0 = x[i]
  if i < 2:
    u1 = u[1]
    x1 = x0 * u1
    y[0] = x1
  x2 = fma(x0, u0, c0)
  next c0 = x2
repeat i in range(9):
  carry c1 = c0
  u2 = u[1]
  x3 = c1 * u2
  x4 = less(x3, u0)
  next c1 = x3
  stop if x4
x5 = c1 if 1 < 2 else u0
y[0] = x5"""

AFTER = """\
program
input x[3]
output y[]
table u[2] of float64 = 3.0, 0.25

u0 = u[0]
for i in range(0, 3):
  carry c0 = u0
  x0 = x[i]
  if i < 2:
    u1 = u[1]
    x1 = x0 * u1
    y[0] = x1
  x2 = fma(x0, u0, c0)
  next c0 = x2
repeat i in range(9):
  carry c1 = c0
  u2 = u[1]
  x3 = c1 * u2
  x4 = less(x3, u0)
  next c1 = x3
  stop if x4
x5 = c1 if 1 < 2 else u0
y[0] = x5"""


def test_loads_of_uniforms_become_loads_of_a_table() -> None:
    before = parse(BEFORE)
    after = specialise(before, (3.0, 0.25))
    assert after.text().strip() == parse(AFTER).text().strip()
    given = {"x": np.array([1.0, -2.0, 0.5])}
    wanted = interpret(verify(before), {**given, "u": np.array([3.0, 0.25])})
    np.testing.assert_array_equal(interpret(verify(after), given)["y"], wanted["y"])


def test_a_program_without_uniforms_is_itself() -> None:
    program = parse("program\ninput x[]\noutput y[]\n\nx0 = x[0]\ny[0] = x0")
    assert specialise(program, ()) is program


def test_another_number_of_uniforms_is_refused() -> None:
    with pytest.raises(TypeError, match="specialise: 1 uniforms, expected 2"):
        specialise(parse(BEFORE), (3.0,))
