# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Elementary functions as steps of arithmetic, without multiply-adds: two units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phalanx.program.elementary import LARGEST, SINCOS_CONSTANTS
from phalanx.program.ops import ARCTAN2, COS, EXP, LOG, SIN, TANH
from reference.lanes import RULES

mpmath = pytest.importorskip("mpmath", reason="the reference is mpmath")

EXACT: dict[str, Callable[..., Any]] = {
    SIN: mpmath.sin,
    COS: mpmath.cos,
    EXP: mpmath.exp,
    TANH: mpmath.tanh,
    LOG: mpmath.log,
    ARCTAN2: mpmath.atan2,
}
NUMPY: dict[str, Callable[..., Any]] = {
    EXP: np.exp,
    TANH: np.tanh,
    LOG: np.log,
    ARCTAN2: np.arctan2,
}


def arguments(op: str, dtype: Any) -> list[np.ndarray]:
    """Random arguments over many magnitudes, within the range of a function; two rows of some."""
    rng = np.random.default_rng(3)
    largest = {SIN: LARGEST, COS: LARGEST, EXP: 80.0, LOG: 1e30}.get(op, 1e3)
    rows = []
    for _ in range(2 if op == ARCTAN2 else 1):
        x = largest * 10.0 ** rng.uniform(-12, 0, 300) * (1 if op == LOG else rng.choice([-1, 1], 300))
        rows.append(x.astype(dtype))
    return rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", EXACT)
def test_two_units_in_the_last_place(op: str, dtype: Any) -> None:
    given = arguments(op, dtype)
    found = RULES[op](*given)
    assert found.dtype == dtype
    with mpmath.workprec(200):
        for value, *args in zip(found, *given, strict=True):
            exact = EXACT[op](*(mpmath.mpf(float(a)) for a in args))
            error = abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(
                float(np.spacing(np.abs(dtype(exact))))
            )
            assert error <= 2, (op, args, float(error))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", NUMPY)
def test_special_values_are_those_of_numpy(op: str, dtype: Any) -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    given = np.meshgrid(special, special) if op == ARCTAN2 else [special]
    with np.errstate(all="ignore"):
        wanted = NUMPY[op](*(x.ravel() for x in given))
    found = RULES[op](*(x.ravel().copy() for x in given))
    np.testing.assert_allclose(found, wanted, rtol=2.0 * np.finfo(dtype).eps)  # of pi / 2 and the like
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize("element", SINCOS_CONSTANTS)
def test_the_parts_of_a_quarter_turn_add_up(element: str) -> None:
    with mpmath.workprec(300):
        for parts in (SINCOS_CONSTANTS[element].parts, SINCOS_CONSTANTS[element].split):
            rest = abs(mpmath.fsum(map(mpmath.mpf, parts)) - mpmath.pi / 2)
            assert rest < 2.0 ** (-70 if element == "float" else -140)
