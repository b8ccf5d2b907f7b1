# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots whose mass matrix no configuration can invert are refused with the joints to blame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.structure import require_invertible

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


def chain(*links: dict[str, Any], joints: tuple[dict[str, Any], ...] = ()) -> px.RobotBuilder:
    """A chain of revolute joints with the given bodies."""
    builder = px.RobotBuilder("chain")
    builder.add_link("link0")
    for i, link in enumerate(links, 1):
        builder.add_link(f"link{i}", **link)
        more = joints[i - 1] if joints else {}
        kind = {"type": "revolute", "origin": (0.3, 0.0, 0.1), "axis": (0.0, i % 2, 1 - i % 2)} | more
        builder.add_joint(f"joint{i}", kind.pop("type"), f"link{i - 1}", f"link{i}", **kind)
    return builder


SOLID = {"mass": 1.0, "com": (0.2, 0.1, 0.0), "inertia": (0.1, 0.1, 0.1)}
POINT = {"mass": 1.0}
EMPTY: dict[str, Any] = {}


def message(robot: px.Robot) -> str:
    zero = np.zeros(robot.nv)
    texts = set()
    for call in (
        lambda: robot.forward_dynamics(robot.neutral(), zero, zero),
        lambda: robot.forward_dynamics(robot.neutral(), zero, zero, algorithm="jsiia"),
        lambda: robot.mass_matrix_inverse(robot.neutral()),
    ):
        with pytest.raises(px.PhalanxError) as caught:
            call()
        texts.add(str(caught.value))
    (text,) = texts
    return text


def test_a_massless_tip_is_named_with_the_remedy() -> None:
    assert message(chain(SOLID, SOLID, EMPTY).build()) == (
        'robot "chain": the mass matrix is singular in every configuration, because nothing with inertia '
        'resists joint "joint3". Give the links they carry a mass and an inertia, set '
        'robot.replace(armature={"joint3": …}), or fix them with robot.fix(…).'
    )


def test_no_armature_is_recommended_for_joints_of_several_axes() -> None:
    builder = chain(SOLID)
    builder.add_link("tip")
    builder.add_joint("ball", "spherical", "link1", "tip")
    assert message(builder.build()).endswith("an inertia, or fix them with robot.fix(…).")
    ghost = px.RobotBuilder("ghost")
    ghost.add_link("ghost")
    assert message(ghost.build(floating_base=True)).endswith("they carry a mass and an inertia.")


def test_all_of_several_massless_joints_are_named() -> None:
    text = message(chain(SOLID, EMPTY, EMPTY).build())
    assert 'resists joints "joint2", "joint3"' in text
    assert 'robot.replace(armature={"joint2": …, …})' in text


def test_a_point_on_the_axis_resists_no_turn_but_a_slide() -> None:
    assert 'resists joint "joint2"' in message(chain(SOLID, POINT).build())
    slide = chain(SOLID, POINT, joints=({}, {"type": "prismatic"})).build()
    assert np.isfinite(slide.forward_dynamics([0.1, 0.2], [0.0, 0.0], [1.0, 1.0])).all()


def test_two_turns_about_one_line_are_one_too_many() -> None:
    line = {"axis": (0.0, 0.0, 1.0), "origin": None}
    assert 'resists joint "joint1"' in message(chain(EMPTY, SOLID, joints=(line, line)).build())


def test_a_floating_base_without_anything_is_named() -> None:
    builder = px.RobotBuilder("ghost")
    builder.add_link("ghost")
    assert 'resists joint "floating base"' in message(builder.build(floating_base=True))


def test_massless_links_between_bodies_are_welcome() -> None:
    robot = chain(EMPTY, EMPTY, SOLID, joints=({}, {"axis": (1.0, 0.0, 0.0)}, {})).build()
    q, qd, tau = robot.random_state(5, rng=0)
    qdd = robot.forward_dynamics(q, qd, tau)
    back = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(back, tau, atol=1e-9 * np.abs(qdd).max())


def test_armature_or_fixing_helps() -> None:
    robot = chain(SOLID, EMPTY).build()
    require_invertible(robot.replace(armature=(0.0, 0.1)))
    require_invertible(robot.fix({"joint2": 0.0}))
    with pytest.raises(px.PhalanxError, match='resists joint "joint2"'):
        require_invertible(robot.replace(armature=(0.1, 0.0)))


def test_inverse_dynamics_and_the_mass_matrix_need_no_inverse() -> None:
    robot = chain(SOLID, EMPTY).build()
    assert robot.mass_matrix([0.0, 0.0])[1].tolist() == [0.0, 0.0]
    assert np.isfinite(robot.inverse_dynamics([0.0, 0.0], [1.0, 1.0], [1.0, 1.0])).all()


def test_long_robots_are_judged_by_their_weights() -> None:
    robot = chain(*[SOLID] * 70, EMPTY).build()
    assert 'resists joint "joint71"' in message(robot)
    require_invertible(robot.fix({"joint71": 0.0}))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(scale: float) -> None:
    body = {"mass": scale, "com": (0.2, 0.1, 0.0), "inertia": (0.1 * scale,) * 3}
    require_invertible(chain(body, body, body).build())
