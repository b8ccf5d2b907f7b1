# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loads on frames, brought to links and bodies: the same power, and the same resistance."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.program.builder import straight
from phalanx.program.graph import Graph, symbols
from phalanx.program.interpret import program_on_arrays
from phalanx.robot.joints import frame_along
from phalanx.robot.model import link_wrenches
from phalanx.simulation.loads import FrameLoad, impedances, on_bodies, on_links
from phalanx.spatial import dense
from phalanx.tracing.equations import Equations
from reference.sampling import agree

TOOL = np.eye(4)
TOOL[:3, :3], TOOL[:3, 3] = frame_along((0.3, -0.4, 1.0)), (0.1, 0.2, 0.3)
POINTS = ((0.1, -0.2, 0.3), (0.0, 0.4, 0.0))


@pytest.fixture
def robot() -> px.Robot:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for k, parent in enumerate(("base", "link1", "link2")):
        name = f"link{k + 1}"
        builder.add_link(name, mass=1.0 + k, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.15))
        builder.add_joint(f"j{k}", "revolute", parent, name, axis=(1, k, 2), origin=(0.3, 0.1 * k, 0.2))
    builder.add_frame("tool", "link3", TOOL)
    return builder.build()


def evaluated(results: np.ndarray, q: np.ndarray) -> np.ndarray:
    flat = results.ravel().tolist()
    found: np.ndarray = program_on_arrays(straight({"q": q.shape[1:]}, {"x": results.shape}, flat), {"q": q})
    return found


def test_forces_at_points_reach_links_and_bodies(robot: px.Robot) -> None:
    graph = Graph()
    of, q = Equations(robot, graph), symbols(graph, "q", (3,))
    rng = np.random.default_rng(1)
    forces, wrench = rng.standard_normal((2, 3)), rng.standard_normal(6)
    load = FrameLoad("tool", tuple(zip(POINTS, forces.astype(object), strict=True)), wrench.astype(object))
    fixed = FrameLoad("base", (((0.0, 0.0, 1.0), forces[0].astype(object)),), wrench.astype(object))
    model = robot.model.cast(lambda array: array.astype(object))
    states = robot.random_state(4, rng=2)[0]
    links = evaluated(on_links(of, q, [load, fixed]), states)
    # Forces in the axes of the world, as a wrench in those of the tool.
    turn = robot.frame_pose(states, "tool")[:, :3, :3]
    local = np.einsum("bij,kbi->kbj", turn, forces[:, None] + np.zeros((1, 4, 1)))
    parts = [np.concatenate([np.cross(at, f), f], axis=-1) for at, f in zip(POINTS, local, strict=True)]
    agree(links, robot.wrenches({"tool": wrench + parts[0] + parts[1]}), 1e-13)
    agree(evaluated(on_bodies(of, model, q, [load, fixed]), states), link_wrenches(robot.model, links), 1e-13)


def test_resistances_are_quadratic_forms_of_the_points_accelerations(robot: px.Robot) -> None:
    graph = Graph()
    of, q = Equations(robot, graph), symbols(graph, "q", (3,))
    rng = np.random.default_rng(3)
    directions = rng.standard_normal((2, 3))
    load = FrameLoad(
        "tool",
        evenly=((POINTS[0], 2.0), (POINTS[1], 0.5)),
        along=((3.0, tuple(zip(POINTS, directions.astype(object), strict=True))),),
    )
    model = robot.model.cast(lambda array: array.astype(object))
    states = robot.random_state(4, rng=2)[0]
    found = evaluated(impedances(of, model, q, [load]), states)
    assert not found[:, :2].any()
    rate = rng.standard_normal(6)  # of the twist of the last body
    X = dense(robot.model.link_frame)[2]
    frame = robot.frame("tool")
    R, t = np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.translation)
    w, v = np.split(X @ rate, 2)
    turn = robot.frame_pose(states, "link3")[:, :3, :3]
    a = np.array([turn @ (v + np.cross(w, R @ at + t)) for at in POINTS])  # in the axes of the world
    wanted = 2.0 * (a[0] ** 2).sum(-1) + 0.5 * (a[1] ** 2).sum(-1)
    wanted += 3.0 * np.einsum("kbi,ki->b", a, directions) ** 2
    agree(np.einsum("i,bij,j->b", rate, found[:, 2], rate), wanted, 1e-12)
    agree(found, found.swapaxes(-1, -2), 1e-14)
