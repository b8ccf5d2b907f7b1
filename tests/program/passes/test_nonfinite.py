# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NaN and infinity in any number of a state, also one that its equations eliminate: no result is finite."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.export.api import entries
from phalanx.program.interpret import interpret
from phalanx.program.ir import Program
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.nonfinite import spread
from phalanx.program.passes.order import sincos_first
from phalanx.program.rolled import roll
from phalanx.program.rolled.segments.roll import roll_segments
from phalanx.program.text import parse
from phalanx.program.trace import trace
from reference import opencl_device
from reference.c_library import Library
from reference.cuda_library import on_host
from reference.node import called
from reference.ptx_machine import Machine

pytest.importorskip("llvmlite", reason="llvmlite is not installed")


def upright() -> px.Robot:
    """Two joints, the first one vertical: its angle changes nothing."""
    builder = px.RobotBuilder("upright")
    for name in ("base", "turntable", "arm"):
        builder.add_link(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5))
    builder.add_joint("first", "revolute", "base", "turntable", axis=(0, 0, 1))
    builder.add_joint("second", "revolute", "turntable", "arm", origin=(0.1, 0, 0.4), axis=(0, 1, 0))
    return builder.build()


FIXED = upright()
FLOATING = FIXED.with_floating_base()


def arguments(robot: px.Robot, function: str, count: int) -> list[np.ndarray]:
    q, qd, x = robot.random_state(count, rng=7)
    known = {"q": q, "qd": qd, "qdd": x, "tau": np.cos(x)}
    return [known[name] for name in FUNCTIONS[function].inputs]


def broken(inputs: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Rows of which each has one number that is NaN, or infinite in every second one; how many rows."""
    numbers = [(k, i) for k, x in enumerate(inputs) for i in range(x.shape[1])]
    rows = [np.repeat(x[:1], len(numbers), axis=0) for x in inputs]
    for row, (k, i) in enumerate(numbers):
        rows[k][row, i] = (np.nan, np.inf, -np.inf)[row % 3]
    return rows, len(numbers)


def assert_nothing_finite(compute: Callable[..., Any], inputs: list[np.ndarray]) -> None:
    """No result of a broken state is finite but those that are the same for every state."""
    clean, rows = compute(*inputs), broken(inputs)[0]
    found = compute(*rows)
    for before, after in zip(
        clean if isinstance(clean, tuple) else (clean,),
        found if isinstance(found, tuple) else (found,),
        strict=True,
    ):
        constant = (before == before[0]).all(axis=0)
        assert not constant.all()
        left = np.isfinite(after) & ~constant
        assert not left.any(), np.argwhere(left)
        kept = np.where(constant & np.isfinite(after), after, before[0])
        np.testing.assert_array_equal(kept, np.broadcast_to(before[0], after.shape))


SOME = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "gravity_forces",
    "kinetic_energy",
    "jacobian",
    "inverse_dynamics_derivatives",
)


@pytest.mark.parametrize("backend", ["numpy", "native", "jax"])
@pytest.mark.parametrize("robot", [FIXED, FLOATING], ids=["fixed", "floating"])
@pytest.mark.parametrize("function", SOME)
def test_no_backend_loses_what_is_not_finite(function: str, robot: px.Robot, backend: Any) -> None:
    if backend == "jax":
        pytest.importorskip("jax")
    more = ("arm",) if FUNCTIONS[function].frame else ()

    def compute(*inputs: np.ndarray) -> Any:
        return getattr(robot, function)(*inputs, *more, backend=backend)

    assert_nothing_finite(compute, arguments(robot, function, 5))


def test_the_first_joint_of_a_panda() -> None:
    robot = px.load("panda")
    q, qd, x = robot.random_state(9, rng=0)
    clean = robot.inverse_dynamics(q, qd, x)
    for bad in (np.nan, np.inf):
        q[4, 0] = bad
        for backend in ("numpy", "native"):
            tau = robot.inverse_dynamics(q, qd, x, backend=backend)
            assert np.isnan(tau[4]).all()
            np.testing.assert_allclose(np.delete(tau, 4, 0), np.delete(clean, 4, 0), rtol=0, atol=1e-12)
            single = robot.inverse_dynamics(q[4], qd[4], x[4], backend=backend)
            assert np.isnan(single).all()


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_products_with_derivatives(mode: str) -> None:
    def compute(q: Any, qd: Any, qdd: Any) -> Any:
        along = np.ones(q.shape)
        return getattr(FIXED, mode)(
            "inverse_dynamics", (q, qd, qdd), (along,) * 3 if mode == "jvp" else along
        )

    assert_nothing_finite(compute, arguments(FIXED, "inverse_dynamics", 5))


# ------------------------------------------------------------------- loops, segments, and bits


def programs() -> dict[str, tuple[px.Robot, str, Program]]:
    made: dict[str, tuple[px.Robot, str, Program]] = {}
    chain, tree = px.chain(16, seed=1), px.tree(10, 0.5, seed=2)
    for name, robot, function, algorithm, lanes in (
        ("straight", FLOATING, "inverse_dynamics", "auto", 1),
        ("loops", tree, "inverse_dynamics", "newton_euler", 8),
        ("matrix in loops", tree, "mass_matrix", "crba", 8),
        ("segments", chain, "forward_dynamics", "partition", 4),
    ):
        call = resolve(robot, function, algorithm)
        if name == "straight":
            equations = trace(call.task(()))
            plain = sincos_first(fuse(equations))
        elif name == "segments":
            plain = roll_segments(call.task(())).built(lanes)
        else:
            plain = roll(call.task(())).built(lanes)
        made[name] = robot, function, spread(plain)
        made[f"{name}, plain"] = robot, function, plain
    return made


PROGRAMS = programs()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "plain" not in name])
def test_every_form_of_program_spreads_what_is_not_finite(name: str) -> None:
    robot, function, program = PROGRAMS[name]
    inputs = arguments(robot, function, 3)
    rows, count = broken(inputs)
    names = [r.name for r in program.inputs]
    clean = [interpret(program, dict(zip(names, [x[i] for x in inputs], strict=True))) for i in range(3)]
    for row in range(0, count, 5):
        found = interpret(program, dict(zip(names, [x[row] for x in rows], strict=True)))
        for label, made in found.items():
            constant = clean[0][label] == clean[1][label]
            assert not (np.isfinite(made) & ~constant).any()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "plain" in name])
def test_finite_states_keep_their_bits_and_the_signs_of_zeros(name: str) -> None:
    robot, function, plain = PROGRAMS[name]
    program = PROGRAMS[name.removesuffix(", plain")][2]
    names = [r.name for r in plain.inputs]
    inputs = arguments(robot, function, 2)
    for zero in (None, -0.0, 0.0):
        given = {
            n: x[1] if zero is None or n == "q" else 0 * x[1] + zero
            for n, x in zip(names, inputs, strict=True)
        }
        before, after = interpret(plain, given), interpret(program, given)
        for label, made in before.items():
            assert made.tobytes() == after[label].tobytes()


# ------------------------------------------------------------------- other languages

EXPORTED = ("inverse_dynamics", "mass_matrix")


def test_exported_c(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    library = Library(FLOATING, EXPORTED, tmp_path, flags=("-O1",))
    for function in EXPORTED:
        for batch in (True, False):
            assert_nothing_finite(
                lambda *x, f=function, b=batch: library(f, *x, batch=b)[0], arguments(FLOATING, function, 5)
            )


def test_exported_cuda_on_the_host(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")

    def compute(*inputs: np.ndarray) -> np.ndarray:
        (found,) = on_host(
            FIXED, "inverse_dynamics", tmp_path, "float64", "g++", {"inverse_dynamics": [*inputs]}
        ).values()
        return found[0]

    assert_nothing_finite(compute, arguments(FIXED, "inverse_dynamics", 5))


@pytest.mark.skipif(bool(opencl_device.missing()), reason="there is no OpenCL device")
@pytest.mark.parametrize("function", EXPORTED)
def test_opencl(function: str) -> None:
    kernel = FLOATING.kernel(function, device="opencl")
    assert_nothing_finite(lambda *x: np.asarray(kernel(*x)), arguments(FLOATING, function, 5))


def test_exported_webassembly(tmp_path: Path) -> None:
    FIXED.export(tmp_path / "arm.wasm", "inverse_dynamics")
    (entry,) = entries(FIXED, "inverse_dynamics")

    def compute(*inputs: np.ndarray) -> np.ndarray:
        _, many = called(tmp_path, entry.name, dict(zip(entry.inputs, inputs, strict=True)), entry.outputs)
        (found,) = many.values()
        return found

    assert_nothing_finite(compute, arguments(FIXED, "inverse_dynamics", 5))


def test_exported_ptx(tmp_path: Path) -> None:
    (path,) = FIXED.export(tmp_path / "arm.ptx", "inverse_dynamics")

    def compute(*inputs: np.ndarray) -> np.ndarray:
        machine, count = Machine(path.read_text(encoding="ascii")), len(inputs[0])
        memory = machine.memory["global"]
        given = [memory.allocate(np.ascontiguousarray(x).tobytes()) for x in inputs]
        result = memory.allocate(16 * count)
        machine.launch("arm_inverse_dynamics", 1, 128, [count, *given, result])
        start = result - memory.base
        return memory.data[start : start + 16 * count].view(np.float64).reshape(count, 2)

    assert_nothing_finite(compute, arguments(FIXED, "inverse_dynamics", 5))


# ------------------------------------------------------------------- golden text

STRAIGHT = """\
program
input q[2]
output y[2]

q0 = q[0]
q1 = q[1]
x0 = cos(q1)
x1 = x0 * 2.0
x2 = x1 + 1.0
y[0] = x2
y[1] = x1
"""

TAINTED = """\
program
input q[2]
output y[2]

q0 = q[0]
q1 = q[1]
x0 = cos(q1)
x1 = taint(q0, 0.0)
x2 = x0 - x1
x3 = x2 * 2.0
x4 = x3 + 1.0
y[0] = x4
y[1] = x3
"""

LOOP = """\
program
input q[3]
output y[3]

for i in range(0, 3):
  q0 = q[i]
  x0 = q0 * 2.0
  y[i] = x0
"""

TAINTED_LOOP = """\
program
input q[3]
output y[3]

q0 = q[0]
q1 = q[1]
q2 = q[2]
x0 = taint(q0, 0.0)
x1 = taint(q1, 0.0)
x2 = taint(q2, 0.0)
x3 = x0 + x1
x4 = x3 + x2
for i in range(0, 3):
  q3 = q[i]
  x5 = q3 * 2.0
  x6 = x5 - x4
  y[i] = x6
"""


def test_the_texts_of_tainted_programs() -> None:
    assert spread(parse(STRAIGHT)).text() == TAINTED
    assert spread(parse(LOOP)).text() == TAINTED_LOOP
