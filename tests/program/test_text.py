# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as text: read back they are the same programs, and golden files hold what they look like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import IntExpr, Program, Select, Table, int_expr, less, plus, select, times
from phalanx.program.rolled import roll
from phalanx.program.text import parse, text
from phalanx.program.verify import verify
from reference.loops import kepler, smoothing

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

GOLDEN = Path(__file__).parents[1] / "golden"


def everything() -> Program:
    """A program with every statement and every operation on integers."""
    b = Builder({"q": (4,), "final q": (2, 2)}, {"out": (3, 3)}, lanes=2)
    memory = b.buffer("a b", 20, given=True)
    b.buffer("other", 3)
    uniform = b.uniform("in", 2)
    reals = b.table("numbers", np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 1e-300]))
    with b.part(1):
        x = b.load(b.inputs["q"], 0)
        y = b.value("fma", x, -0.5, b.load(uniform, 1), quantity="F", of_product="wd", body_index=3)
        z = b.value("fms", y, x, 1e16, quantity="F", of_product="F")
        b.value("fnma", y, x, z, of_product="w")
        b.value("neg", b.value("neg", 2.0))
        b.value("choose", b.value("less", x, 0.0), float("nan"), float("-inf"), quantity="a b")
        with b.loop(4, first=1, down=True) as loop:
            total, other = loop.carry(0.0), loop.carry(x)
            loop.feed(total, b.value("add", total, b.load(b.inputs["final q"], less(loop.index, 1))))
            loop.feed(other, total)
            i = loop.index
            with b.walk(i, lambda k: b.entry("parent", np.array([-1, 0, 1, 2]), k)) as inner:
                b.store(memory, plus(times(inner.index, 2), int_expr("sub", i, inner.index)), other)
            inside = IntExpr("and", (IntExpr("ge", (i, 1)), IntExpr("ne", (i, 2))))
            with b.attributed_to(i), b.only_if(inside):
                b.put(Select(IntExpr("eq", (i, 1)), 1.0, total))
                b.load(memory, select(IntExpr("le", (i, 3)), plus(i, -1), IntExpr("shl", (i, 1))))
                b.load(reals, int_expr("div", i, 2))
                b.load(memory, IntExpr("sub", (IntExpr("mul", (i, IntExpr("add", (i, 1)))), 1)))
        b.store(b.outputs["out"], 2, total)
        with b.parallel(3) as k:
            b.store(memory, k, b.load(b.inputs["q"], k))
        with b.until(limit=5) as until:
            e = until.carry(total)
            until.feed(e, b.value("mul", e, 0.5))
            until.stop(b.value("less", e, 1e-3))
        b.store(b.outputs["out"], 3, e)
    with b.part(2):
        lanes = b.wide_entry("wide one", np.arange(6).reshape(3, 2), 1)
        b.load(memory, IntExpr("lanes", (3, 1)))
        b.store(memory, plus(lanes, 2), b.load(Table("w", np.ones((2, 2)), wide=True), 1))
    return b.finished(bodies=4, parameters=7)


def test_every_statement_is_read_back() -> None:
    made = verify(everything())
    again = verify(parse(text(made)))
    assert text(again) == text(made) == str(made) == made.text()
    assert [(b.name, b.size, b.kind, b.given) for b in (*again.inputs, *again.outputs, *again.scratch)] == [
        (b.name, b.size, b.kind, b.given) for b in (*made.inputs, *made.outputs, *made.scratch)
    ]
    assert (again.lanes, again.bodies, again.parameters, again.shapes) == (2, 4, 7, made.shapes)
    given = {"q": np.arange(4.0), "final q": np.eye(2), "in": np.array([2.0, 3.0])}
    np.testing.assert_array_equal(interpret(again, given)["out"], interpret(made, given)["out"])


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
@pytest.mark.parametrize("robot", ["panda", "chain"])
def test_what_is_read_back_gives_the_same_bits(robot: str, function: str) -> None:
    arm = px.chain(40, seed=1) if robot == "chain" else px.load(robot)
    made = arm.kernel(function).program()
    state = dict(zip(("q", "qd", "qdd"), arm.random_state(rng=1), strict=True)) | {"tau": np.ones(arm.nv)}
    found, wanted = interpret(parse(str(made)), state), interpret(made, state)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)


def test_programs_of_kernels_compute_what_kernels_do() -> None:
    arm = px.load("ur5")
    q, qd, qdd = arm.random_state(rng=2)
    made = arm.kernel("inverse_dynamics").program()
    found = interpret(made, {"q": q, "qd": qd, "qdd": qdd})["tau"]
    np.testing.assert_allclose(found, arm.inverse_dynamics(q, qd, qdd), rtol=1e-12, atol=1e-12)
    assert "# F of body 5" in str(made)
    frame = arm.frame_names[-1]
    assert "uniform" in str(arm.kernel("jacobian", frame=frame).program())


def _golden() -> dict[str, Any]:
    arm, chain = px.load("two_link"), px.chain(4, seed=1)
    return {
        "two_link_inverse_dynamics": lambda: arm.kernel("inverse_dynamics").program(),
        "two_link_mass_matrix": lambda: arm.kernel("mass_matrix").program(),
        "chain_inverse_dynamics_in_loops": lambda: roll(resolve(chain, "inverse_dynamics").task(())).built(),
        "kepler": kepler,
        "smoothing": lambda: smoothing(9, rounds=1),
    }


@pytest.mark.parametrize("name", _golden())
def test_texts_are_those_of_golden_files(name: str) -> None:
    made, file = text(_golden()[name]()), GOLDEN / f"{name}.txt"
    if os.environ.get("PHALANX_UPDATE_GOLDEN") == "1":
        file.write_text(made, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == made, f"PHALANX_UPDATE_GOLDEN=1 writes {file.name} anew"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("input q[1]", "line 1, 'input q\\[1\\]': a program begins"),
        ("program\ninput q[1]\nx0 = q[0] * 2", "line 3, .*expected a name"),
        ("program\nx0 = y + 1.0", "line 2, .*y is not defined"),
        ("program\nfor i in range(0, 2):\n  carry c = 0.0\n  x0 = -c\n", "line 4"),
        ("program\nx0 = power(1.0)", "line 2, .*unknown operation on real numbers 'power'"),
        ("program\n    x0 = 1.0 + 2.0", "line 2, .*indented"),
        ("program\nrepeat i in range(3):\n  x0 = 1.0 + 2.0\n  next x", "line 4, .*stop if"),
    ],
)
def test_faults_in_texts_are_named_with_their_line(source: str, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        parse(source)
