# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exponential, hyperbolic tangent, logarithm and arc tangent on vectors: two units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from phalanx.backends.native import compile, gufunc, loop
from phalanx.backends.native.compile import _LEVELS, _NEEDS, Target, host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.program.builder import Builder

mpmath = pytest.importorskip("mpmath", reason="the reference is mpmath")

KINDS = {"double": np.dtype(np.float64), "float": np.dtype(np.float32)}
LEVELS = ("host", *_LEVELS)
EXACT: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "tanh": mpmath.tanh,
    "log": mpmath.log,
    "arctan2": mpmath.atan2,
}
NUMPY: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "log": np.log,
    "arctan2": np.arctan2,
    "min": np.minimum,
    "max": np.maximum,
}
PAIRS = ("arctan2", "min", "max")


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
def ufunc(op: str, element: str, name: str, constant: float | None = None) -> Any:
    """A gufunc of an operation; the second operand may be a constant."""
    target = level(name)
    arity = 2 if op in PAIRS and constant is None else 1
    b = Builder({"x": (arity,)}, {"out": (1,)})
    operands = [*(b.load(b.inputs["x"], k) for k in range(arity)), *(() if constant is None else (constant,))]
    b.store(b.outputs["out"], 0, b.value(op, *operands))
    program = b.finished()
    block, declarations, _ = block_function(program, target, element)
    text = loop.module_text(block, declarations, [(arity,), (1,)], element, target)
    loaded = compile.load(compile.object_code(text, target))
    loops = [(KINDS[element], loaded.loop)]
    found, needs = gufunc.make_gufunc(op, "", f"({arity})->(1)", (1, 1), loops)
    return lambda x: (found(x)[:, 0], loaded, needs)[0]


def run(op: str, element: str, name: str, *x: np.ndarray) -> np.ndarray:
    found: np.ndarray = ufunc(op, element, name)(np.stack([np.asarray(a, KINDS[element]) for a in x], axis=1))
    return found


def worst(op: str, found: np.ndarray, *x: np.ndarray) -> tuple[float, Any]:
    """The largest error in units of the last place of the exact value, and where."""
    most, at = 0.0, None
    with mpmath.workprec(200):
        for value, args in zip(found, zip(*(a.tolist() for a in x), strict=True), strict=True):
            exact = EXACT[op](*map(mpmath.mpf, args))
            unit = np.spacing(abs(found.dtype.type(float(exact))))
            error = abs(float((mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(unit))))
            if not error <= most:
                most, at = error, args
    return most, at


def neighbours(x: np.ndarray, steps: int = 3) -> np.ndarray:
    """Numbers and the next few on both sides."""
    found = [x]
    for direction in (np.inf, -np.inf):
        y = x
        for _ in range(steps):
            y = np.nextafter(y, y.dtype.type(direction))
            found.append(y)
    return np.concatenate(found)


def arguments(op: str, element: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Ordinary numbers, all magnitudes, and neighbours of where the way to compute them changes."""
    dtype, info = KINDS[element], np.finfo(KINDS[element])
    low, high = float(np.log10(info.smallest_subnormal)) + 0.1, float(np.log10(info.max)) - 0.01
    every = 10.0 ** rng.uniform(low, high, 1500)
    sign = rng.choice([-1.0, 1.0], 1500)
    if op == "exp":
        ends = (-745.13, 709.78) if element == "double" else (-103.9, 88.72)
        halves = (np.arange(-1074, 1024, 7) + 0.5) * np.log(2.0)
        x = np.concatenate([rng.uniform(*ends, 2500), rng.uniform(-1, 1, 1500), halves])
        x = np.concatenate([x, sign * 10.0 ** rng.uniform(low, 0, 1500)])
        x = x[(x > ends[0]) & (x < ends[1])]
        x = np.concatenate([x.astype(dtype), neighbours(np.array(ends, dtype))])
        return (x[np.isfinite(np.exp(x.astype(np.longdouble)).astype(dtype))],)
    if op == "tanh":
        x = np.concatenate([rng.uniform(-1.5, 1.5, 3000), rng.uniform(-25, 25, 1500), sign * every])
        return (np.concatenate([x.astype(dtype), neighbours(np.array([0.7, 0.5, 10, 20], dtype))]),)
    if op == "log":
        x = np.concatenate([rng.uniform(0.5, 2, 3000), 1 + sign * 10.0 ** rng.uniform(-16, -1, 1500), every])
        powers = 2.0 ** np.arange(-126, 127, 5)
        return (np.concatenate([x, powers, powers * np.sqrt(0.5), [info.max, info.tiny]]).astype(dtype),)
    angle = rng.uniform(-np.pi, np.pi, 3000)
    y = np.concatenate([np.sin(angle), sign * every, rng.uniform(-1, 1, 300)])
    with np.errstate(over="ignore"):
        x = np.concatenate([np.cos(angle), sign * every * 10.0 ** rng.uniform(-9, 9, 1500), np.zeros(300)])
        y, x = y.astype(dtype), x.astype(dtype)
    y = np.concatenate([y, neighbours(np.full(2, np.sqrt(2) - 1, dtype)), y[:50], y[:50]])
    x = np.concatenate([x, np.ones(14, dtype), y[:50], -y[:50]])
    finite = np.isfinite(x) & (np.abs(y) / np.maximum(np.abs(x), info.tiny) > info.tiny)
    return y[finite], x[finite]


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("element", KINDS)
@pytest.mark.parametrize("op", EXACT)
def test_the_error_is_within_two_units(op: str, element: str, name: str) -> None:
    x = arguments(op, element, np.random.default_rng(1))
    most, at = worst(op, run(op, element, name, *x), *x)
    assert most <= 2.0, at


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("element", KINDS)
@pytest.mark.parametrize("op", EXACT)
def test_infinities_zeros_and_nan_give_what_numpy_gives(op: str, element: str, name: str) -> None:
    dtype, info = KINDS[element], np.finfo(KINDS[element])
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.max, -info.max, info.tiny, -info.tiny]
    special += [info.smallest_subnormal, 1e4, -1e4, 800.0, -800.0]
    x = np.array(special, dtype)
    args = (x,) if op not in PAIRS else tuple(np.meshgrid(x, x)[k].ravel() for k in range(2))
    with np.errstate(all="ignore"):
        wanted = NUMPY[op](*args)
    found = run(op, element, name, *args)
    np.testing.assert_allclose(found, wanted, rtol=4.0 * info.eps, atol=info.smallest_subnormal)
    np.testing.assert_array_equal(np.signbit(found[found == 0.0]), np.signbit(wanted[found == 0.0]))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))


@pytest.mark.parametrize("element", KINDS)
@pytest.mark.parametrize("op", ["tanh", "arctan2"])
def test_odd_functions_are_odd_to_the_bit(op: str, element: str) -> None:
    first, *others = arguments(op, element, np.random.default_rng(4))
    same = run(op, element, "host", first, *others), run(op, element, "host", -first, *others)
    np.testing.assert_array_equal(same[0], -same[1])


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("op", EXACT)
def test_levels_with_the_same_multiply_add_agree_in_bits(op: str, name: str) -> None:
    if not level(name).fma or not host().fma:
        pytest.skip(f"{name} or this machine rounds twice")
    x = arguments(op, "double", np.random.default_rng(6))
    np.testing.assert_array_equal(run(op, "double", name, *x), run(op, "double", "host", *x))


@pytest.mark.parametrize("element", KINDS)
def test_the_exponential_grows(element: str) -> None:
    x = np.sort(arguments("exp", element, np.random.default_rng(8))[0])
    found = run("exp", element, "host", x)
    assert (np.diff(found) >= -np.spacing(found[1:])).all()
    y = run("tanh", element, "host", x)
    assert (np.abs(y) <= 1.0).all()


@pytest.mark.parametrize("constant", [0.0, 1.5, -2.0])
@pytest.mark.parametrize("op", ["min", "max"])
def test_a_constant_limit_keeps_nan_and_the_sign_of_zeros(op: str, constant: float) -> None:
    x = np.array([0.0, -0.0, 1.5, -2.0, 7.0, -7.0, np.inf, -np.inf, np.nan])
    found = ufunc(op, "double", "host", constant)(x[:, None])
    other = run(op, "double", "host", x, np.full_like(x, constant))
    np.testing.assert_array_equal(found, NUMPY[op](x, constant))
    np.testing.assert_array_equal(found, other)
    np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(other[:-1]))
