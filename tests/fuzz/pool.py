# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What all calls draw from: some robots, states that are nearly right, values that are not."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import phalanx as px
from phalanx.algorithms import FUNCTIONS

from .values import anything, numbers, shape

ALL = [
    *("revolute", "continuous", "prismatic", "helical", "universal", "planar", "spherical", "floating"),
    "fixed",
]
NAMES = [a.name for f in FUNCTIONS for a in px.algorithms(f)]


@cache
def robots() -> list[px.Robot]:
    """Few robots, so that few kernels are compiled: those of the first two only."""
    coupled = px.load(_COUPLED)
    mixed = px.tree(4, seed=3, joints=("revolute", "universal", "spherical", "helical"))
    arm = px.load("puma560")
    still = arm.fix(dict.fromkeys(arm.joint_names, 0.0))
    every = px.tree(10, seed=1, joints=ALL)
    return [px.load("two_link"), mixed, arm, coupled, arm.with_floating_base(), still, every, px.chain(30)]


_COUPLED = """<robot name="coupled"><link name="a"/>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/><mimic joint="j"/></joint></robot>"""


def a_robot(rng: Random) -> px.Robot:
    return rng.choice(robots())


def near(rng: Random, value: Any, odds: float = 0.2) -> Any:
    """A value, or now and then anything else."""
    return anything(rng) if rng.random() < odds else value


def state(rng: Random, sizes: tuple[int, ...], batch: tuple[int, ...]) -> Any:
    """An input: mostly of the right shape, of any type and layout, sometimes a list."""
    draw = rng.random()
    if draw < 0.1:
        return anything(rng)
    if draw < 0.18:
        return numbers(rng, shape(rng))
    own = batch if rng.random() < 0.8 else rng.choice(((), (1,), (2,), (3, 1), (0,)))
    dtype = rng.choice(("f8", "f8", "f8", "f4", "i8", None))
    made = numbers(rng, (*own, *sizes), dtype)
    return made.tolist() if draw < 0.25 else made
