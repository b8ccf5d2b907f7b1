# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops of other libraries that solve inverse kinematics target by target, from Python, for comparison.

Each has the starts, limits, tolerance and restarts of `inverse_kinematics.py`: up to 32 tries of 100
iterations. Pink and Mink integrate steps of a quadratic program of one second, by the same solver.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import phalanx as px

TRIES, ITERATIONS, TOLERANCE = 32, 100, 1e-6
Try = Callable[[np.ndarray, np.ndarray], bool]


def rows(
    robot: px.Robot, frame: str, poses: np.ndarray, start: np.ndarray | None
) -> Iterator[tuple[str, float, float]]:
    """The name, share solved and targets a second of each library that is installed."""
    for name, make in (
        ("Pinocchio", pinocchio),
        ("Pink, daqp", pink),
        ("Mink, daqp", mink),
    ):
        try:
            attempt = make(robot, frame)
        except ImportError as error:
            print(f"  {name}: {error}")
            continue
        attempt(robot.neutral(), poses[0])
        rng, solved, begun = np.random.default_rng(1), 0, time.perf_counter()
        for k, pose in enumerate(poses):
            for number in range(TRIES):
                inside = rng.uniform(robot.limits.lower, robot.limits.upper)
                if attempt(inside if start is None or number else start[k].copy(), pose):
                    solved += 1
                    break
        yield name, solved / len(poses), len(poses) / (time.perf_counter() - begun)


def pinocchio(robot: px.Robot, frame: str) -> Try:
    """A damped loop as the examples of Pinocchio have it, clipped to the limits."""
    pin, model, number = _model(robot, frame)
    data, lower, upper = model.createData(), robot.limits.lower, robot.limits.upper

    def attempt(q: np.ndarray, pose: np.ndarray) -> bool:
        wanted = pin.SE3(pose)
        for _ in range(ITERATIONS):
            pin.framesForwardKinematics(model, data, q)
            left = data.oMf[number].actInv(wanted)
            error = pin.log6(left).vector
            if np.linalg.norm(error[:3]) < TOLERANCE and np.linalg.norm(error[3:]) < TOLERANCE:
                return True
            J = -pin.Jlog6(left.inverse()) @ pin.computeFrameJacobian(model, data, q, number)  # noqa: N806
            step = -J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
            q = np.clip(q + step, lower, upper)
        return False

    return attempt


def pink(robot: px.Robot, frame: str) -> Try:
    """Pink's `solve_ik` with one task and the limits of joints."""
    import pink as other

    pin, model, _ = _model(robot, frame)
    model.lowerPositionLimit, model.upperPositionLimit = robot.limits.lower, robot.limits.upper
    data = model.createData()
    limit = other.limits.ConfigurationLimit(model, config_limit_gain=1.0)

    def attempt(q: np.ndarray, pose: np.ndarray) -> bool:
        task = other.FrameTask("target", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3)
        task.set_target(pin.SE3(pose))
        configuration = other.Configuration(model, data, q)
        for _ in range(ITERATIONS):
            error = task.compute_error(configuration)
            if np.linalg.norm(error[:3]) < TOLERANCE and np.linalg.norm(error[3:]) < TOLERANCE:
                return True
            try:
                rate = other.solve_ik(
                    configuration, [task], 1.0, "daqp", damping=1e-9, limits=[limit], safety_break=False
                )
            except other.exceptions.PinkError:
                return False
            configuration.integrate_inplace(rate, 1.0)
        return False

    return attempt


def mink(robot: px.Robot, frame: str) -> Try:
    """Mink's `solve_ik` with one task and the limits of joints, on MuJoCo."""
    import mink as other
    import mujoco

    tag = '<mujoco><compiler fusestatic="false" boundmass="1e-9" boundinertia="1e-9"/></mujoco></robot>'
    model = mujoco.MjModel.from_xml_string(robot.to_urdf().replace("</robot>", tag))
    configuration = other.Configuration(model)
    limits = [other.ConfigurationLimit(model, gain=1.0)]

    def attempt(q: np.ndarray, pose: np.ndarray) -> bool:
        task = other.FrameTask(frame, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3)
        task.set_target(other.SE3.from_matrix(pose))
        configuration.update(q)
        for _ in range(ITERATIONS):
            error = task.compute_error(configuration)
            if np.linalg.norm(error[:3]) < TOLERANCE and np.linalg.norm(error[3:]) < TOLERANCE:
                return True
            try:
                rate = other.solve_ik(configuration, [task], 1.0, "daqp", damping=1e-9, limits=limits)
            except other.exceptions.MinkError:
                return False
            configuration.integrate_inplace(rate, 1.0)
        return False

    return attempt


def _model(robot: px.Robot, frame: str) -> tuple[Any, Any, int]:
    """Pinocchio, its model of a robot, and the number of a frame."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from reference import pinocchio as other

    pin = other.pin
    model, place = other.model_of(robot.description)
    joint, offset = place[frame]
    return pin, model, model.addFrame(pin.Frame("target", joint, 0, offset, pin.FrameType.OP_FRAME))
