# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives by JAX against differences, for states and for inertial parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.sampling import agree

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

TREE = px.tree(6, 0.5, seed=4, joints=("revolute", "spherical", "prismatic", "helical", "universal"))
CHAIN = px.chain(5)


def central(f: Any, x: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The derivative of f along a direction by the five-point rule."""
    h = 1e-3
    near, far = (np.asarray(f(x + k * h * direction)) - np.asarray(f(x - k * h * direction)) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * h)


@pytest.mark.parametrize(
    ("robot", "schedule", "function"),
    [
        (TREE, "sequential", "inverse_dynamics"),
        (TREE, "sequential", "forward_dynamics"),
        (TREE, "doubling", "inverse_dynamics"),
        (CHAIN, "doubling", "forward_dynamics"),
    ],
    ids=str,
)
def test_gradients_of_states_equal_differences(robot: px.Robot, schedule: str, function: str) -> None:
    q, qd, qdd = robot.random_state((), rng=2)
    rng = np.random.default_rng(3)
    weight = rng.standard_normal(robot.nv)
    inputs = np.concatenate([q, qd, qdd])

    def value(x: Any, owner: Any = robot.jax, **more: Any) -> Any:
        parts = x[: robot.nq], x[robot.nq : robot.nq + robot.nv], x[robot.nq + robot.nv :]
        return getattr(owner, function)(*parts, **more) @ weight

    gradient = jax.jit(jax.grad(lambda x: value(x, schedule=schedule)))(inputs)
    direction = rng.standard_normal(len(inputs)) / 10.0
    wanted = central(lambda x: value(x, robot, backend="numpy"), inputs, direction)
    agree(np.asarray(gradient @ direction), wanted, 1e-7)


def test_forward_and_reverse_mode_agree() -> None:
    q, qd, tau = CHAIN.random_state((), rng=5)
    f = jax.jit(lambda q: CHAIN.jax.forward_dynamics(q, qd, tau))
    agree(np.asarray(jax.jacfwd(f)(q)), np.asarray(jax.jacrev(f)(q)), 1e-9)


def test_the_derivative_by_acceleration_is_the_mass_matrix() -> None:
    q, qd, qdd = TREE.random_state((), rng=6)
    jacobian = jax.jacfwd(TREE.jax.inverse_dynamics, argnums=2)(q, qd, qdd)
    agree(np.asarray(jacobian), TREE.mass_matrix(q, backend="numpy"), 1e-12)


def test_the_gradient_of_potential_energy_is_the_gravity_force() -> None:
    q, _, _ = CHAIN.random_state((), rng=7)
    gradient = jax.grad(CHAIN.jax.potential_energy)(q)
    agree(np.asarray(gradient), CHAIN.gravity_forces(q, backend="numpy"), 1e-12)


def test_parameters_of_the_robot_change_nothing() -> None:
    robot = TREE.replace(armature=0.1, gravity=(0.5, -1.0, -9.0))
    q, qd, qdd = robot.random_state(2, rng=8)
    parameters = robot.jax.parameters()
    for function in ("inverse_dynamics", "forward_dynamics"):
        result = getattr(robot.jax, function)(q, qd, qdd, parameters=parameters)
        agree(np.asarray(result), getattr(robot, function)(q, qd, qdd, backend="numpy"), 1e-9)


def test_armature_of_a_floating_base_is_a_parameter_too() -> None:
    robot = px.chain(2).with_floating_base()
    rotors = np.linspace(0.1, 0.8, robot.nv)
    q, qd, qdd = robot.random_state(2, rng=8)
    for function in ("inverse_dynamics", "forward_dynamics"):
        result = getattr(robot.jax, function)(q, qd, qdd, parameters={"armature": rotors})
        wanted = getattr(robot.replace(armature=rotors), function)(q, qd, qdd, backend="numpy")
        agree(np.asarray(result), wanted, 1e-11)


def test_inverse_dynamics_is_linear_in_the_parameters() -> None:
    q, qd, qdd = TREE.random_state((), rng=9)
    own = TREE.jax.parameters()
    inertial = {name: own[name] for name in ("mass", "first_moment", "inertia")}

    def tau(parameters: Any) -> Any:
        return TREE.jax.inverse_dynamics(q, qd, qdd, parameters=parameters)

    _, change = jax.jvp(tau, (inertial,), (inertial,))
    agree(np.asarray(change), TREE.inverse_dynamics(q, qd, qdd, backend="numpy"), 1e-11)


def test_a_payload_is_a_change_of_parameters() -> None:
    loaded = CHAIN.with_payload(CHAIN.link_names[-1], 2.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.25]))
    parameters = loaded.jax.parameters()
    q, qd, tau = CHAIN.random_state((), rng=1)
    result = CHAIN.jax.forward_dynamics(q, qd, tau, parameters=parameters)
    agree(np.asarray(result), loaded.forward_dynamics(q, qd, tau, backend="numpy"), 1e-10)


def test_gradients_of_masses_and_gravity_equal_differences() -> None:
    q, qd, tau = TREE.random_state((), rng=10)
    own = TREE.jax.parameters()

    @jax.jit
    def value(mass: Any, gravity: Any) -> Any:
        parameters = {"mass": mass, "gravity": gravity}
        return TREE.jax.forward_dynamics(q, qd, tau, parameters=parameters).sum()

    by_mass, by_gravity = jax.grad(value, argnums=(0, 1))(own["mass"], own["gravity"])
    mass, gravity = np.asarray(own["mass"]), np.asarray(own["gravity"])
    agree(by_mass @ mass, central(lambda m: value(m, gravity), mass, mass), 1e-7)
    agree(by_gravity @ gravity, central(lambda g: value(mass, g), gravity, gravity), 1e-7)


def test_vmap_over_parameters_serves_many_robots() -> None:
    q, qd, qdd = CHAIN.random_state((), rng=11)
    mass = jnp.stack([CHAIN.jax.parameters()["mass"] * scale for scale in (1.0, 2.0)])
    results = jax.vmap(lambda m: CHAIN.jax.inverse_dynamics(q, qd, qdd, parameters={"mass": m}))(mass)
    agree(np.asarray(results[0]), CHAIN.inverse_dynamics(q, qd, qdd, backend="numpy"), 1e-12)
    assert not np.allclose(results[0], results[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"masses": np.ones(5)}, "unknown parameter 'masses'; did you mean \"mass\""),
        ({"mass": np.ones(4)}, r"parameter mass has shape \(4,\), expected \(5,\)"),
        ({"mass": "heavy"}, r"parameter mass is 'heavy', expected real numbers of shape \(5,\)"),
        ([1.0], r"parameters is list, expected a mapping such as robot\.jax\.parameters\(\)"),
    ],
)
def test_wrong_parameters_are_named(parameters: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        CHAIN.jax.gravity_forces(np.zeros(5), parameters=parameters)


def test_classic_frames_know_no_other_parameters() -> None:
    state = CHAIN.random_state((), rng=1)
    with pytest.raises(
        px.PhalanxError, match=r'"lathrop" works in Denavit-Hartenberg frames.*; use "cartesian_tensor"'
    ):
        CHAIN.jax.inverse_dynamics(*state, algorithm="lathrop", parameters=CHAIN.jax.parameters())
