# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives on JAX by the analytic algorithms, against XLA's own differentiation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from reference.hand import COUPLED
from reference.sampling import MOVING_TYPES, agree, pairwise

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

from phalanx.backends.jax import rules  # noqa: E402

KINDS = ("arm", "mixed tree", "floating", "coupled")
MODES = (jax.jacfwd, jax.jacrev)


@cache
def robot_of(kind: str) -> px.Robot:
    if kind == "arm":
        return px.load("ur5").replace(armature=0.1)
    if kind == "floating":
        return px.tree(3, 0.6, seed=3).with_floating_base().replace(armature=np.linspace(0.1, 0.9, 9))
    if kind == "coupled":
        return px.load(COUPLED)
    return px.tree(8, 0.6, seed=1, joints=MOVING_TYPES)


def inputs_of(robot: px.Robot, function: str, seed: int = 4) -> list[Any]:
    q, qd, qdd = robot.random_state((), rng=seed)
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    return [jnp.asarray(given[name]) for name in FUNCTIONS[function].inputs]


def close(results: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    got, expected = jax.tree_util.tree_leaves(results), jax.tree_util.tree_leaves(wanted)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        agree(np.asarray(a), np.asarray(b), tolerance)


@pytest.mark.parametrize(("function", "kind", "mode"), pairwise(rules.RULES, KINDS, MODES))
def test_derivatives_are_those_of_xla(function: str, kind: str, mode: Any) -> None:
    """With respect to all coordinates of q: also where these are a quaternion, and of any length."""
    robot = robot_of(kind)
    inputs = inputs_of(robot, function)
    inputs[0] = inputs[0] * 1.25
    every = tuple(range(len(inputs)))
    method = getattr(robot.jax, function)
    analytic, own = (
        jax.jit(mode(lambda *x, way=way: method(*x, derivatives=way), argnums=every))(*inputs)
        for way in ("analytic", "xla")
    )
    close(analytic, own)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("inverse_dynamics", "floating"),
        pytest.param("forward_dynamics", "mixed tree", marks=pytest.mark.exhaustive),
    ],
)
def test_wrenches_inertias_and_parameters_keep_their_derivatives(function: str, kind: str, mode: Any) -> None:
    robot = robot_of(kind)
    inputs = inputs_of(robot, function)
    external = jnp.asarray(np.random.default_rng(1).standard_normal((robot.n_links, 6)))
    inertias = jnp.asarray(robot.inertial_parameters.reshape(-1, 10))
    gravity = robot.jax.parameters()["gravity"]

    def value(q: Any, external: Any, inertias: Any, gravity: Any, way: str) -> Any:
        more = {"external": external, "inertias": inertias, "parameters": {"gravity": gravity}}
        return getattr(robot.jax, function)(q, *inputs[1:], **more, derivatives=way)

    analytic, own = (
        jax.jit(mode(lambda *x, way=way: value(*x, way), argnums=(0, 1, 2, 3)))(
            inputs[0], external, inertias, gravity
        )
        for way in ("analytic", "xla")
    )
    close(analytic, own, 1e-8)


def test_matrices_are_those_of_the_library() -> None:
    """Against the analytic algorithms on NumPy, under vmap and jit, in both precisions."""
    robot = robot_of("coupled")
    state = robot.random_state((3,), rng=2)
    wanted = robot.forward_dynamics_derivatives(*state, backend="numpy")
    every = jax.jacobian(robot.jax.forward_dynamics, argnums=(0, 1, 2))
    close(jax.jit(jax.vmap(every))(*state), tuple(wanted), 1e-11)
    narrow = jax.vmap(every)(*(jnp.asarray(x, jnp.float32) for x in state))
    for a, b in zip(narrow, wanted, strict=True):
        assert a.dtype == jnp.float32
        agree(np.asarray(a, np.float64), b, 2e-3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["arm", "floating"])
def test_second_derivatives_are_those_of_xla(kind: str) -> None:
    robot = robot_of(kind)
    inputs = inputs_of(robot, "inverse_dynamics")
    weight = jnp.linspace(1.0, 2.0, robot.nv)

    def curved(way: str) -> Any:
        def value(q: Any, qd: Any) -> Any:
            return robot.jax.inverse_dynamics(q, qd, inputs[2], derivatives=way) @ weight

        return jax.jit(jax.jacfwd(jax.grad(value, argnums=(0, 1)), argnums=(0, 1)))(*inputs[:2])

    close(curved("analytic"), curved("xla"), 1e-9)


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_second_derivatives_nest_in_every_order(inner: Any, outer: Any) -> None:
    robot = px.chain(2)
    q, qd, tau = inputs_of(robot, "forward_dynamics")
    f = lambda q: robot.jax.forward_dynamics(q, qd, tau)  # noqa: E731
    own = lambda q: robot.jax.forward_dynamics(q, qd, tau, derivatives="xla")  # noqa: E731
    close(jax.jit(outer(inner(f)))(q), jax.jit(jax.jacfwd(jax.jacfwd(own)))(q), 1e-9)


def test_batches_of_gradients_equal_those_of_single_states() -> None:
    robot = robot_of("floating")
    q, qd, tau = map(jnp.asarray, robot.random_state((4,), rng=3))

    def loss(q: Any, qd: Any, tau: Any) -> Any:
        return (robot.jax.forward_dynamics(q, qd, tau, derivatives="analytic") ** 2).sum()

    slopes = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
    shared = slopes(q, qd[0], tau)  # rates broadcast
    alone = [slopes(q[k], qd[0], tau[k]) for k in range(4)]
    close(
        shared, (jnp.stack([a[0] for a in alone]), sum(a[1] for a in alone), jnp.stack([a[2] for a in alone]))
    )


def test_the_doubling_schedule_has_the_same_derivatives() -> None:
    robot = px.chain(6)
    inputs = inputs_of(robot, "forward_dynamics")
    made = [
        jax.jacfwd(lambda q, s=schedule: robot.jax.forward_dynamics(q, *inputs[1:], schedule=s))(inputs[0])
        for schedule in ("sequential", "doubling")
    ]
    close(made[0], made[1], 1e-11)


def loops(f: Any, *inputs: Any) -> int:
    return jax.jit(f).lower(*inputs).as_text().count("stablehlo.while")


def test_who_is_asked_for_derivatives() -> None:
    """By itself the library takes matrices for arms, XLA for long robots and where a base moves."""
    arm, long = robot_of("arm"), px.chain(rules.MOST + 1)
    inputs = inputs_of(arm, "inverse_dynamics")
    ways = [
        loops(
            jax.jacobian(lambda q, way=way: arm.jax.inverse_dynamics(q, *inputs[1:], derivatives=way)),
            inputs[0],
        )
        for way in ("auto", "analytic", "xla")
    ]
    assert ways[0] == ways[1] < ways[2]
    many = inputs_of(long, "inverse_dynamics")
    far = [
        loops(
            jax.jacobian(lambda q, way=way: long.jax.inverse_dynamics(q, *many[1:], derivatives=way)), many[0]
        )
        for way in ("auto", "analytic", "xla")
    ]
    assert far[0] == far[2] > far[1]
    twist = jnp.ones(6)
    own, auto = (
        jax.jacfwd(lambda v, way=way: arm.jax.inverse_dynamics(*inputs, base_velocity=v, derivatives=way))(
            twist
        )
        for way in ("xla", "auto")
    )
    close(auto, own, 1e-14)
    with pytest.raises(px.PhalanxError, match=r"no analytic derivatives with base_velocity, but of"):
        arm.jax.inverse_dynamics(*inputs, base_velocity=twist, derivatives="analytic")
    with pytest.raises(
        px.PhalanxError, match=r"mass_matrix: there are no analytic derivatives on JAX, but of"
    ):
        arm.jax.mass_matrix(inputs[0], derivatives="analytic")
    with pytest.raises(px.PhalanxError, match=r"unknown derivatives 'exact'"):
        arm.jax.mass_matrix(inputs[0], derivatives="exact")
