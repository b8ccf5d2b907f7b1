# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What every joint type must give, wherever joints are used: one function for each place.

The contract tests hold all registered types to it, the tests of extension points a type that they add.
"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.data.binding import factors
from phalanx.robot.joints import FREE, joint_type, pose_of, transpose_quaternion
from phalanx.robot.joints.orderings import MUJOCO, PINOCCHIO, find_rule
from phalanx.spatial import Transform
from phalanx.studio.session import Session

from .c_library import Library
from .page_script import NODE, by_script
from .sampling import agree

FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
SHORT, LONG = 5, 80  # links: straight-line code, loops over bodies
AXIS, AXIS2, PITCH = (1.0, 2.0, 3.0), (0.0, 1.0, 0.2), 0.3


def robot_of(kind: str, n: int = SHORT, branching: float = 0.3) -> px.Robot:
    """A tree in which every other joint is of a type."""
    return px.tree(n, branching, seed=n, joints=(kind, "revolute"))


def check_axes(kind: str) -> None:
    """The pose changes along the axes of the bodies, as fast as the rates say."""
    joint = joint_type(kind)
    steps = joint.steps(AXIS, AXIS2, PITCH)
    q = joint.integrate(joint.neutral(), np.random.default_rng(1).standard_normal(joint.nv))
    T, h = pose_of(steps, q), 1e-6
    for k, step in enumerate(steps):
        # The bodies behind a body carry its axis to the child.
        n = sum(s.motion.nq for s in steps[: k + 1 + step.carrier])
        rest = pose_of(steps[k + 1 + step.carrier :], q[n:])
        frame = np.eye(4)
        frame[:3, :3] = steps[k + step.carrier].frame
        X = np.linalg.inv(rest) @ frame
        twist = np.zeros((4, 4))
        twist[:3, :3] = np.cross(np.eye(3), np.array(step.axis[:3]))  # w x as a matrix
        twist[:3, 3] = step.axis[3:]
        wanted = T @ X @ twist @ np.linalg.inv(X)
        rate = h * np.eye(joint.nv)[k]
        moved = [pose_of(steps, joint.integrate(q, sign * rate)) for sign in (1.0, -1.0)]
        agree((moved[0] - moved[1]) / (2.0 * h), wanted, 1e-8)


def check_displacements(kind: str) -> None:
    """At constant rates a body moves as its coordinates do: what discrete mechanics steps by."""
    joint = joint_type(kind)
    steps, rng = joint.steps(AXIS, AXIS2, PITCH), np.random.default_rng(3)
    q, rate = joint.integrate(joint.neutral(), rng.standard_normal(joint.nv)), rng.standard_normal(joint.nv)
    then, at = joint.integrate(q, rate), 0
    for k, step in enumerate(steps):
        motion, axis = step.motion, np.array([step.axis])
        own, at = slice(at, at + motion.nq), at + motion.nq
        if not motion.nq:
            continue
        found = motion.displacement(rate[None, k : k + motion.nv], axis)
        turn, shift = np.concatenate([found.a, found.w], axis=-1), found.d
        rest = Transform(np.eye(3)[None], np.zeros((1, 3)))
        here, there = (motion.transform(x[None, own], rest, np.zeros(1), axis) for x in (q, then))
        agree(transpose_quaternion(turn) @ here.E, there.E, 1e-13)
        agree(here.r + (here.E.swapaxes(-1, -2) @ shift[..., None])[..., 0], there.r, 1e-13)


def check_kernels(kind: str) -> None:
    """Straight-line kernels and loops over bodies give what NumPy gives, and their derivatives do."""
    for n, form in ((SHORT, "unrolled"), (LONG, "looped")):
        robot = robot_of(kind, n)
        q, qd, qdd = robot.random_state(3, rng=0)
        tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
        for function, inputs in zip(FUNCTIONS, ((q, qd, qdd), (q,), (q, qd, tau)), strict=True):
            assert robot.kernel(function).form.startswith(form)
            found = getattr(robot, function)(*inputs, backend="native")
            if function == "forward_dynamics":  # whatever the condition of the mass matrix
                found, wanted = robot.inverse_dynamics(q, qd, found, backend="numpy"), tau
            else:
                wanted = getattr(robot, function)(*inputs, backend="numpy")
            agree(found, wanted, 1e-12)
        along = list(np.random.default_rng(2).standard_normal((3, 3, robot.nv)))
        found, wanted = (
            robot.jvp("inverse_dynamics", (q, qd, qdd), along, backend=backend)
            for backend in ("native", "numpy")
        )
        agree(found, wanted, 1e-12)


def check_dh_frames(kind: str) -> None:
    """Chains in Denavit-Hartenberg frames have the same mass matrix, or are refused by name."""
    robot = robot_of(kind, branching=0.0)
    q, _, _ = robot.random_state(2, rng=0)
    steps = joint_type(kind).steps(AXIS, AXIS2, PITCH)
    covered = len(steps) == 1 and (steps[0].turn, steps[0].slide) in ((1.0, 0.0), (0.0, 1.0))
    for algorithm in ("kane_original", "composite_original", "processor_array"):
        if covered:
            found = robot.mass_matrix(q, algorithm=algorithm, backend="numpy")
            agree(found, robot.mass_matrix(q, algorithm="crba", backend="numpy"), 1e-11)
            continue
        first = robot.joint_names[robot.joint_types.index(kind)]
        with pytest.raises(px.PhalanxError, match=rf'joint "{first}" is neither revolute nor prismatic'):
            robot.mass_matrix(q, algorithm=algorithm, backend="numpy")
    if not covered:
        with pytest.raises(px.PhalanxError, match="is neither revolute nor prismatic"):
            robot.to_dh()


def check_recordings(kind: str) -> None:
    """Units of angles scale coordinates in radians, units of length those in metres, of this joint alone."""
    joint, robot = joint_type(kind), robot_of(kind)
    name = robot.joint_names[robot.joint_types.index(kind)]
    at = robot.q_slices[name]
    for unit, of, factor in (("deg", "rad", math.pi / 180.0), ("mm", "m", 1e-3)):
        found = factors(robot, "q", unit)
        own = np.ones(robot.nq) if found is None else found
        assert set(own[at]) == {factor if joint.units == (of,) else 1.0}
        assert factors(robot, "tau", unit) is None
        if joint.nq > 1:
            continue
        if joint.units == (of,):
            only = factors(robot, "q", {name: unit})
            assert only is not None
            assert only[at] == [factor]
            assert (np.delete(only, at.start) == 1.0).all()
        else:
            with pytest.raises(px.PhalanxError, match=rf'joint "{name}" moves in {joint.units[0]}, got'):
                factors(robot, "q", {name: unit})
    state = dict(zip(("q", "qd", "qdd"), robot.random_state(4, rng=1), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "log.npz", **state)
        px.data.run(
            px.data.open(Path(folder) / "log.npz", robot, joints="robot"),
            "inverse_dynamics",
            Path(folder) / "out.npz",
        )
        with np.load(Path(folder) / "out.npz") as made:
            agree(made["inverse_dynamics"], robot.inverse_dynamics(**state), 1e-12)


def check_pictures(kind: str) -> None:
    """Joints are drawn along their axis, have sliders and names, and the page moves links as the library."""
    joint, robot = joint_type(kind), robot_of(kind)
    session = Session(px.visuals(robot))
    assert session.scene.parts
    assert len(session.sliders) == len(set(session.rate_names)) == robot.nv
    at = robot.v_slices[robot.joint_names[robot.joint_types.index(kind)]]
    assert [u == "N" for u in session.units[at]] == [unit == "m" for unit in joint.units]
    first = robot.q_slices[robot.joint_names[robot.joint_types.index(kind)]]
    if joint.quaternion is None:
        units = [s.unit for s in session.sliders if first.start <= s.index < first.stop]
        assert units == list(joint.units)
    if kind == FREE or NODE is None:
        return
    q = robot.random_state(3, rng=0)[0]
    poses, forces = by_script(robot, q)
    agree(poses, robot.forward_kinematics(q)[..., :3, :], 1e-12)
    agree(forces, robot.gravity_forces(q), 1e-10)


def check_exports(kind: str) -> None:
    """Exported C gives what the methods give."""
    robot = robot_of(kind, 3)
    q, qd, qdd = robot.random_state(3, rng=0)
    with tempfile.TemporaryDirectory() as folder:
        library = Library(robot, ("inverse_dynamics", "mass_matrix"), Path(folder), flags=("-O1",))
        agree(library("inverse_dynamics", q, qd, qdd)[0], robot.inverse_dynamics(q, qd, qdd), 1e-12)
        agree(library("mass_matrix", q)[0], robot.mass_matrix(q), 1e-12)


def check_files(kind: str) -> None:
    """A saved robot comes back exactly; URDF has the same motion, or the writer refuses by name."""
    robot, joint = robot_of(kind), joint_type(kind)
    with tempfile.TemporaryDirectory() as folder:
        robot.save(Path(folder) / "arm.json")
        again = px.load(Path(folder) / "arm.json")
    assert again.digest == robot.digest
    if joint.quaternion is not None:
        return  # URDF has other coordinates, or a warning
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)  # limits of planar joints are lost
        text = robot.to_urdf()
    back = px.load(text)
    q, _, _ = robot.random_state(2, rng=0)
    if back.nq == robot.nq:
        agree(back.mass_matrix(q, backend="numpy"), robot.mass_matrix(q, backend="numpy"), 1e-11)


def check_conversion(kind: str) -> None:
    """One coordinate is the same in Pinocchio and in MuJoCo."""
    if joint_type(kind).nq == 1:
        for rules in (PINOCCHIO, MUJOCO):
            found = find_rule(rules, kind, 1)
            assert found is not None
            assert found.to(np.array([0.3])) == found.back(np.array([0.3])) == [0.3]


def check_steps(kind: str) -> None:
    """A step of a simulation moves coordinates along their rates."""
    robot, h = robot_of(kind, 3), 1e-3
    q, qd, tau = robot.random_state(2, rng=0)
    sim = robot.simulation(h, integrator="euler", damping=False, friction=False, limits=False)
    there, faster = sim.step(q, qd, tau)
    if joint_type(kind).quaternion is None:
        agree(faster, qd + h * robot.forward_dynamics(q, qd, tau), 1e-11)
        agree(there, q + h * faster, 1e-12)
    agree(robot.difference(q, there), h * faster, 1e-2)


CHECKS: dict[str, Callable[[str], None]] = {
    re.sub("^check_", "", name): check for name, check in list(globals().items()) if name.startswith("check_")
}
