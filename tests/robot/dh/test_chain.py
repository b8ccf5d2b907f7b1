# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A chain in Denavit-Hartenberg frames: its functions on any batch and any kind of number."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.dh import chain as dh
from phalanx.spatial import unpack
from reference.dh_chains import (
    Z,
    frames,
    mv,
    tilted,
    torques,
)
from reference.sampling import agree


@pytest.mark.parametrize("robot", [px.chain(6, seed=1, prismatic=0.5), tilted(1e-7, "RRP", 2, 1)])
def test_proximal_frames_lie_on_their_joints_and_carry_the_same_bodies(robot: px.Robot) -> None:
    chain = robot.model.dh
    q = robot.random_state(rng=0)[0]
    U, p = dh.proximal_rotations(chain, q), dh.proximal_offsets(chain, q)
    s, J = dh.proximal_inertias(chain)
    turned, origin = chain.base.E.T, chain.base.r
    for i, (distal, place) in enumerate(zip(*frames(chain, q), strict=True)):
        axis = turned @ U[i] @ Z
        before = chain.base.r if i == 0 else frames(chain, q)[1][i - 1]
        origin, turned = origin + turned @ p[i], turned @ U[i]
        agree(axis, distal @ dh.axes(chain)[i], 1e-13)
        agree(np.cross(origin - before, axis), np.zeros(3), 1e-13, least=1.0)
        agree(origin + turned @ s[i], place + distal @ chain.s[i], 1e-13)
        world = distal @ unpack(chain.J[i]) @ distal.T
        agree(turned @ unpack(J[i]) @ turned.T, world, 1e-13)


def test_wrenches_in_link_frames_become_wrenches_at_dh_frames() -> None:
    robot = px.chain(5, seed=2, prismatic=0.4)
    q = robot.random_state(3, rng=0)[0]
    given = np.random.default_rng(0).normal(size=(3, 5, 6))
    chain = robot.model.dh
    moved = dh.link_wrenches_dh(chain, given)
    files = robot.forward_kinematics(q, backend="numpy")
    for i, (turned, origin) in enumerate(zip(*frames(chain, q), strict=True)):
        R_file, place = files[:, i, :3, :3], files[:, i, :3, 3]
        force = mv(R_file, given[:, i, 3:])
        agree(mv(turned, moved[:, i, 3:]), force, 1e-13)
        agree(
            mv(turned, moved[:, i, :3]), mv(R_file, given[:, i, :3]) + np.cross(place - origin, force), 1e-13
        )


def test_functions_broadcast_over_any_batch() -> None:
    chain = px.chain(4, seed=0, prismatic=0.5).model.dh
    q = np.random.default_rng(0).normal(size=(2, 3, 4))
    for f, shape in (
        (dh.rotations, (3, 3)),
        (dh.offsets, (3,)),
        (dh.proximal_rotations, (3, 3)),
        (dh.proximal_offsets, (3,)),
    ):
        result = f(chain, q)
        assert result.shape == (2, 3, 4, *shape)
        agree(result[1, 2], f(chain, q[1, 2]), 1e-15)


def test_chain_follows_its_model_into_other_numbers() -> None:
    robot = px.chain(5, seed=3, prismatic=0.4)
    q, qd, qdd = robot.random_state(4, rng=0)
    chain = robot.model.dh
    single = robot.model.cast(lambda a: a.astype(np.float32)).dh
    assert {getattr(single, k).dtype for k in ("a", "sa", "s", "J", "gravity")} == {np.dtype(np.float32)}
    assert dh.rotations(single, q.astype(np.float32)).dtype == np.float32
    assert dh.offsets(single, q.astype(np.float32)).dtype == np.float32
    agree(torques(single, q, qd, qdd), torques(chain, q, qd, qdd), 1e-5)
    boxed = robot.model.cast(lambda a: a.astype(object)).dh
    for f in (dh.rotations, dh.offsets, dh.proximal_rotations, dh.proximal_offsets):
        result = f(boxed, q[0].astype(object))
        assert result.dtype == object
        agree(result.astype(float), f(chain, q[0]), 1e-15)
    assert all(type(x) is float for x in dh.axes(boxed).ravel())


def test_regrouping_leaves_the_chain_its_own_inertias() -> None:
    robot = px.chain(5, seed=3)
    assert robot.model.regrouped().dh is robot.model.dh
    boxed = robot.model.regrouped().cast(lambda a: a.astype(object)).dh
    agree(boxed.m.astype(float), robot.model.dh.m)
