# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which programs are a prologue, one loop that ends on data, and an epilogue."""

from __future__ import annotations

from dataclasses import replace

from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import Load, Program, statements
from phalanx.program.passes.nonfinite import spread
from phalanx.program.passes.sections import sections
from phalanx.program.text import parse
from phalanx.program.verify import verify
from reference.loops import collatz_like, kepler


def test_loads_of_inputs_move_to_the_prologue() -> None:
    for made in (kepler(), spread(kepler()), collatz_like()):
        found = sections(made)
        assert found is not None
        later = (*found.loop.body, *found.epilogue)
        assert not any(isinstance(s, Load) and s.buffer.kind == "input" for s in statements(later))
        whole = replace(made, body=(*found.prologue, found.loop, *found.epilogue))
        given = {"M": 1.0, "e": 0.5, "x": [1.0, 2.0, 3.0], "goal": 1.0}
        for name, array in interpret(made, given).items():
            assert (interpret(verify(whole), given)[name] == array).all()


def test_live_values_are_what_later_sections_use() -> None:
    found = sections(collatz_like())
    assert found is not None
    assert len(found.live) == 2  # the goal, loaded twice
    assert len(found.results) == 5


def made(kind: str) -> Program:
    b = Builder({"x": (2,)}, {"y": ()})
    memory = b.buffer("memory", 4)
    x = b.load(b.inputs["x"], 0)
    if kind == "shared memory":
        b.store(memory, 0, x)
    for _ in range(2 if kind == "two loops" else 1):
        with b.until(limit=3) as loop:
            y = loop.carry(x)
            index = loop.index if kind == "the counter as an index" else 0
            other = b.load(memory, index) if kind != "two loops" else x
            loop.feed(y, b.add(y, other))
            loop.stop(1.0)
    b.store(b.outputs["y"], 0, y)
    return b.finished()


def test_other_programs_have_none() -> None:
    assert sections(kepler(iterations=3)) is None
    assert sections(made("")) is not None
    for kind in ("shared memory", "two loops", "the counter as an index"):
        assert sections(made(kind)) is None


WHOLE = """\
program
input x[2]
output y[]

x0 = x[0]
repeat i in range(50):
  carry c0 = x0
  x1 = x[1]
  x2 = c0 * x1
  x3 = less(x2, 1.0)
  next c0 = x2
  stop if x3
x4 = x[1]
x5 = c0 + x4
y[0] = x5
"""

CUT = """\
program
input x[2]
output y[]

x0 = x[0]
x1 = x[1]
x2 = x[1]
repeat i in range(50):
  carry c0 = x0
  x3 = c0 * x1
  x4 = less(x3, 1.0)
  next c0 = x3
  stop if x4
x5 = c0 + x2
y[0] = x5
"""


def test_the_text_of_a_program_in_sections() -> None:
    found = sections(parse(WHOLE))
    assert found is not None
    made = replace(found.program, body=(*found.prologue, found.loop, *found.epilogue))
    assert made.text() == CUT
