# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A step of semi-implicit Euler of every joint type: as MuJoCo steps, on floats and recording scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.interpret import program_on_arrays
from phalanx.robot.configurations import advance
from phalanx.robot.joints import joint_type, joint_types, quaternion_exp
from phalanx.robot.joints.quaternions import left_jacobian_tail
from reference.sampling import agree

MUJOCO = """
<mujoco><option timestep="0.01" gravity="0 0 0" integrator="Euler"><flag eulerdamp="disable"/></option>
<worldbody><body pos="0.1 0.2 0.3" quat="0.3 0.1 -0.5 0.8">{joint}
<geom size="0.1" mass="2" pos="0 0.1 0"/>
</body></worldbody></mujoco>
"""
JOINTS = {
    "free": "<freejoint/>",
    "ball": '<joint type="ball"/>',
    "hinge": '<joint type="hinge" axis="1 2 3"/>',
    "slide": '<joint type="slide" axis="1 2 3"/>',
}
GRIPPER = """
<robot name="gripper"><link name="palm"/>
<link name="left"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial></link>
<link name="right"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial></link>
<joint name="l" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="r" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="l" multiplier="-1"/></joint></robot>
"""
MOVING = [name for name in joint_types() if name != "fixed"]
ROBOT = px.tree(
    8, 0.3, seed=4, joints=tuple(name for name in MOVING if name != "floating")
).with_floating_base()


def scalars(graph: Graph, name: str, size: int) -> np.ndarray:
    """A vector of recording scalars."""
    made = np.empty(size, dtype=object)
    made[:] = [graph.input(name, k) for k in range(size)]
    return made


def evaluated(graph: Graph, results: np.ndarray, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Recorded results (k,) for inputs (states, …)."""
    shapes = {name: x.shape[1:] for name, x in inputs.items()}
    found: np.ndarray = program_on_arrays(straight(shapes, {"x": results.shape}, results.tolist()), inputs)
    return found


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 30.0])
def test_a_step_is_that_of_mujoco(joint: str, size: float) -> None:
    mujoco = pytest.importorskip("mujoco", reason="it tells how it steps")
    text = MUJOCO.format(joint=JOINTS[joint])
    r, model = px.load(text), mujoco.MjModel.from_xml_string(text)
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, qd, _ = r.random_state(rng=rng)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = convert.to_mujoco(r, model, q, size * qd)
        data.qfrc_applied[:] = rng.normal(size=r.nv)
        mujoco.mj_forward(model, data)
        state = convert.from_mujoco(r, model, data.qpos, data.qvel, data.qacc)
        mujoco.mj_Euler(model, data)
        wanted_q, wanted_qd = convert.from_mujoco(r, model, data.qpos, data.qvel)
        q1, qd1 = advance(r._coordinates, *state, model.opt.timestep)
        agree(r.difference(wanted_q, q1), np.zeros(r.nv), 1e-14)
        agree(qd1, wanted_qd, 1e-14, least=1.0)


def test_a_step_of_a_coupled_robot_moves_drivers() -> None:
    r = px.load(GRIPPER, mimic="coupled")
    state = np.array([0.3]), np.array([0.5]), np.array([2.0])
    q1, qd1 = advance(r._coordinates, *state, 0.1)
    agree(qd1, [0.7])
    agree(q1, [0.37])


@pytest.mark.parametrize("size", [0.0, 1e-20, 1e-9, 1e-3, 0.4, 3.0])
@pytest.mark.parametrize("function", ["advance", "integrate", "normalize"])
def test_recording_scalars_step_as_floats_do(function: str, size: float) -> None:
    r = ROBOT
    q, qd, qdd = r.random_state(6, rng=3)
    q = 3.0 * q  # quaternions of any length
    state = {"q": q, "qd": size * qd, "qdd": size * qdd}
    graph = Graph()
    symbols = {name: scalars(graph, name, x.shape[-1]) for name, x in state.items()}
    calls: dict[str, Any] = {
        "advance": lambda q, qd, qdd: np.concatenate(advance(r._coordinates, q, qd, qdd, 0.5), axis=-1),
        "integrate": lambda q, qd, qdd: joined(r, lambda j: j.kind.integrate(q[..., j.q], qd[..., j.v])),
        "normalize": lambda q, qd, qdd: joined(r, lambda j: j.kind.normalize(q[..., j.q])),
    }
    # Kinds take states with an axis in front: an array of one scalar is none.
    recorded = calls[function](*(x if function == "advance" else x[None] for x in symbols.values())).ravel()
    wanted = calls[function](*state.values())
    agree(evaluated(graph, recorded, state), wanted, 4e-16)
    if function == "integrate":
        agree(wanted, r.integrate(q, size * qd), 4e-16)  # compiled, with fused multiply-adds


def joined(r: px.Robot, part: Any) -> np.ndarray:
    """What `part` gives for each joint, in a row."""
    return np.concatenate([part(j) for j in r._coordinates], axis=-1)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-16, 1e-15, 1e-8, 1e-4, 0.4999, 0.5001, 3.0, 100.0])
def test_exponentials_are_exact_to_rounding(angle: float) -> None:
    mp = pytest.importorskip("mpmath", reason="it knows more digits").mp.clone()
    mp.dps = 700
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    w, v = angle * axis, np.array([0.3, -0.7, 0.2])
    length = mp.sqrt(sum(mp.mpf(x) ** 2 for x in w.tolist()))
    scale = mp.sin(length / 2) / length if angle else mp.mpf(0.5)
    wanted = [*(float(scale * mp.mpf(x)) for x in w.tolist()), float(mp.cos(length / 2))]
    np.testing.assert_allclose(quaternion_exp(w), wanted, rtol=3e-16, atol=2e-16 if angle > 1 else 0.0)
    a, b = ((1 - mp.cos(length)) / length**2, (length - mp.sin(length)) / length**3) if angle else (0.5, 0.2)
    wv = np.cross(w, v)
    tail = [
        float(a * mp.mpf(x) + b * mp.mpf(y))
        for x, y in zip(wv.tolist(), np.cross(w, wv).tolist(), strict=True)
    ]
    np.testing.assert_allclose(left_jacobian_tail(w, v), tail, rtol=0.0, atol=1e-15 * np.abs(wv).max())


@pytest.mark.parametrize("kind", ["spherical", "floating"])
def test_quaternions_stay_of_unit_length(kind: str) -> None:
    joint = joint_type(kind)
    rng = np.random.default_rng(1)
    q, qd = joint.neutral()[None] * np.ones((9, 1)), rng.normal(size=(9, joint.nv))
    for _ in range(5000):
        still = 0.0 * qd
        still[:, 3:] = np.cross(qd[:, 3:], qd[:, :3]) if joint.nv == 6 else 0.0
        q, qd = joint.advance(q, qd, still, 0.1)
    # Each step cuts off the errors of the one before: lengths are as good after a million.
    length = np.linalg.norm(q[:, joint.quaternion], axis=-1)
    np.testing.assert_allclose(length, 1.0, rtol=0.0, atol=1e-15)


def test_a_free_body_without_force_keeps_its_velocity_in_space() -> None:
    joint = joint_type("floating")
    rng = np.random.default_rng(2)
    q, qd = joint.neutral()[None], rng.normal(size=(1, 6))
    start = joint.coordinate_rates(q, qd)[..., :3]
    for _ in range(1000):
        w, v = qd[..., :3], qd[..., 3:]
        still = np.concatenate([0.0 * w, -np.cross(w, v)], axis=-1)  # d/dt of v in the body's axes
        q, qd = joint.advance(q, qd, still, 0.01)
    agree(joint.coordinate_rates(q, qd)[..., :3], start, 1e-14)
    agree(q[..., :3], 10.0 * start, 1e-13)
