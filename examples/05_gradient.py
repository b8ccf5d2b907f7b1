# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass of a payload found from torques, by derivatives through inverse dynamics on JAX."""

import jax
import jax.numpy as jnp

import phalanx as px

jax.config.update("jax_enable_x64", True)
robot = px.load("two_link")
loaded = robot.with_payload(robot.link_names[-1], mass=0.7, com=(0.1, 0, 0), inertia=(0, 0, 0))

q, qd, qdd = robot.random_state(200, rng=0)
measured = loaded.inverse_dynamics(q, qd, qdd)
empty = robot.jax.parameters()


@jax.jit
def loss(mass: jax.Array) -> jax.Array:
    """Mean squared error of the torques with a point of this mass at (0.1, 0, 0) of the last link."""
    changed = {
        "mass": empty["mass"].at[-1].add(mass),
        "first_moment": empty["first_moment"].at[-1, 0].add(0.1 * mass),
        "inertia": empty["inertia"].at[-1].add(0.01 * mass * jnp.diag(jnp.array([0.0, 1.0, 1.0]))),
    }
    return jnp.mean((robot.jax.inverse_dynamics(q, qd, qdd, parameters=changed) - measured) ** 2)


mass = jnp.array(0.0)
for iteration in range(3):  # torques are linear in the mass, so Newton's method needs one step
    print(f"iteration {iteration}: {mass:.6f} kg, mean squared error {loss(mass):.1e} (N·m)²")
    mass -= jax.grad(loss)(mass) / jax.hessian(loss)(mass)
assert abs(mass - 0.7) < 1e-9
