# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sine and cosine on vectors: two units in the last place, everywhere a double can be."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from phalanx.backends.native import compile, gufunc, loop
from phalanx.backends.native.compile import _LEVELS, _NEEDS, Target, host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.passes.order import sincos_first

mpmath = pytest.importorskip("mpmath", reason="the reference for sine and cosine is mpmath")

KINDS = {"double": np.dtype(np.float64), "float": np.dtype(np.float32)}
LEVELS = ("host", *_LEVELS)


def level(name: str) -> Target:
    """The host or a lower level of it."""
    here = host()  # makes LLVM ready
    if name == "host":
        return here
    triple = compile.llvm.get_process_triple()
    if not triple.startswith(("x86_64", "amd64")):
        pytest.skip(f"{name} is a level of x86-64, this is {triple}")
    found = compile.llvm.get_host_cpu_features()
    if not all(found.get(n) for n in _NEEDS.get(name, ())):
        pytest.skip(f"this machine has no {name}")
    return Target(triple, *_LEVELS[name])


@cache
def turner(element: str, name: str, angles: int = 1) -> Any:
    """A gufunc from angles to their sines and then their cosines."""
    target = level(name)
    graph = Graph()
    given = [graph.input("q", k) for k in range(angles)]
    results = [*(x.sin() for x in given), *(x.cos() for x in given)]
    program = sincos_first(straight({"q": (angles,)}, {"out": (len(results),)}, results))
    block, declarations, _ = block_function(program, target, element)
    text = loop.module_text(block, declarations, [(angles,), (2 * angles,)], element, target)
    loaded = compile.load(compile.object_code(text, target))
    loops = [(KINDS[element], loaded.loop)]
    made, needs = gufunc.make_gufunc("turn", "", f"({angles})->({2 * angles})", (1, 1), loops)
    return lambda x: (made(x), loaded, needs)[0]


def turn(element: str, name: str, x: np.ndarray) -> np.ndarray:
    """Sine and cosine (…, 2) of numbers."""
    result: np.ndarray = turner(element, name)(np.asarray(x, KINDS[element])[:, None])
    return result


def worst(x: np.ndarray, found: np.ndarray, bits: int = 160) -> float:
    """The largest error of sines and cosines in units of the last place of the exact value."""
    errors = []
    with mpmath.workprec(bits):
        for a, pair in zip(x.tolist(), found, strict=True):
            for value, exact in zip(pair, mpmath.cos_sin(mpmath.mpf(a))[::-1], strict=True):
                unit = np.spacing(abs(found.dtype.type(float(exact))))
                errors.append(abs(float(mpmath.mpf(float(value)) - exact)) / float(unit))
    return max(errors)


def neighbours(x: np.ndarray, steps: int = 3) -> np.ndarray:
    """Numbers and the next few on both sides."""
    found = [x]
    for direction in (np.inf, -np.inf):
        y = x
        for _ in range(steps):
            y = np.nextafter(y, y.dtype.type(direction))
            found.append(y)
    return np.concatenate(found)


def arguments(element: str, rng: np.random.Generator) -> np.ndarray:
    """Ordinary numbers below 1e5, all magnitudes, and neighbours of multiples of pi/2 and pi/4."""
    dtype = KINDS[element]
    quarter = np.concatenate([np.arange(64), rng.integers(64, 127_000, 300)]) * (np.pi / 4)
    x = np.concatenate(
        [
            rng.uniform(-np.pi, np.pi, 1500),
            rng.uniform(-1e5, 1e5, 1500),
            10.0 ** rng.uniform(-30, 5, 500),
            neighbours(quarter.astype(dtype)),
            neighbours(-quarter[:100].astype(dtype)),
            [1e5, -1e5, np.nextafter(1e5, 0.0)],
        ]
    )
    x = x.astype(dtype)
    return x[np.abs(x) <= 1e5]


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("element", KINDS)
def test_the_error_is_within_two_units_below_1e5(element: str, name: str) -> None:
    x = arguments(element, np.random.default_rng(1))
    assert worst(x, turn(element, name, x)) <= 2.0


@pytest.mark.parametrize("name", ["host", "sse2"])
@pytest.mark.parametrize("element", KINDS)
def test_the_multiples_of_a_quarter_turn_that_come_closest_are_right(element: str, name: str) -> None:
    # Among the numbers below 1e5 those whose distance to a multiple of pi/2 is least.
    dtype = KINDS[element]
    n = np.arange(1, 63_662)
    wide = np.longdouble(n) * (np.longdouble(np.pi / 2) + np.longdouble(6.123233995736766e-17))
    x = wide.astype(dtype)
    close = np.argsort(np.abs(x.astype(np.longdouble) - wide))[:300]
    assert worst(x[close], turn(element, name, x[close])) <= 2.0


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("element", KINDS)
def test_tiny_numbers_and_zeros_are_their_own_sines(element: str, name: str) -> None:
    dtype = KINDS[element]
    info = np.finfo(dtype)
    tiny = np.array([0.0, -0.0, info.smallest_subnormal, info.tiny, info.tiny / 3, 1e-20, -1e-30], dtype)
    found = turn(element, name, tiny)
    np.testing.assert_array_equal(found[:, 0], tiny)
    np.testing.assert_array_equal(found[:, 1], 1.0)


@pytest.mark.parametrize("name", ["host", "sse2"])
@pytest.mark.parametrize("element", KINDS)
def test_large_numbers_are_right(element: str, name: str) -> None:
    rng = np.random.default_rng(2)
    top = 300.0 if element == "double" else 38.0
    x = np.concatenate(
        [
            10.0 ** rng.uniform(5, top, 200),
            -(10.0 ** rng.uniform(5, top, 50)),
            [np.nextafter(1e5, np.inf), 1.1e5, 1e6, 2.0**60, np.finfo(KINDS[element]).max],
        ]
    ).astype(KINDS[element])
    assert worst(x, turn(element, name, x), bits=1300) <= 2.0


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("element", KINDS)
def test_infinities_and_nan_have_no_sine(element: str, name: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, -np.nan], KINDS[element])
    with np.errstate(all="raise"):
        assert np.isnan(turn(element, name, x)).all()


@pytest.mark.parametrize("element", KINDS)
def test_the_sine_is_odd_and_the_cosine_even_to_the_bit(element: str) -> None:
    x = arguments(element, np.random.default_rng(4))
    plus, minus = turn(element, "host", x), turn(element, "host", -x)
    np.testing.assert_array_equal(plus[:, 0], -minus[:, 0])
    np.testing.assert_array_equal(plus[:, 1], minus[:, 1])


@pytest.mark.parametrize("bad", [1e200, -1e6, np.inf, np.nan])
@pytest.mark.parametrize("element", KINDS)
def test_a_large_number_changes_no_bit_of_its_neighbours(element: str, bad: float) -> None:
    # Three angles for each state: the C library may step in for one angle of one lane.
    dtype = KINDS[element]
    made = turner(element, "host", 3)
    x = np.random.default_rng(5).uniform(-100.0, 100.0, (37, 3)).astype(dtype)
    wanted = made(x)
    with np.errstate(over="ignore"):
        bad = dtype.type(bad)
    for row, column in ((0, 0), (5, 1), (17, 2), (36, 1)):
        broken = x.copy()
        broken[row, column] = bad
        found = made(broken)
        touched = np.zeros_like(found, dtype=bool)
        touched[row, [column, 3 + column]] = True
        np.testing.assert_array_equal(found[~touched], wanted[~touched])
        # Sine and cosine of the large number are those of the same number alone.
        np.testing.assert_array_equal(found[touched], turn(element, "host", np.array([bad]))[0])


@pytest.mark.parametrize("name", LEVELS)
def test_levels_with_the_same_multiply_add_agree_in_bits(name: str) -> None:
    if not level(name).fma or not host().fma:
        pytest.skip(f"{name} or this machine rounds twice")
    x = arguments("double", np.random.default_rng(6))
    np.testing.assert_array_equal(turn("double", name, x), turn("double", "host", x))
