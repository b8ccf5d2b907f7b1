# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Chains for tests of forward dynamics: hard ones, the same in Pinocchio, and bounds on errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.study.accuracy import exact_result, relative_error
from reference.dynamics import rotor_forces
from reference.sampling import MOVING_TYPES, agree, conditioning

KINDS = {
    "revolute": ("revolute",),
    "prismatic": ("prismatic", "revolute"),
    "helical": ("helical",),
    "mixed": ("revolute", "prismatic", "helical"),
}
SIZES = (1, 2, 3, 7, 32, 100)


@cache
def chain(n: int, kind: str = "revolute", seed: int = 0) -> px.Robot:
    """A random chain of n joints with one degree of freedom each."""
    return px.tree(n, 0.0, seed=seed + n, joints=KINDS[kind])


def pinocchio_chain(robot: px.Robot) -> tuple[Any, list[int]]:
    """A chain as a model of Pinocchio, and the order of its rates there.

    A universal joint is two turns, with nothing between them.
    """
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    model, parent = pin.Model(), 0
    model.gravity.linear = robot.gravity
    links = {link.name: link for link in robot.description.links}
    made = {
        "revolute": lambda j: pin.JointModelRevoluteUnaligned(np.array(j.axis) / np.linalg.norm(j.axis)),
        "prismatic": lambda j: pin.JointModelPrismaticUnaligned(np.array(j.axis) / np.linalg.norm(j.axis)),
        "helical": lambda j: pin.JointModelHelicalUnaligned(
            np.array(j.axis) / np.linalg.norm(j.axis), j.pitch
        ),
        "spherical": lambda j: pin.JointModelSpherical(),
        "floating": lambda j: pin.JointModelFreeFlyer(),
    }
    order: list[int] = []  # of rates: its own are linear before angular
    for joint in robot.description.joints:
        place = pin.SE3(np.reshape(joint.origin.rotation, (3, 3)), np.array(joint.origin.translation))
        kind = joint.type
        if kind == "universal":
            parent = model.addJoint(parent, made["revolute"](joint), place, f"{joint.name} first")
            joint, kind, place = replace(joint, axis=joint.axis2), "revolute", pin.SE3.Identity()
        parent = model.addJoint(parent, made[kind](joint), place, joint.name)
        order += (np.arange(model.nv - len(order)) + len(order)).tolist()
        if kind == "floating":
            order[-6:] = order[-3:] + order[-6:-3]
        link = links[joint.child]
        xx, xy, xz, yy, yz, zz = link.inertia
        own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(parent, pin.Inertia(link.mass, np.array(link.com), own), pin.SE3.Identity())
    model.armature = np.asarray(robot.model.armature)[order]
    return model, order


def pinocchio_accelerations(robot: px.Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations of a chain by Pinocchio's articulated bodies, state by state."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    model, order = pinocchio_chain(robot)
    data, back = model.createData(), np.argsort(order)
    # Pinocchio has armature · qdd alone: what else the armature of floating joints takes is subtracted.
    tau = tau - np.array([rotor_forces(robot, rates) for rates in qd])
    given = zip(q, qd[:, order], tau[:, order], strict=True)
    return np.array([pin.aba(model, data, *state)[back] for state in given])


def agrees_with_pinocchio(algorithm: Any, kind: str, n: int, tolerance: float = 1e-9) -> None:
    """Raise unless an algorithm gives Pinocchio's accelerations, relative to the largest."""
    robot = chain(n, kind)
    q, qd, tau = robot.random_state((2,), rng=n)
    found = robot.forward_dynamics(q, qd, tau, algorithm=algorithm)
    agree(found, pinocchio_accelerations(robot, q, qd, tau), tolerance)


def agrees_with_articulated_bodies(algorithm: Any, robot: px.Robot, seed: int, scale: float = 1.0) -> None:
    """Raise unless an algorithm agrees with `aba`, external wrenches and a batch included."""
    rng = np.random.default_rng(seed)
    q, qd, tau = robot.random_state((2, 2), rng=rng)
    external = rng.standard_normal((2, 2, robot.n_links, 6))
    bound = 1e-13 * conditioning(robot.mass_matrix(q)) + 1e-11
    agree(
        robot.forward_dynamics(q, qd, tau, external=external, algorithm=algorithm),
        robot.forward_dynamics(q, qd, tau, external=external, algorithm="aba"),
        bound * scale,
    )


def chains_of_all_types() -> list[px.Robot]:
    """Short chains of every joint type alone and of all together, some with rotors or a free base."""
    result = [px.tree(5, 0.0, seed=k, joints=(name,)) for k, name in enumerate(MOVING_TYPES)]
    mixed = px.tree(9, 0.0, seed=50, joints=MOVING_TYPES)
    result += [mixed, px.tree(4, 0.0, seed=51).with_floating_base(), px.tree(1, 0.0, seed=52)]
    some = mixed.replace(armature=np.linspace(0.1, 0.5, mixed.nv) * (np.arange(mixed.nv) % 3 > 0))
    heavy = result[0].replace(armature=1e4)
    return [*result, some, heavy]


def scaled(robot: px.Robot, scale: Callable[[int], float]) -> px.Robot:
    """The robot with the inertia of its moving link i times scale(i)."""
    base, *links = robot.description.links
    changed = [
        replace(link, mass=link.mass * s, inertia=tuple(v * s for v in link.inertia))
        for link, s in ((link, scale(i)) for i, link in enumerate(links))
    ]
    return px.Robot(replace(robot.description, links=(base, *changed)))


@cache
def hard_chain(case: str, n: int) -> px.Robot:
    """A chain of n links on which algorithms lose digits."""
    rng = np.random.default_rng(n)
    ratio, light = 10.0 ** rng.uniform(-6.0, 0.0, n), rng.random(n) < 0.3
    robot = chain(n)
    match case:
        case "random":
            return robot
        case "mass ratio":
            return scaled(robot, lambda i: ratio[i])
        case "light links":
            return scaled(robot, lambda i: 1e-9 if light[i] else 1.0)
        case "light tail":
            return scaled(robot, lambda i: 1e-9 if i > 0.7 * n else 1.0)
        case "heavy tip":
            return scaled(robot, lambda i: 1e6 if i == n - 1 else 1.0)
    raise AssertionError(case)


@cache
def hard_state(case: str, n: int) -> tuple[Any, ...]:
    """(robot, q, qd, tau, exact accelerations) of a hard chain."""
    robot = hard_chain(case, n)
    state = robot.random_state(1, rng=n)
    return robot, *state, exact_result(robot, "forward_dynamics", list(state))


def error(algorithm: Any, case: str, n: int) -> float:
    """The relative error of an algorithm on a hard chain against fifty digits."""
    robot, q, qd, tau, exact = hard_state(case, n)
    return relative_error(robot.forward_dynamics(q, qd, tau, algorithm=algorithm), exact)
