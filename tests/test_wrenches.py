# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Wrenches by name: on links and on frames welded to them, for every function that takes any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.base import installed
from reference.sampling import agree

ROBOT = px.tree(6, 0.4, seed=3, joints=("revolute", "fixed", "prismatic", "spherical")).with_floating_base()


def welded() -> list[str]:
    return [name for name, frame in ROBOT.frames.items() if name not in ROBOT.link_names and frame.link >= 0]


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_named_wrenches_are_those_of_the_links(function: str, backend: str) -> None:
    state = tuple(x.astype(np.float32) for x in ROBOT.random_state(3, rng=0))
    rng = np.random.default_rng(1)
    one, several = rng.standard_normal(6).astype(np.float32), rng.standard_normal((3, 6)).astype(np.float32)
    external = np.zeros((3, ROBOT.n_links, 6), np.float32)
    external[:, 0], external[:, -1] = one, several
    method = getattr(ROBOT, function)
    named = {ROBOT.link_names[0]: one, ROBOT.link_names[-1]: several}
    found = method(*state, external=named, backend=backend)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, method(*state, external=external, backend=backend))


def test_a_wrench_on_any_frame_does_the_power_of_that_frame() -> None:
    assert welded()
    q, _, _ = ROBOT.random_state(rng=0)
    zero, wrench = np.zeros(ROBOT.nv), np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])
    for frame in ROBOT.frame_names:
        R = ROBOT.frame_pose(q, frame)[:3, :3]
        world = np.r_[R @ wrench[:3], R @ wrench[3:]]
        wanted = ROBOT.gravity_forces(q) - ROBOT.jacobian(q, frame).T @ world
        agree(ROBOT.inverse_dynamics(q, zero, zero, external={frame: wrench}), wanted, 1e-13)


def test_wrenches_on_frames_of_one_link_add() -> None:
    q, qd, qdd = ROBOT.random_state(rng=0)
    frame = welded()[0]
    link = ROBOT.link_names[ROBOT.frames[frame].link]
    a, b = np.random.default_rng(0).standard_normal((2, 6))
    both = ROBOT.wrenches({frame: a, link: b})
    agree(both, ROBOT.wrenches({frame: a}) + ROBOT.wrenches({link: b}))
    agree(ROBOT.inverse_dynamics(q, qd, qdd, external={frame: a, link: b}), ROBOT.rnea(q, qd, qdd, both))
    np.testing.assert_array_equal(ROBOT.rnea(q, qd, qdd, external={}), ROBOT.rnea(q, qd, qdd))


def test_kernels_take_them_too() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    q, qd, tau = ROBOT.random_state(2, rng=0)
    named = {ROBOT.link_names[2]: np.arange(6.0)}
    wanted = ROBOT.forward_dynamics(q, qd, tau, external=ROBOT.wrenches(named))
    np.testing.assert_array_equal(ROBOT.kernel("forward_dynamics")(q, qd, tau, external=named), wanted)


def test_jax_differentiates_by_them() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    q, qd, qdd = (jax.numpy.asarray(x, "float32") for x in ROBOT.random_state(rng=0))
    name = ROBOT.link_names[1]

    def tau(wrench: Any) -> Any:
        return ROBOT.jax.inverse_dynamics(q, qd, qdd, external={name: wrench})

    slope = jax.jacfwd(tau)(jax.numpy.zeros(6, "float32"))
    J = ROBOT.jacobian(np.asarray(q, float), name)
    R = ROBOT.frame_pose(np.asarray(q, float), name)[:3, :3]
    turned = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
    agree(np.asarray(slope), -J.T @ turned, 1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lnk": np.zeros(6)}, 'external: robot "tree" has no frame \'lnk\'; did you mean "link'),
        ({1: np.zeros(6)}, 'external: robot "tree" has no frame 1;'),
        ({"link1": np.zeros(5)}, r'external on "link1" has shape \(5,\), expected \(…, 6\) for robot "tree"'),
        ({"link1": 3.0}, r'external on "link1" has shape \(\), expected \(…, 6\)'),
        ({"link1": "push"}, r'external on "link1" has dtype <U4, expected real numbers'),
        (
            {"link1": np.zeros((2, 6)), "link2": np.zeros((3, 6))},
            r'external on "link2" has the batch \(3,\), which does not broadcast with \(2,\)',
        ),
    ],
)
def test_wrong_wrenches_are_refused(given: Any, said: str) -> None:
    q, qd, qdd = ROBOT.random_state(rng=0)
    with pytest.raises(px.PhalanxError, match=said):
        ROBOT.inverse_dynamics(q, qd, qdd, external=given)


def test_what_is_no_mapping_of_wrenches_is_refused() -> None:
    with pytest.raises(px.PhalanxError, match=r'wrenches: got \[1\.0\], expected a mapping such as {"link"'):
        ROBOT.wrenches([1.0])
