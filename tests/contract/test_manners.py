# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every function on every backend keeps the same manners: batches, out, dtypes, NaN, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.backends.base import installed
from reference.sampling import MOVING_TYPES, agree

ROBOT = px.tree(6, 0.5, seed=1, joints=("revolute", "spherical", "prismatic")).replace(armature=0.3)
CHAIN = px.chain(6)
GAP = px.RobotBuilder("rock")
GAP.add_link("base", mass=1.0)
GAP.add_link("top", mass=1.0)
GAP.add_joint("weld", "fixed", "base", "top", origin=(0.0, 0.0, 2.0))

BACKENDS = (*installed(), "auto")
ONE_RESULT = [f.name for f in FUNCTIONS.values() if len(f.outputs) == 1]  # of others: test_derivatives.py
COMPILED_BY_XLA = ONE_RESULT[:12]  # which takes long
each = pytest.mark.parametrize(
    ("function", "backend"),
    [(f, b) for f in ONE_RESULT for b in BACKENDS if b != "jax" or f in COMPILED_BY_XLA],
    ids=lambda x: x,
)


def inputs(function: str, batch: tuple[int, ...] = (4,), robot: px.Robot = ROBOT) -> list[np.ndarray]:
    q, qd, qdd = robot.random_state(batch, rng=3)
    known = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    return [known[name] for name in FUNCTIONS[function].inputs]


def call(function: str, arguments: Any, robot: px.Robot = ROBOT, **more: Any) -> Any:
    if FUNCTIONS[function].frame:
        more["frame"] = robot.frame_names[-1]
    method = getattr(robot, function)
    if more.get("backend") == "auto":  # the second call may take a shorter way
        method(*inputs(function, (), robot), **{k: v for k, v in more.items() if k == "frame"})
    return method(*arguments, **more)


@each
def test_a_batch_equals_a_loop_over_its_states(function: str, backend: str) -> None:
    arguments = inputs(function, (3, 2))
    result = call(function, arguments, backend=backend)
    for k in np.ndindex(3, 2):
        agree(result[k], call(function, [a[k] for a in arguments], backend=backend), 1e-13)


@each
def test_batch_shapes_broadcast(function: str, backend: str) -> None:
    first, *others = inputs(function, (3, 1))
    others = [x[:1, 0] for x in others]
    full = [np.broadcast_to(x, (3, 1, x.shape[-1])) for x in (first, *others)]
    agree(
        call(function, [first, *others], backend=backend),
        call(function, [f.copy() for f in full], backend=backend),
        1e-14,
    )


@each
def test_out_is_filled_and_returned(function: str, backend: str) -> None:
    arguments = inputs(function)
    wanted = call(function, arguments, backend=backend)
    out = np.full_like(wanted, 7.0)
    assert call(function, arguments, out=out, backend=backend) is out
    np.testing.assert_array_equal(out, wanted)


@each
def test_out_may_have_gaps(function: str, backend: str) -> None:
    arguments = inputs(function)
    wanted = call(function, arguments, backend=backend)
    wide = np.full((2 * len(wanted), *wanted.shape[1:]), 7.0)
    call(function, arguments, out=wide[::2], backend=backend)
    np.testing.assert_array_equal(wide[::2], wanted)
    np.testing.assert_array_equal(wide[1::2], 7.0)


@each
def test_out_may_lie_in_fortran_order(function: str, backend: str) -> None:
    arguments = inputs(function, (2, 3))
    wanted = call(function, arguments, backend=backend)
    out = np.asfortranarray(np.zeros_like(wanted))
    call(function, arguments, out=out, backend=backend)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shift", [0, 4])
def test_out_may_overlap_any_input(backend: str, shift: int) -> None:
    robot, count = px.chain(6), 12_000  # several blocks of states
    q, qd, qdd = robot.random_state(count, rng=1)
    motion = np.random.default_rng(0).standard_normal((count, 6))
    wanted = robot.inverse_dynamics(q, qd, qdd, base_acceleration=motion, backend=backend)
    for position in range(4):
        arrays = [q, qd, qdd, motion]
        memory = np.zeros(6 * count + shift)
        shared = memory[: 6 * count].reshape(count, 6)
        shared[:] = arrays[position]
        arrays[position] = shared
        out = memory[shift:].reshape(count, 6)
        robot.inverse_dynamics(*arrays[:3], base_acceleration=arrays[3], out=out, backend=backend)
        np.testing.assert_array_equal(out, wanted)


@each
def test_inputs_may_be_strided_views_and_stay_unchanged(function: str, backend: str) -> None:
    arguments = inputs(function)
    views = [np.repeat(a, 2, axis=-1)[..., ::2] for a in arguments]
    kept = [v.copy() for v in views]
    agree(call(function, views, backend=backend), call(function, arguments, backend=backend), 1e-14)
    for view, copy in zip(views, kept, strict=True):
        np.testing.assert_array_equal(view, copy)


@each
@pytest.mark.parametrize("batch", [(0,), (2, 0), (0, 3)])
def test_an_empty_batch_gives_an_empty_result(function: str, backend: str, batch: tuple[int, ...]) -> None:
    one = call(function, inputs(function, ()), backend=backend)
    assert call(function, inputs(function, batch), backend=backend).shape == (*batch, *np.shape(one))


@each
def test_nan_in_one_state_stays_in_that_state(function: str, backend: str) -> None:
    arguments = inputs(function, (5,))
    clean = call(function, arguments, backend=backend)
    for argument in arguments:
        broken = [a.copy() if a is argument else a for a in arguments]
        next(b for b in broken if not any(b is a for a in arguments))[2] = np.nan
        result = call(function, broken, backend=backend)
        others = [0, 1, 3, 4]
        np.testing.assert_array_equal(result[others], clean[others])
        assert np.isnan(result[2]).any()


@each
def test_lists_and_whole_numbers_become_float64(function: str, backend: str) -> None:
    names = FUNCTIONS[function].inputs
    result = call(function, [[1, 2, 3, 4, 5, 6] for _ in names], CHAIN, backend=backend)
    agree(result, call(function, [np.arange(1.0, 7.0) for _ in names], CHAIN, backend=backend), 0.0)
    assert result.dtype == np.float64


@each
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float16, np.longdouble, ">f8", ">f4", bool])
def test_other_real_dtypes_become_float64(function: str, backend: str, dtype: Any) -> None:
    ones = [np.ones(6, dtype) for _ in FUNCTIONS[function].inputs]
    result = call(function, ones, CHAIN, backend=backend)
    wanted = call(function, [np.ones(6) for _ in ones], CHAIN, backend=backend)
    if np.dtype(dtype) == np.float32:
        assert result.dtype == np.float32
    else:
        assert result.dtype == np.float64
        agree(result, wanted, 0.0)


@each
def test_one_wide_input_makes_the_result_wide(function: str, backend: str) -> None:
    first, *others = inputs(function)
    narrow = call(function, [x.astype(np.float32) for x in (first, *others)], backend=backend)
    assert narrow.dtype == np.float32
    if others:
        assert call(function, [first.astype(np.float32), *others], backend=backend).dtype == np.float64


@each
def test_a_robot_without_moving_joints_is_served(function: str, backend: str) -> None:
    robot = GAP.build()
    empty = [np.zeros((3, 0)) for _ in FUNCTIONS[function].inputs]
    if FUNCTIONS[function].full_rank:
        with pytest.raises(px.PhalanxError, match='move frame "top" in 0 directions, expected 6'):
            call(function, empty, robot, backend=backend)
        return
    result = call(function, empty, robot, backend=backend)
    sizes = {"q": 0, "v": 0, "l": 0, "10l": 0}
    (symbols,) = FUNCTIONS[function].outputs.values()
    assert result.shape == (3, *(sizes[s] if s in sizes else int(s) for s in symbols))
    if function == "frame_pose":
        assert (result[:, 2, 3] == 2.0).all()
    if function.endswith("energy"):
        assert (result == 0.0).all()
    if function == "center_of_mass":
        assert np.isnan(result).all()


def test_results_are_the_same_bits_every_time() -> None:
    robot = px.tree(9, 0.6, seed=1, joints=MOVING_TYPES)
    state = robot.random_state(100, rng=0)
    first = robot.forward_dynamics(*state)
    for _ in range(3):
        np.testing.assert_array_equal(robot.forward_dynamics(*state), first)


BAD_INPUTS = [
    (np.zeros(7), r"q has shape \(7,\), expected \(…, 12\) for robot \"tree\" \(nq = 12\)"),
    (np.zeros((12, 1)), r"q has shape \(12, 1\), expected \(…, 12\)"),
    (1.0, r"q has shape \(\), expected \(…, 12\)"),
    (None, "q has dtype object, expected real numbers"),
    (np.zeros(12, object), r"q has dtype object, expected real numbers.*np\.asarray\(x, dtype=float\)"),
    (np.zeros(12, complex), "q has dtype complex128, expected real numbers"),
    (["a"] * 12, "q has dtype <U1, expected real numbers"),
    (np.zeros(12, "datetime64[s]"), r"q has dtype datetime64\[s\], expected real numbers"),
    ([[1.0, 2.0], [3.0]], "q is not an array: its rows differ in length"),
]


@each
@pytest.mark.parametrize(("bad", "message"), BAD_INPUTS)
def test_bad_arrays_are_refused_with_the_expected_shape_or_dtype(
    function: str, backend: str, bad: Any, message: str
) -> None:
    assert ROBOT.nq == 12
    _, *others = inputs(function, ())
    with pytest.raises(px.PhalanxError, match=f"{function}: {message}"):
        call(function, [bad, *others], backend=backend)


@each
def test_a_bad_out_is_refused(function: str, backend: str) -> None:
    arguments = inputs(function)
    wanted = call(function, arguments, backend=backend)
    frozen = wanted.copy()
    frozen.setflags(write=False)
    for out, message in (
        (np.zeros((3, *wanted.shape[1:])), r"out has shape \(3.*expected \(4"),
        (wanted.astype(np.float32), "dtype float32, expected .* float64"),
        (wanted.tolist(), "out is list, expected a NumPy array of shape"),
        (frozen, "out is read-only, expected a writeable array"),
    ):
        with pytest.raises(px.PhalanxError, match=message):
            call(function, arguments, out=out, backend=backend)
