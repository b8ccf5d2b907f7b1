# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine and cosine of large arguments without a C library: two units in the last place everywhere."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from phalanx.backends.native import compile
from phalanx.backends.native.freestanding import far_text

mpmath = pytest.importorskip("mpmath", reason="the reference for sine and cosine is mpmath")

KINDS: dict[str, Any] = {"double": np.float64, "float": np.float32}


@cache
def functions(element: str) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Sine and cosine of machine code for this machine."""
    suffix, text = "" if element == "double" else "f", far_text(element) + "attributes #0 = { nounwind }"
    for name in ("sin", "cos"):
        text += f"""
define {element} @my_{name}({element} %x) {{
  %y = call {element} @{name}{suffix}({element} %x)
  ret {element} %y
}}"""
    loaded = compile.load(compile.object_code(text, compile.host()), ("my_sin", "my_cos"))
    kind = ctypes.c_double if element == "double" else ctypes.c_float
    made = [ctypes.CFUNCTYPE(kind, kind)(loaded.addresses[f"my_{name}"]) for name in ("sin", "cos")]
    return tuple(lambda x, f=f, keep=loaded: f(x) for f in made)  # type: ignore[return-value,misc]


def worst(element: str, numbers: np.ndarray) -> float:
    """The largest error of sine and cosine in units in the last place."""
    kind, found = KINDS[element], 0.0
    with mpmath.workprec(1300):
        for x in numbers.astype(kind):
            for got, exact in zip(functions(element), (mpmath.sin, mpmath.cos), strict=True):
                wanted = exact(mpmath.mpf(float(x)))
                unit = float(np.spacing(kind(abs(float(wanted)))))
                found = max(found, float(abs(mpmath.mpf(got(float(x))) - wanted)) / unit)
    return found


@pytest.mark.parametrize("element", KINDS)
def test_two_units_in_the_last_place_up_to_the_largest_number(element: str) -> None:
    rng, largest = np.random.default_rng(1), np.finfo(KINDS[element]).max
    sizes = 2.0 ** rng.uniform(math.log2(1e5), math.log2(float(largest)), 1500)
    numbers = np.concatenate([sizes * rng.choice([-1.0, 1.0], sizes.size), [float(largest), 100000.01, 1e22]])
    assert worst(element, numbers) < 2.0


@pytest.mark.parametrize("element", KINDS)
def test_two_units_in_the_last_place_beside_multiples_of_a_quarter_turn(element: str) -> None:
    rng = np.random.default_rng(2)
    quarters = np.floor(2.0 ** rng.uniform(17, 60 if element == "double" else 40, 800))
    with mpmath.workprec(200):
        near = [float(mpmath.mpf(n) * mpmath.pi / 2) for n in quarters]
    # The doubles and single-precision numbers that come closest of all.
    hardest = [math.ldexp(6381956970095103.0, 797)] if element == "double" else [math.ldexp(16367173.0, 72)]
    assert worst(element, np.array(near + hardest)) < 2.0


@pytest.mark.parametrize("element", KINDS)
def test_signs_and_what_is_no_number(element: str) -> None:
    sine, cosine = functions(element)
    for x in (3e5, 1e10, 1e30):
        assert sine(-x) == -sine(x)
        assert cosine(-x) == cosine(x)
    for x in (math.inf, -math.inf, math.nan):
        assert math.isnan(sine(x))
        assert math.isnan(cosine(x))
