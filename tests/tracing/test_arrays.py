# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Traced arrays: NumPy's own functions mean on them what they mean on floats; the rest is refused."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phalanx.errors import PhalanxError
from phalanx.program.builder import straight
from phalanx.program.graph import Graph, symbols
from phalanx.program.interpret import interpret, program_on_arrays
from phalanx.program.ir import Scalar
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import sincos_first
from phalanx.tracing.arrays import IN_PLACE, JOINED, NAMES, Traced, scalars_of
from phalanx.tracing.elementwise import MASKS, UFUNCS
from phalanx.tracing.vocabulary import MOVES, OWN, SUMS

A = np.arange(12.0).reshape(3, 4) / 7.0
B = np.array([0.3, -0.2, 0.9])


def filled_in_place(x: Any, y: Any, m: Any) -> Any:
    """An array that is made first and filled later, by slices and where conditions hold."""
    made = np.zeros((3, 3), like=x)
    made[0], made[1:, 1] = x, y[1:]
    made[made < 0.0] = -1.0
    made[x > 0.5] = B
    made[2] += y
    np.fill_diagonal(made, 2.0 * y)
    other = x.copy()
    np.copyto(other, y, where=x < 0.0)
    other.sort()
    last = x.copy()
    last.fill(0.5)
    return made + other + last


# x (3,) between -2 and 2, y (3,) between 0.1 and 0.9, m (3, 3).
CASES: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, m: x + y + 1.5 + B,
    "subtract": lambda x, y, m: 2 - x - B,
    "multiply": lambda x, y, m: 3 * x * y * B,
    "divide": lambda x, y, m: x / y / 4 + 1 / y,
    "negative": lambda x, y, m: -x,
    "positive": lambda x, y, m: +x,
    "square": lambda x, y, m: x**2 + np.square(y) + x**3 + x**0 + x**1,
    "power": lambda x, y, m: y**-2 + y**0.5 + y**1.7 + 2.0**x + y**x + np.power(x, 7),
    "reciprocal": lambda x, y, m: np.reciprocal(y),
    "abs": lambda x, y, m: abs(x) + np.abs(x) + np.fabs(x),
    "sign": lambda x, y, m: np.sign(x) + np.copysign(y, x) + np.heaviside(x, 0.5),
    "sin": lambda x, y, m: np.sin(x) + np.cos(x) + np.tan(y),
    "sqrt": lambda x, y, m: np.sqrt(y) + np.hypot(x, y),
    "exp": lambda x, y, m: np.exp(x) + np.exp2(x) + np.expm1(x),
    "log": lambda x, y, m: np.log(y) + np.log2(y) + np.log10(y),
    "logarithms of sums": lambda x, y, m: np.log1p(1e-9 * x) + np.log1p(y) + np.logaddexp(900.0 * x, y),
    "tanh": lambda x, y, m: np.tanh(x) + np.sinh(x) + np.cosh(x),
    "arctan": lambda x, y, m: np.arctan2(x, y) + np.arctan(x) + np.arcsin(y) + np.arccos(-y),
    "degrees": lambda x, y, m: np.deg2rad(x) + np.rad2deg(y) + np.radians(x) + np.degrees(y),
    "minimum": lambda x, y, m: np.minimum(x, y) + np.maximum(x, 0.0) + np.minimum(0.5, x),
    "clip": lambda x, y, m: (
        np.clip(x, -0.5, 0.5) + np.clip(x, None, y) + x.clip(-1, 1) + np.clip(x, -B, np.inf)
    ),
    "where": lambda x, y, m: (
        np.where(x > 0, x, y) + np.where(x >= y, 1.0, B) + np.where([True, False, True], x, 0)
    ),
    "comparisons": lambda x, y, m: np.where(x < y, 1, 0) + np.where(x <= 0, 2, 0) + np.where(x == x[0], 4, 0),
    "unequal": lambda x, y, m: np.where(x != y, x, 0.0) + np.where(x > 0, y, 0.0),
    "masks": lambda x, y, m: (
        np.where((x > 0) & (y > 0.5) | ~(x < 1), x, 0) + np.where((x > 0) ^ (y > 0.5), 1, 0)
    ),
    "logical": lambda x, y, m: np.where(
        np.logical_and(x > 0, np.logical_not(y > 0.5)) | np.logical_or(x < -1, x), 1.0, 0.0
    ),
    "masks as numbers": lambda x, y, m: (x > 0) * y + np.sum(x > 0) + (x > 0).astype(float),
    "any": lambda x, y, m: np.where(np.any(x > 1), x, -x) + np.where(np.all(y > 0), y, 0),
    "select": lambda x, y, m: np.select([x < -1, x < 0, x < 1], [x, y, 3.0], 4.0),
    "sum": lambda x, y, m: (
        np.sum(x) + m.sum(axis=0) + m.sum(axis=1, keepdims=True)[:, 0] + sum(x) + np.add.reduce(x)
    ),
    "mean": lambda x, y, m: np.mean(x) + m.mean(axis=1),
    "variance": lambda x, y, m: np.std(m, axis=0) + m.std() + np.var(x, ddof=1) + m.var(axis=1),
    "prod": lambda x, y, m: np.prod(y) + m.prod(axis=0) + np.multiply.reduce(x),
    "max": lambda x, y, m: np.max(x) + m.min(axis=0) + np.max(m, axis=(0, 1)) + np.maximum.reduce(x),
    "cumsum": lambda x, y, m: np.cumsum(x) + np.cumprod(y),
    "diff": lambda x, y, m: np.diff(x),
    "norm": lambda x, y, m: (
        np.linalg.norm(x) + np.linalg.norm(m, axis=1) + np.linalg.norm(m) + np.linalg.norm(x, 1)
    ),
    "largest norm": lambda x, y, m: np.linalg.norm(x, np.inf),
    "dot": lambda x, y, m: np.dot(x, y) + np.inner(x, B) + np.vdot(x, y) + x.dot(B) + x @ y,
    "matmul": lambda x, y, m: m @ x + x @ m + m.T @ y + A.T[:3] @ x + (m @ m) @ x,
    "batched matmul": lambda x, y, m: np.stack([m, m.T]) @ x[:, None],
    "outer": lambda x, y, m: np.outer(x, y) + np.multiply.outer(x, y) + np.kron(x, y).reshape(3, 3),
    "cross": lambda x, y, m: np.cross(x, y) + np.cross(B, x),
    "einsum": lambda x, y, m: np.einsum("ij,j->i", m, x) + np.einsum("i,i", x, y) + np.tensordot(m, x, 1),
    "trace": lambda x, y, m: np.trace(m) + np.diag(m) + m.diagonal(),
    "diagonal matrix": lambda x, y, m: np.diag(x) + np.tril(m) + np.triu(m),
    "concatenate": lambda x, y, m: np.concatenate([x, [1.0, 2.0], y]),
    "block": lambda x, y, m: np.block([[m, np.eye(3)], [np.zeros((2, 3)), m[:2]]]) + np.block([x, y]),
    "stack": lambda x, y, m: np.stack([x, y, B]) + np.vstack([x, y, B]) + np.column_stack([x, y, B]).T,
    "hstack": lambda x, y, m: np.hstack([x, 0.5, y[0]]) + np.append(x, [1.0, 2.0]),
    "array": lambda x, y, m: np.array([x[0], 0.0, y[1]]) * 2 + x,
    "array of rows": lambda x, y, m: np.array([x, y]) @ B,
    "functions of an array of values": lambda x, y, m: np.sin(np.array([x[0], y[1]])) * np.array([1.0, x[2]]),
    "reshape": lambda x, y, m: (
        m.reshape(9)[::2] + np.ravel(m)[:5] + m.ravel()[4:] + m.flatten()[0] + m.reshape(-1)[1]
    ),
    "transpose": lambda x, y, m: (
        m.T + m.transpose() + np.transpose(m) + np.swapaxes(m, 0, 1) + np.moveaxis(m, 0, 1)
    ),
    "transposed matrices": lambda x, y, m: np.matrix_transpose(m) + m.mT + np.linalg.multi_dot([m, m.T, x]),
    "copies": lambda x, y, m: copy.copy(x) + copy.deepcopy(y),
    "axes": lambda x, y, m: np.expand_dims(x, 0) + np.squeeze(x[None]) + np.atleast_2d(y) + x[None, :],
    "broadcast": lambda x, y, m: x[:, None] * y[None, :] + np.broadcast_to(x, (3, 3)) + np.tile(x, (3, 1)),
    "roll": lambda x, y, m: (
        np.roll(x, 1) + np.flip(y) + x[::-1] + np.take(x, [2, 0, 1]) + np.repeat(x[:1], 3)
    ),
    "split": lambda x, y, m: np.split(m, 3)[1][0] + np.array_split(x, 2)[0].sum(),
    "delete": lambda x, y, m: np.delete(x, 1) + np.insert(x[:1], 1, y[0]),
    "index": lambda x, y, m: (
        x[1] + y[[0, 2, 1]] + m[np.array([True, False, True])][1] + m[..., -1] + m[1, 1:][0]
    ),
    "iterate": lambda x, y, m: (
        np.stack([a * b for a, b in zip(x, y, strict=True)]) + len(x) + x.shape[0] + x.ndim
    ),
    "zeros_like": lambda x, y, m: np.zeros_like(x) + np.ones_like(y) + np.full_like(x, 2.5) + np.copy(x) * 0,
    "interp": lambda x, y, m: np.interp(x, [-1, 0, 1.5], [2.0, 0.0, 1.0]),
    "interp beyond": lambda x, y, m: np.interp(x, [-1, 0, 1.5], [2.0, 0.0, 1.0], left=-3.0, right=7.0),
    "polyval": lambda x, y, m: np.polyval([2.0, -1.0, 0.5], x),
    "solve": lambda x, y, m: np.linalg.solve(m, x) + np.linalg.inv(m) @ y,
    "cholesky": lambda x, y, m: np.linalg.cholesky(m @ m.T + np.eye(3)),
    "determinant": lambda x, y, m: np.linalg.det(m) + np.linalg.det(m[:2, 1:]),
    "solve with exchanges": lambda x, y, m: np.linalg.solve(m - np.diag(np.diag(m)), m),
    "floor": lambda x, y, m: np.floor(3.0 * x) + np.ceil(x) * 2.0 - np.floor(x / 0.3),
    "floor division": lambda x, y, m: x // 0.3 + 4.0 // y + x // y + np.floor_divide(x, -0.7),
    "modulo": lambda x, y, m: x % 0.3 + np.mod(x, -0.7) + 2.0 % y + np.remainder(m, 1.5)[0],
    "rounding": lambda x, y, m: (
        np.rint(2.0 * x) + np.trunc(x) + np.fix(y) + np.round(x, 2) + np.around(x, -1) + round(x[0], 1)
    ),
    "halves": lambda x, y, m: np.rint(np.floor(3.0 * x) + 0.5) + np.rint(0.5 * np.floor(9.0 * x)) + x.round(),
    "remainders": lambda x, y, m: np.fmod(x, 0.3) + np.fmod(x, -0.7) + divmod(x, 0.4)[0] + np.divmod(x, y)[1],
    "hyperbolic angles": lambda x, y, m: (
        np.arcsinh(x) + np.arccosh(1.0 + y) + np.arctanh(0.5 * x) + np.arcsinh(1e-9 * x)
    ),
    "fmin": lambda x, y, m: (
        np.fmin(x, y) + np.fmax(x, 0.0) + np.conjugate(x) + x.conj() + np.real(x) + x.real
    ),
    "products of rows": lambda x, y, m: (
        np.vecdot(m, x) + np.matvec(m, x) + np.vecmat(x, m) + np.linalg.vecdot(m, y)
    ),
    "accumulated": lambda x, y, m: (
        np.add.accumulate(x) + np.maximum.accumulate(x) + x.cumprod() + np.multiply.accumulate(m)[-1]
    ),
    "weights": lambda x, y, m: (
        np.average(m, axis=1, weights=y)
        + np.average(x)
        + np.average(m, weights=m**2)
        + np.ptp(x)
        + np.ptp(m, 0)
    ),
    "count": lambda x, y, m: np.count_nonzero(x > 0) + np.count_nonzero(m > 0, axis=0),
    "sorted": lambda x, y, m: (
        np.sort(x)
        + np.sort(m, axis=0)[1]
        + np.sort(m, axis=None)[3:6]
        + np.median(x)
        + np.median(m, axis=1)
        + np.median(np.append(x, y))
    ),
    "close": lambda x, y, m: (
        np.where(np.isclose(np.round(x), x, atol=0.2), 1.0, 0.0) + np.sinc(x) + np.sinc(0.0 * x)
    ),
    "trapezoids": lambda x, y, m: (
        np.trapezoid(m, dx=0.1) + np.trapezoid(x, np.cumsum(y)) + np.trapezoid(m, np.cumsum(y), axis=0)
    ),
    "linspace": lambda x, y, m: np.linspace(x, y, 4)[2] + np.linspace(0.0, x[0], 3, endpoint=False),
    "padded": lambda x, y, m: (
        np.pad(m, 1)[1:4, 2] + np.pad(x, (0, 2), "edge")[2:] + np.pad(x, 1, constant_values=2.0)[:3]
    ),
    "flipped": lambda x, y, m: (
        np.fliplr(m) + np.flipud(m) + np.rot90(m) + np.rollaxis(m, 1) + np.dstack([x, y, B])[0]
    ),
    "split rows": lambda x, y, m: (
        np.hsplit(m, 3)[0] + np.vsplit(m, 3)[1].T + np.unstack(m)[2] + np.dsplit(m[None], 3)[0][0]
    ),
    "meshes": lambda x, y, m: (
        np.meshgrid(x, y)[1] + np.broadcast_arrays(x, m)[0] + np.resize(x, (3, 3)) + np.atleast_3d(m)[..., 0]
    ),
    "more sums": lambda x, y, m: (
        np.convolve(x, y, "same") + np.ediff1d(np.append(x, 1.0)) + np.diagflat(x)[1]
    ),
    "linalg": lambda x, y, m: (
        np.linalg.cross(x, y)
        + np.linalg.outer(x, y)[0]
        + np.linalg.trace(m)
        + np.linalg.diagonal(m)
        + np.linalg.matmul(m, x)
        + np.linalg.tensordot(m, x, axes=1)
        + np.linalg.matrix_transpose(m)[0]
    ),
    "powers of matrices": lambda x, y, m: (
        np.linalg.matrix_power(m, 3)
        + np.linalg.matrix_power(m, 0)
        + np.linalg.matrix_power(m, -2) * np.linalg.det(m) ** 2
    ),
    "norms": lambda x, y, m: (
        np.linalg.norm(x, 3)
        + np.linalg.norm(m, 1)
        + np.linalg.norm(m, np.inf)
        + np.linalg.norm(m, -np.inf)
        + np.linalg.norm(m[None], axis=(1, 2))
        + np.linalg.norm(m[None])
        + np.linalg.norm(x, -np.inf)
        + np.linalg.norm(m, "fro", keepdims=True)[0, 0]
        + np.linalg.vector_norm(m, axis=0)[0]
        + np.linalg.matrix_norm(m)
    ),
    "logarithm of a determinant": lambda x, y, m: np.linalg.slogdet(m)[1] + np.linalg.slogdet(m).sign,
    "new arrays": lambda x, y, m: (
        np.zeros(3, like=x)
        + np.ones(3, like=x)
        + np.full(3, x[0], like=x)
        + np.eye(3, like=x)[0]
        + np.arange(3, like=x)
        + np.array([x[0], 1.0, y[2]], like=x)
        + np.asarray([1.0, 2.0, x[1]], like=x)
        + np.identity(3, like=x)[1]
        + np.empty(3, like=x) * 0.0
        + np.asanyarray(y, like=x)
        + np.ascontiguousarray(x, like=y)
    ),
    "filled": filled_in_place,
    "lists": lambda x, y, m: [1, 2, 3] * x + (1.0, 2.0, 3.0),
    "numpy scalars": lambda x, y, m: (
        np.float64(2.0) * x + np.float32(0.5) * y + np.int64(3) + np.array(2) * x
    ),
}


def given() -> tuple[Graph, list[Traced], np.ndarray]:
    """A graph with x, y and m, and numbers for them (states, 15)."""
    graph = Graph()
    whole = Traced(symbols(graph, "given", (15,)))
    rng = np.random.default_rng(5)
    numbers = np.concatenate(
        [rng.uniform(-2, 2, (20, 3)), rng.uniform(0.1, 0.9, (20, 3)), rng.normal(size=(20, 9))], axis=1
    )
    return graph, [whole[:3], whole[3:6], whole[6:].reshape(3, 3)], numbers


def evaluated(found: Any, numbers: np.ndarray) -> np.ndarray:
    scalars = scalars_of(found, None, "result")
    program = straight({"given": (15,)}, {"out": scalars.shape}, scalars.ravel().tolist())
    result: np.ndarray = program_on_arrays(program, {"given": numbers})
    return result


@pytest.mark.parametrize("name", CASES)
def test_numpy_means_on_traced_arrays_what_it_means_on_floats(name: str) -> None:
    _, symbols, numbers = given()
    found = CASES[name](*symbols)
    with np.errstate(all="ignore"):
        wanted = np.stack([CASES[name](s[:3], s[3:6], s[6:].reshape(3, 3)) for s in numbers])
        assert np.shape(found) == wanted.shape[1:]
        np.testing.assert_allclose(evaluated(found, numbers), wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_code_of_all_of_them_gives_the_bits_of_the_interpreter(dtype: Any) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from reference.compiled import compiled
    from reference.lanes import RULES

    _, symbols, numbers = given()
    results = [
        x for case in CASES.values() for x in scalars_of(case(*symbols), None, "result").ravel().tolist()
    ]
    program = straight({"given": (15,)}, {"out": (len(results),)}, results)
    built = sincos_first(fuse(program))
    numbers = numbers.astype(dtype)
    found = compiled(built, dtype, fma=False)(numbers)
    for row, out in zip(numbers[:4], found, strict=False):
        np.testing.assert_array_equal(out, interpret(built, {"given": row}, dtype, rules=RULES)["out"])


def test_the_cases_use_every_name_that_can_be_recorded() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    operators = {
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "positive",
        "power",
        "absolute",
        "matmul",
    }
    operators |= {"less", "greater", "less_equal", "greater_equal", "equal", "not_equal", "float_power"}
    operators |= {"logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "atleast_1d"}
    aliases = {"amin", "amax", "min", "empty_like", "diagonal"}
    missing = {name for name in NAMES if not re.search(rf"\.{name}\b", text)}
    assert missing - operators - aliases == set()
    assert len(NAMES) <= len({*UFUNCS, *MASKS, *OWN, *MOVES, *SUMS, *JOINED, *IN_PLACE})


def test_results_are_recorded_once_and_constants_fold() -> None:
    _, (x, y, _), _ = given()
    assert (np.sin(x) * y).scalars[0] is (y * np.sin(x)).scalars[0]
    assert (x * 0.0).scalars.tolist() == [0.0, 0.0, 0.0]
    assert type((np.zeros_like(x) + 2.0).scalars[0]) is float
    assert float(np.zeros_like(x)[0]) == 0.0
    assert not np.zeros_like(x)[0]


def test_copies_can_be_changed_and_what_is_derived_is_a_view() -> None:
    _, (x, y, _), _ = given()
    tau = np.zeros_like(x)
    tau[0] = x[1]
    tau[1:] = y[:2]
    tau += 1.0
    tau[:1] *= 2.0
    assert [n.op for n in tau.scalars] == ["mul", "add", "add"]
    view = tau[1:]
    view[0] = 7.0
    assert tau.scalars[1] == 7.0
    other = tau.copy()
    other[1] = 8.0
    assert tau.scalars[1] == 7.0
    tau[np.array([True, False, True])] = 0.5
    assert tau.scalars.tolist() == [0.5, 7.0, 0.5]


def test_what_it_tells_of_itself() -> None:
    _, (x, _, m), _ = given()
    assert (x.shape, x.ndim, x.size, len(m), m.T.shape) == ((3,), 1, 3, 3, (3, 3))
    assert (np.shape(m), np.ndim(x), np.size(m)) == ((3, 3), 1, 9)
    assert (x.dtype, (x > 0).dtype) == (np.dtype(float), np.dtype(bool))
    assert repr(x) == "<traced values of shape (3,)>"
    assert repr(x > 0) == "<traced mask of shape (3,)>"
    assert isinstance(x[0], Traced)
    assert x[0].shape == ()


# ------------------------------------------------------------------- what is refused


def decide(x: Any, m: Any) -> Any:
    if x[0] > 0:
        return x
    return -x


def loop(x: Any, m: Any) -> Any:
    while x[0] > 1.0:
        x = x - 1.0
    return x


def inline(x: Any, m: Any) -> Any:
    return x[0] if x[0] > 0 else -x[0]


def check(x: Any, m: Any) -> Any:
    assert x[0] > 0
    return x


def fill(x: Any, m: Any) -> Any:
    tau = np.zeros(3)
    tau[:] = x
    return tau


def put(x: Any, m: Any) -> Any:
    other = x.copy()
    other[x > 0] = x
    return other


def accumulate(x: Any, m: Any) -> Any:
    tau = np.zeros(3)
    tau += x
    return tau


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "if": (decide, r'"if x\[0\] > 0:" decides on a traced value.*np\.where\(condition, a, b\)'),
    "while": (loop, r"loops until a traced condition holds.*for loop of a fixed number of iterations"),
    "conditional": (inline, r"decides on a traced value.*np\.where"),
    "assert": (check, r"asserts a traced value.*check a record"),
    "and": (lambda x, m: (x[0] > 0) and x, r"needs the truth of a traced value.*& or \|"),
    "max": (lambda x, m: max(x[0], x[1]), r"needs the truth of a traced value.*np\.maximum"),
    "sorted": (lambda x, m: sorted(x), r"needs the truth"),
    "in": (lambda x, m: 0.0 in x, r"needs the truth"),
    "float": (lambda x, m: float(x[0]), r"needs the number behind a traced value, as float\(\) does"),
    "int": (lambda x, m: int(x[0]), r"as int\(\) does"),
    "complex": (lambda x, m: complex(x[0]), r"as complex\(\) does"),
    "math": (lambda x, m: math.sin(x[0]), r"calls a function of math.*np\.sin"),
    "range": (lambda x, m: range(x[0]), r"uses a traced value as an index"),
    "list index": (lambda x, m: [1, 2][x[0]], r"uses a traced value as an index.*np\.interp"),
    "own index": (lambda x, m: x[x[0]], r"indexes by a traced value"),
    "mask as index": (lambda x, m: x[x > 0], r"picks entries by a traced condition.*np\.where"),
    "values where a mask holds": (
        put,
        r"array of shape \(3,\) where a traced condition of shape \(3,\) holds.*np\.where",
    ),
    "fill": (fill, r"puts traced values into an array of floats.*np\.zeros\(shape, like=q\)"),
    "accumulate": (
        accumulate,
        r'"tau \+= x" puts traced values into an array of floats.*np\.zeros\(shape, like=q\)',
    ),
    "copy into floats": (
        lambda x, m: np.copyto(np.zeros(3), x),
        r"puts traced values into an array of floats",
    ),
    "asarray": (
        lambda x, m: np.asarray(x, dtype=float),
        r"array of float64 of a traced value.*leave it as it is",
    ),
    "integers": (lambda x, m: np.sum(x, dtype=int), r"passes dtype=int64 to np\.sum.*leave it out"),
    "long sort": (lambda x, m: np.sort(np.tile(x, 11)), r"sorts 33 entries; expected up to 32"),
    "argsort method": (lambda x, m: x.argsort(), r"calls np\.argsort|calls ndarray\.argsort"),
    "bytes": (lambda x, m: x.tobytes(), r"calls ndarray\.tobytes, which cannot be recorded"),
    "norm of order zero": (lambda x, m: np.linalg.norm(x, 0), r"norm of order 0; expected a whole order"),
    "piecewise": (lambda x, m: np.piecewise(x, [x > 0], [1.0]), r"calls np\.piecewise.*np\.select"),
    "equal arrays": (lambda x, m: np.allclose(x, 0.0), r"calls np\.allclose.*np\.isclose"),
    "loop over an axis": (
        lambda x, m: np.apply_along_axis(np.sum, 0, m),
        r"np\.apply_along_axis.*Python loop",
    ),
    "out": (lambda x, m: np.sin(x, out=np.zeros(3)), r"into an array of floats"),
    "out of sum": (lambda x, m: np.sum(m, axis=0, out=np.zeros(3)), r"passes out= to np\.sum"),
    "argmax": (lambda x, m: np.argmax(x), r"calls np\.argmax.*np\.max"),
    "isnan": (lambda x, m: np.isnan(x), r"calls np\.isnan.*makes all results NaN"),
    "svd": (lambda x, m: np.linalg.svd(m), r"calls np\.linalg\.svd.*decompose it outside"),
    "pinv": (lambda x, m: np.linalg.pinv(m), r"calls np\.linalg\.pinv.*np\.linalg\.solve"),
    "none": (lambda x, m: x + None, r"joins a traced value and None"),
    "text": (lambda x, m: x * "2", r"joins a traced value and '2'"),
    "truth of an array of values": (
        lambda x, m: np.maximum(np.array([x[0], 1.0]), 0.0),
        r"joined by np\.stack",
    ),
    "near": (lambda x, m: np.signbit(x), r'calls np\.signbit.*did you mean "sign"\?'),
    "blocks of blocks of blocks": (lambda x, m: np.block([[[x], [x]]]), r"joins blocks of blocks of blocks"),
    "vectorised": (
        lambda x, m: np.frompyfunc(decide, 2, 1)(x, 1.0),
        r"calls decide .*the Python function itself",
    ),
    "fft": (lambda x, m: np.fft.fft(x), r"calls np\.fft\.fft"),
    "nonzero": (lambda x, m: np.where(x), r"asks where a traced value is not zero.*both values"),
    "bits": (lambda x, m: (x > 0) & x, r"np\.bitwise_and between traced values.*conditions"),
    "division by zero": (lambda x, m: x / 0.0, r"divides a traced value by zero"),
    "large power": (lambda x, m: x**100, r"takes the power 100"),
    "power of a negative number": (lambda x, m: (-2.0) ** x, r"traced power of -2\.0"),
    "norm": (lambda x, m: np.linalg.norm(m, 2), r"norm of order 2 of a matrix"),
    "places": (lambda x, m: np.interp(x, [1.0, 0.0], [0.0, 1.0]), r"do not rise"),
    "large system": (lambda x, m: np.linalg.inv(np.zeros((13, 13)) + x[0]), r"inverts a matrix of 13 rows"),
    "no square": (lambda x, m: np.linalg.solve(m[:2], x), r"matrix of shape \(2, 3\)"),
    "strings": (lambda x, m: x + np.array(["a", "b", "c"]), r"an array of <U1"),
    "option": (lambda x, m: np.sum(m, where=True), r"calls np\.sum in a way that cannot be recorded"),
    "complex array": (lambda x, m: x * np.array([1j, 0, 0]), r"an array of complex128"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_names_the_line_and_the_remedy(name: str) -> None:
    _, (x, _, m), _ = given()
    function, message = REFUSED[name]
    first, last = (
        function.__code__.co_firstlineno,
        max(line for *_, line in function.__code__.co_lines() if line),
    )
    with pytest.raises(PhalanxError, match=message) as caught:
        function(x, m)
    file, line = str(caught.value).split(": ")[0].rsplit(":", 1)
    assert Path(file).name == Path(__file__).name
    assert first <= int(line) <= last


def test_functions_of_other_libraries_are_refused() -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    _, (x, _, _), _ = given()
    with pytest.raises(PhalanxError, match=r"calls scipy\.special\.expit, which cannot be recorded"):
        special.expit(x)


def test_inputs_of_a_law_cannot_be_changed() -> None:
    _, (x, _, _), _ = given()
    x.scalars.setflags(write=False)
    with pytest.raises(
        PhalanxError, match=r"changes an array in place that the function was given; change a copy"
    ):
        x[0] = 1.0
    with pytest.raises(PhalanxError, match="changes an array in place"):
        x += 1.0
    assert (x + 1.0)[0].shape == ()


# ------------------------------------------------------------------- scalars


def test_scalars_come_from_anything_that_holds_real_numbers() -> None:
    _, (x, y, _), _ = given()
    for value in (x, [x[0], x[1], x[2]], np.array([x[0], x[1], x[2]]), tuple(x), x.scalars):
        assert scalars_of(value, (3,), "x").tolist() == x.scalars.tolist()
    assert scalars_of(2, (3,), "x").tolist() == [2.0] * 3
    assert scalars_of([x, y], (2, 3), "x").shape == (2, 3)
    assert scalars_of(x[0], (3,), "x").tolist() == [x.scalars[0]] * 3
    assert isinstance(scalars_of(x.scalars[0], (), "x").item(), Scalar)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("abc", r"tau: got 'abc', expected real numbers"),
        (None, r"tau: got None, expected real numbers"),
        ([1.0, "a"], r"tau: got .*expected real numbers"),
        (np.zeros(4), r"tau has shape \(4,\), expected \(3,\)"),
        (np.zeros((1, 3)), r"tau has shape \(1, 3\), expected \(3,\)"),
        ([[1.0], [1.0, 2.0]], r"tau: got .*expected numbers in an array"),
        (1j, r"tau: got 1j, expected real numbers"),
    ],
)
def test_anything_else_is_refused(value: Any, message: str) -> None:
    with pytest.raises(PhalanxError, match=message):
        scalars_of(value, (3,), "tau")
