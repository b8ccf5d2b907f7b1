# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Hostile products with derivatives: jvp, vjp, hvp and derivatives of every function, on any array."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import numpy as np

import phalanx as px
from phalanx.algorithms import FUNCTIONS

from .pool import NAMES, state
from .values import anything, numbers

# Few functions are compiled, so that portions of cases share their kernels.
COMPILED = ("inverse_dynamics", "gravity_forces", "kinetic_energy", "frame_velocity")
DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


@cache
def robots() -> list[px.Robot]:
    arm = px.load("two_link")
    still = arm.fix(dict.fromkeys(arm.joint_names, 0.0))
    mixed = px.tree(2, seed=3, joints=("universal", "helical"))
    ball = px.tree(1, seed=2, joints=("spherical",))
    return [arm, px.chain(1), still, mixed, ball, px.chain(1).with_floating_base()]


def near(rng: Random, *values: Any, odds: float = 0.06) -> Any:
    return anything(rng) if rng.random() < odds else rng.choice(values)


def product(seed: int) -> None:
    """One product from a seed."""
    rng = Random(f"product {seed}")
    robot = rng.choice(robots())
    native = robot is robots()[0] and rng.random() < 0.5
    function = rng.choice(COMPILED if native else tuple(FUNCTIONS))
    if rng.random() < 0.15:
        function = rng.choice(DERIVATIVES)
        _derivatives(rng, robot, function, native)
        return
    f = FUNCTIONS[function]
    batch = rng.choice(((), (), (1,), (3,), (2, 2), (0,)))
    more: dict[str, Any] = {"backend": near(rng, *(("auto", "native") if native else ("numpy",)), odds=0.02)}
    if f.frame or rng.random() < 0.02:
        more["frame"] = near(rng, *robot.frame_names, odds=0.04)
    if rng.random() < 0.05:
        more["reference"] = near(rng, "world_aligned", "world", "local", "sideways", odds=0.2)
    if rng.random() < 0.08 and not native:
        known = [a.name for a in px.algorithms(function)]
        more["algorithm"] = near(rng, *known, rng.choice(NAMES), odds=0.1)
    if rng.random() < 0.06:
        more["external"] = _array(rng, (*batch, robot.n_links, 6))
    if rng.random() < 0.06:
        more["inertias"] = _array(rng, (*batch, robot.n_links, 10))
    if rng.random() < 0.05:
        more["threads"] = near(rng, 1, 2, odds=0.3)
    sizes = {"q": robot.nq, "v": robot.nv, "l": robot.n_links, "10l": 10 * robot.n_links}
    shaped = lambda symbols: tuple(sizes[s] if s in sizes else int(s) for s in symbols)  # noqa: E731
    inputs = [_array(rng, (*batch, *shaped(s))) for s in f.inputs.values()]
    tangents = [_array(rng, (*batch, robot.nv)) for _ in f.inputs]
    cotangent = _array(rng, (*batch, *shaped(next(iter(f.outputs.values())))))
    mode = rng.choice(("jvp", "vjp", "hvp"))
    if rng.random() < 0.12:
        more["out"] = _out(rng, mode, robot, batch, shaped(next(iter(f.outputs.values()))), len(inputs))
    name = near(rng, function, odds=0.02)
    groups = [near(rng, inputs, tuple(inputs), inputs[:-1], odds=0.02)]
    if mode == "jvp":
        groups.append(near(rng, tangents, tuple(tangents), odds=0.02))
    elif mode == "vjp":
        groups.append(cotangent)
    else:
        groups += [cotangent, near(rng, tangents, tuple(tangents), odds=0.02)]
    with np.errstate(all="ignore"):
        getattr(robot, mode)(name, *groups, **more)


def _out(
    rng: Random, mode: str, robot: px.Robot, batch: tuple[int, ...], result: tuple[int, ...], inputs: int
) -> Any:
    """Where results go: mostly right, some that overlap or are one number repeated."""
    if mode == "jvp":
        made = np.zeros((*batch, *result))
        flat = np.lib.stride_tricks.as_strided(np.zeros(1), made.shape, (0,) * made.ndim)
        return near(rng, made, flat, made.astype("f4"), made[::-1] if made.ndim else made, odds=0.2)
    several = tuple(np.zeros((*batch, robot.nv)) for _ in range(inputs))
    flat = np.lib.stride_tricks.as_strided(np.zeros(1), (*batch, robot.nv), (0,) * (len(batch) + 1))
    return near(rng, several, list(several), several[:1] * inputs, (flat,) * inputs, several[1:], odds=0.2)


def _derivatives(rng: Random, robot: px.Robot, function: str, native: bool) -> None:
    """Whole derivatives."""
    batch = rng.choice(((), (), (1,), (3,), (0,)))
    inputs = [_array(rng, (*batch, n)) for n in (robot.nq, robot.nv, robot.nv)]
    more: dict[str, Any] = {"backend": "auto" if native else "numpy"}
    if rng.random() < 0.3:
        more["value"] = near(rng, True, False)
    if rng.random() < 0.1:
        more["external"] = near(rng, _array(rng, (*batch, robot.n_links, 6)), {"x": np.zeros(6)})
    if rng.random() < 0.15:
        matrix = np.zeros((*batch, robot.nv, robot.nv))
        more["out"] = near(rng, (matrix, matrix.copy(), matrix.copy()), (matrix,) * 3, matrix, odds=0.2)
    with np.errstate(all="ignore"):
        found = getattr(robot, function)(*inputs, **more)
    if "out" not in more:
        assert found.dq.shape[-2:] == (robot.nv, robot.nv)


def _array(rng: Random, shape: tuple[int, ...]) -> Any:
    if rng.random() < 0.04:
        return state(rng, shape[-1:], shape[:-1])
    if rng.random() < 0.8:
        return np.full(shape, rng.uniform(-1, 1))
    return numbers(rng, shape, rng.choice(("f8", "f8", "f4", "i8")))
