# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels for this machine without fused multiply-adds: what machines without them must agree with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.backends.native import compile, loop, objects
from phalanx.backends.native.compile import _LEVELS, Target, host
from phalanx.dispatch import resolve


def unfused(robot: Any, function: str, inputs: list[np.ndarray], frame: str | None = None) -> np.ndarray:
    """The result of a function for rows of states, product and sum rounded each."""
    triple = host().triple
    if not triple.startswith(("x86_64", "amd64")):
        pytest.skip(f"kernels without fused multiply-adds are compiled for x86-64, this is {triple}")
    call, dtype = resolve(robot, function, "auto", frame), inputs[0].dtype
    target = Target(triple, *_LEVELS["sse2"])
    loaded = compile.load(compile.object_code(loop.module(call, (), dtype, target), target))
    shapes = call.shapes(())
    direct = objects.array_function(loaded, function, dtype, shapes, 1, 0, loaded)
    out = np.full((len(inputs[0]), *shapes[-1]), np.nan, dtype)
    assert direct(*inputs, out)
    return out
