# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A joint type is one class: a lead screw, added here, is served wherever joints are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.joints import (
    JointBody,
    JointType,
    Motion,
    frame_along,
    joint_types,
    register,
    screw,
    types,
)
from phalanx.robot.joints.motions import Turn
from phalanx.studio.report.scene import kinematics
from reference.joint_checks import CHECKS, FUNCTIONS, LONG, SHORT
from reference.sampling import agree

LEAD = 0.02  # metres per radian


class LeadScrew(JointType):
    """q = travel along `axis` in metres, with a turn of 1 / `pitch` radians per metre about it."""

    name, nq, nv, axes = "lead_screw", 1, 1, 1
    units = ("m",)

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return [screw(axis, turn=1.0 / pitch, slide=1.0)]


@pytest.fixture(autouse=True)
def lead_screw() -> Iterator[None]:
    register(LeadScrew)
    yield
    del types._TYPES[LeadScrew.name]


@pytest.mark.parametrize("check", CHECKS)
def test_it_is_served_wherever_joints_are_used(check: str) -> None:
    CHECKS[check](LeadScrew.name)


def test_it_is_known_by_its_name() -> None:
    assert LeadScrew.name in joint_types()
    with pytest.raises(px.PhalanxError, match='did you mean "lead_screw"'):
        px.tree(3, joints=("lead_skrew",))


def spindle(n: int, branching: float) -> px.Robot:
    """Links on lead screws and hinges in turn."""
    rng = np.random.default_rng(n)
    builder = px.RobotBuilder("spindle")
    builder.add_link("link0")
    for k in range(1, n + 1):
        link = f"link{k}"
        builder.add_link(link, mass=1.0, com=rng.normal(size=3) / 9, inertia=(0.02, 0.03, 0.04))
        above = int(rng.integers(0, k)) if rng.random() < branching else k - 1
        kind = LeadScrew.name if k % 2 else "revolute"
        place, axis = rng.normal(size=3) / 4, rng.normal(size=3)
        pitch = rng.choice((-1.0, 1.0)) * LEAD * rng.uniform(1.0, 3.0)
        builder.add_joint(f"joint{k}", kind, f"link{above}", link, origin=place, axis=axis, pitch=pitch)
    return builder.build()


def as_two_joints(robot: px.Robot) -> tuple[px.Robot, np.ndarray]:
    """The robot with a slide and a hinge for each lead screw, and G with their rates G qd."""
    builder = px.RobotBuilder("two joints")
    rows: list[np.ndarray] = []
    for link in robot.description.links:
        builder.add_link(link.name, mass=link.mass, com=link.com, inertia=link.inertia)
    for k, joint in enumerate(robot.description.joints):
        own, place = np.eye(robot.nv)[k], joint.origin.translation
        if joint.type == "revolute":
            builder.add_joint(
                joint.name, "revolute", joint.parent, joint.child, origin=place, axis=joint.axis
            )
            rows.append(own)
            continue
        between = builder.add_link(f"{joint.child}_nut")
        builder.add_joint(
            f"{joint.name}_slide", "prismatic", joint.parent, between, origin=place, axis=joint.axis
        )
        builder.add_joint(f"{joint.name}_turn", "revolute", between, joint.child, axis=joint.axis)
        rows += [own, own / joint.pitch]
    made = builder.build()
    names = [n for j in robot.joint_names for n in (j, f"{j}_slide", f"{j}_turn") if n in made.joint_names]
    return made, np.array([rows[names.index(name)] for name in made.joint_names])


@pytest.mark.parametrize("n", [SHORT, LONG])
@pytest.mark.parametrize("branching", [0.0, 0.4])
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_its_dynamics_are_those_of_a_slide_and_a_hinge_that_move_together(
    n: int, branching: float, backend: Any
) -> None:
    robot = spindle(n, branching)
    other, G = as_two_joints(robot)
    q, qd, qdd = (0.3 * x for x in robot.random_state(3, rng=1))
    wanted = other.inverse_dynamics(q @ G.T, qd @ G.T, qdd @ G.T, backend="numpy") @ G
    tau = robot.inverse_dynamics(q, qd, qdd, backend=backend)
    agree(tau, wanted, 1e-11)
    M = G.T @ other.mass_matrix(q @ G.T, backend="numpy") @ G
    agree(robot.mass_matrix(q, backend=backend), M, 1e-11)
    made = robot.forward_dynamics(q, qd, wanted, backend=backend)
    agree(other.inverse_dynamics(q @ G.T, qd @ G.T, made @ G.T, backend="numpy") @ G, wanted, 1e-10)
    if backend == "native":
        form = "unrolled" if n == SHORT else "looped"
        assert {robot.kernel(f).form.split()[0].strip(":") for f in FUNCTIONS} == {form}


MJCF = """<mujoco><compiler inertiafromgeom="false"/><option gravity="0 0 -9.81"/>
<worldbody>{}</worldbody></mujoco>"""
BODY = """<body name="b{k}" pos="0.2 0.1 {k}"><joint name="s{k}" type="slide" axis="{axis}"/>
<joint name="t{k}" type="hinge" axis="{axis}"/>
<inertial pos="0.1 -0.05 0.2" mass="1.5" diaginertia="0.02 0.03 0.04"/>{inside}</body>"""


def test_its_dynamics_are_those_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    axes, inside = [(0.0, 0.6, 0.8), (1.0, 0.0, 0.0), (0.48, 0.64, 0.6)], ""
    for k in (2, 1, 0):
        inside = BODY.format(k=k, axis=" ".join(map(str, axes[k])), inside=inside)
    model = mujoco.MjModel.from_xml_string(MJCF.format(inside))
    builder, above = px.RobotBuilder("spindles"), "world"
    builder.add_link("world")
    for k, axis in enumerate(axes):
        link = builder.add_link(f"b{k}", mass=1.5, com=(0.1, -0.05, 0.2), inertia=(0.02, 0.03, 0.04))
        builder.add_joint(
            f"j{k}", LeadScrew.name, above, link, origin=(0.2, 0.1, float(k)), axis=axis, pitch=LEAD
        )
        above = link
    robot = builder.build()
    G = np.kron(np.eye(3), [[1.0], [1.0 / LEAD]])
    for q, qd, qdd in zip(*(0.1 * x for x in robot.random_state(3, rng=2)), strict=True):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = G @ q, G @ qd
        mujoco.mj_forward(model, data)
        data.qacc[:] = G @ qdd
        mujoco.mj_inverse(model, data)
        full = np.zeros((6, 6))
        mujoco.mj_fullM(model, data, full)
        for backend in ("numpy", "native"):
            agree(robot.inverse_dynamics(q, qd, qdd, backend=backend), G.T @ data.qfrc_inverse, 1e-10)
            agree(robot.mass_matrix(q, backend=backend), G.T @ full @ G, 1e-10)


class Hinge(Turn):
    """A turn whose author does not say that it is a screw."""

    is_screw = False


def test_a_motion_that_says_nothing_of_itself_has_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(JointType):
        name, nq, nv, axes = "plain", 1, 1, 1
        units = ("rad",)

        @classmethod
        def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
            motion: type[Motion] = Hinge
            return [JointBody(motion, (0.0, 0.0, 1.0, 0.0, 0.0, 0.0), frame_along(axis))]

    monkeypatch.setitem(types._TYPES, "plain", Plain)
    CHECKS["kernels"]("plain")
    CHECKS["axes"]("plain")
    robot = px.tree(4, 0.0, seed=1, joints=("plain",))
    with pytest.raises(px.PhalanxError, match="is neither revolute nor prismatic"):
        robot.mass_matrix(robot.neutral(), algorithm="kane_original")
    with pytest.raises(px.PhalanxError, match='joint "joint1" moves by Hinge, which the page cannot draw'):
        kinematics(robot)
