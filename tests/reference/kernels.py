# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots, arguments and memory layouts that the tests of compiled kernels share."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS

from .sampling import MOVING_TYPES

TESTS = Path(__file__).parents[1]


@cache
def robot(name: str) -> px.Robot:
    """A robot of the tests by name, made once so that its kernels are shared."""
    if name == "mixed":  # every joint type once, on three branches
        mixed = px.tree(8, 0.6, seed=5, joints=MOVING_TYPES)
        return mixed.replace(armature=np.full(mixed.nv, 0.2))
    if name == "floating":
        return px.tree(4, 0.5, seed=1, joints=("revolute", "prismatic")).with_floating_base()
    return px.load(name)


ROBOTS = ("ur5", "panda", "mixed", "floating")


def covered(*names: str) -> list[tuple[str, str, str]]:
    """Robot, function and algorithm wherever the algorithm covers the robot."""
    return [
        (name, function, entry.name)
        for name in names
        for function, known in ALGORITHMS.items()
        for entry in known.values()
        if not entry.refusal(robot(name))
    ]


def frame_of(function: str, r: px.Robot) -> dict[str, str]:
    """The keyword for a function that is asked for one frame."""
    names = r.link_names if FUNCTIONS[function].full_rank else r.frame_names
    return {"frame": names[-1]} if FUNCTIONS[function].frame else {}


def kernel(name: str, function: str, dtype: Any = "float64") -> Any:
    """The kernel of a function of one of the robots."""
    r = robot(name)
    return r.kernel(function, dtype=dtype, **frame_of(function, r))


def arguments(
    r: px.Robot, function: str, batch: Any = (), dtype: Any = "float64", seed: int = 0
) -> list[np.ndarray]:
    """Random inputs of a function, C-contiguous."""
    q, qd, qdd = r.random_state(batch, rng=seed)
    known = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    return [np.ascontiguousarray(known[name], dtype=dtype) for name in FUNCTIONS[function].inputs]


def reference(r: px.Robot, function: str, inputs: Any, **more: Any) -> Any:
    """What the NumPy backend gives."""
    return getattr(r, function)(*inputs, **frame_of(function, r), **more, backend="numpy")


def same_bits(actual: Any, expected: Any) -> None:
    """Raise unless shapes, dtypes and all bits but the payload of NaN agree."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


def in_fresh_interpreter(code: str, **environment: str) -> str:
    """What `code` prints in a Python of its own, where the folder `tests` can be imported from."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()
