# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Steps of coordinates as functions with derivatives, and functions of several frames at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px

ROBOT = px.tree(4, seed=3, joints=("floating", "revolute", "spherical", "planar"))


def state(batch: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    made: tuple[Any, Any, Any] = ROBOT.random_state(batch, np.random.default_rng(0))
    return made


def test_steps_of_coordinates_are_functions() -> None:
    q, v, _w = state((3,))
    f, g, n = (ROBOT.function(name) for name in ("integrate", "difference", "normalize"))
    ahead = f(q, v)
    np.testing.assert_allclose(ahead, ROBOT.integrate(q, v), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(g(q, ahead), ROBOT.difference(q, ahead), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(n(1.5 * q), ROBOT.normalize(1.5 * q), rtol=1e-14, atol=1e-14)
    assert ROBOT.kernel("integrate") is f
    out = np.zeros_like(ahead)
    f.bind(q, v, out=out)()
    np.testing.assert_array_equal(out, ahead)


def test_derivatives_of_steps_are_along_rates() -> None:
    q, v, _ = state()
    rng, h = np.random.default_rng(1), 1e-6
    dq, dv = rng.normal(size=(2, ROBOT.nv))
    made = ROBOT.jvp("integrate", (q, v), (dq, dv))
    ends = [ROBOT.integrate(ROBOT.integrate(q, s * dq), v + s * dv) for s in (h, -h)]
    np.testing.assert_allclose(made, ROBOT.difference(ends[1], ends[0]) / (2 * h), atol=1e-8)
    c = rng.normal(size=ROBOT.nv)
    slopes = ROBOT.vjp("integrate", (q, v), c)
    assert c @ made == pytest.approx(slopes[0] @ dq + slopes[1] @ dv, rel=1e-12)
    jacobian = ROBOT.function("integrate").jacobian("result", "dq")(q, v)
    np.testing.assert_allclose(c @ jacobian, slopes[1], atol=1e-12)
    other = ROBOT.integrate(q, 0.5 * v)
    change = ROBOT.jvp("difference", (q, other), (dq, dv))
    ends = [ROBOT.difference(ROBOT.integrate(q, s * dq), ROBOT.integrate(other, s * dv)) for s in (h, -h)]
    np.testing.assert_allclose(change, (ends[0] - ends[1]) / (2 * h), atol=1e-7)
    assert ROBOT.hvp("difference", (q, other), c, (dq, dv))[0].shape == (ROBOT.nv,)
    with pytest.raises(px.PhalanxError, match='integrate: takes no "frame"'):
        ROBOT.jvp("integrate", (q, v), (dq, dv), frame="base")


def test_steps_are_exported(tmp_path: Path) -> None:
    ROBOT.export(tmp_path / "steps.h", ("integrate", "vjp:difference", "normalize"))
    text = (tmp_path / "steps.h").read_text()
    assert "steps_integrate(" in text
    assert "steps_difference_vjp(" in text


@pytest.mark.parametrize(
    "function", ["frame_pose", "jacobian", "frame_velocity", "operational_space_inertia"]
)
def test_several_frames_at_once(function: str) -> None:
    robot = px.load("panda")
    inputs = robot.random_state((2, 3), np.random.default_rng(0))[: 2 if function == "frame_velocity" else 1]
    frames = ["panda_hand", "panda_hand", "panda_hand_tcp"]
    how: Any = {} if function == "frame_pose" else {"reference": "local"}
    made = getattr(robot, function)(*inputs, frames, **how)
    expected = [getattr(robot, function)(*inputs, name, **how) for name in frames]
    axis = 2
    np.testing.assert_allclose(made, np.stack(expected, axis), rtol=1e-11, atol=1e-12)
    out = np.zeros_like(made)
    assert getattr(robot, function)(*inputs, tuple(frames), **how, out=out) is out
    np.testing.assert_array_equal(out, made)
    plain = getattr(robot, function)(*inputs, frames, **how, backend="numpy")
    np.testing.assert_allclose(plain, made, rtol=1e-11, atol=1e-12)
    with pytest.raises(px.PhalanxError, match="has no frame"):
        getattr(robot, function)(*inputs, ["panda_hand", "nothing"])


def test_derivatives_inside_traced_functions() -> None:
    robot = px.load("panda")

    def drift(q: Any, qd: Any, robot: Any) -> Any:
        x = 0.5 * q
        J = robot.jacobian(q, ["panda_hand", "panda_hand_tcp"])
        return {
            "drift": robot.jvp("frame_velocity", (q, qd), (qd, np.zeros(7)), frame="panda_hand"),
            "slope": robot.vjp("potential_energy", (x,), 1.0)[0],
            "second": robot.hvp("potential_energy", (x,), 1.0, (qd,))[0],
            "matrices": robot.inverse_dynamics_derivatives(q, qd, qd, value=True),
            "J": J,
        }

    f = robot.function(drift)
    q, qd, _ = robot.random_state((), np.random.default_rng(0))
    made = f(q, qd)
    zero = np.zeros(7)
    expected = robot.frame_acceleration(q, qd, zero, "panda_hand")
    expected = robot.jvp("frame_velocity", (q, qd), (qd, zero), frame="panda_hand")
    np.testing.assert_allclose(made["drift"], expected, atol=1e-12)
    np.testing.assert_allclose(made["slope"], robot.gravity_forces(0.5 * q), atol=1e-12)
    second = robot.hvp("potential_energy", (0.5 * q,), 1.0, (qd,))[0]
    np.testing.assert_allclose(made["second"], second, atol=1e-12)
    d = robot.inverse_dynamics_derivatives(q, qd, qd, value=True)
    np.testing.assert_allclose(made["matrices"].dq, d.dq, atol=1e-11)
    np.testing.assert_allclose(made["matrices"].tau, d.tau, atol=1e-11)
    np.testing.assert_allclose(made["J"][0], robot.jacobian(q, "panda_hand"), atol=1e-13)
