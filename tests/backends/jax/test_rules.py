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
        return px.load("panda", mimic="coupled")
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
