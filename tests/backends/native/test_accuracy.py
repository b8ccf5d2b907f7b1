# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Compiled kernels against the NumPy reference, and NaN and infinity in one lane."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import choose
from reference.kernels import ROBOTS, arguments, covered, frame_of, kernel, reference, robot, same_bits
from reference.sampling import agree, conditioning, pairwise

# Every algorithm on the richest robot that it covers; what "auto" takes on all of them.
EVERY = covered("mixed")
EVERY += [c for c in covered("panda") if ("mixed", *c[1:]) not in EVERY]
EVERY += [c for c in covered(*ROBOTS) if c not in EVERY and choose(robot(c[0]), c[1]).name == c[2]]


@pytest.mark.parametrize(("name", "function", "algorithm"), EVERY, ids=["-".join(c) for c in EVERY])
def test_results_agree_with_the_reference_to_thirteen_digits(
    name: str, function: str, algorithm: str
) -> None:
    r = robot(name)
    inputs = arguments(r, function, 64)
    k = r.kernel(function, algorithm=algorithm, **frame_of(function, r))
    wanted = reference(r, function, inputs, algorithm=algorithm)
    # Solving with the mass matrix loses the digits of its condition, in the reference too, and by
    # most algorithms more of them than by the one that "auto" takes.
    best = algorithm == choose(r, function).name
    lost = max(1.0, conditioning(r.mass_matrix(inputs[0], backend="numpy")) / (100.0 if best else 5.0))
    solves = FUNCTIONS[function].inverts
    if FUNCTIONS[function].full_rank:
        lost *= np.linalg.cond(wanted).max()
    agree(k(*inputs), wanted, 1e-13 * (lost if solves else 1.0))


SOME = pairwise(list(FUNCTIONS), ("panda", "mixed"))


@pytest.mark.parametrize(("function", "name"), SOME, ids=["-".join(c) for c in SOME])
def test_single_precision_agrees_to_its_digits(function: str, name: str) -> None:
    r = robot(name)
    inputs = arguments(r, function, 16, np.float32)
    result = kernel(name, function, "float32")(*inputs)
    assert np.result_type(*(result if isinstance(result, tuple) else (result,))) == np.float32
    wanted = reference(r, function, [a.astype(float) for a in inputs])
    lost = conditioning(r.mass_matrix(inputs[0].astype(float), backend="numpy"))
    solves = FUNCTIONS[function].inverts
    if FUNCTIONS[function].full_rank:
        lost *= np.linalg.cond(wanted).max()
    agree(result, wanted, 1e-5 * (lost if solves else 1.0))


@pytest.mark.parametrize("more", ["external", "base_velocity", "base_acceleration"])
@pytest.mark.parametrize("name", ROBOTS)
def test_wrenches_and_base_motion_agree_with_the_reference(name: str, more: str) -> None:
    r = robot(name)
    inputs = arguments(r, "inverse_dynamics", 9)
    shape = (9, r.n_links, 6) if more == "external" else (9, 6)
    given: dict[str, Any] = {more: np.random.default_rng(2).standard_normal(shape)}
    agree(
        kernel(name, "inverse_dynamics")(*inputs, **given),
        reference(r, "inverse_dynamics", inputs, **given),
        1e-13,
    )
    if more == "external":
        wanted = reference(r, "forward_dynamics", inputs, **given)
        agree(kernel(name, "forward_dynamics")(*inputs, **given), wanted, 1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("name", "function"),
    [("panda", "inverse_dynamics"), ("mixed", "forward_dynamics"), ("ur5", "mass_matrix")],
)
def test_a_broken_state_stays_in_its_lane_without_a_warning(
    name: str, function: str, dtype: str, value: float
) -> None:
    r = robot(name)
    k = kernel(name, function, dtype)
    clean = arguments(r, function, 21, dtype)
    wanted = k(*clean)
    with np.errstate(over="ignore"):
        value = np.dtype(dtype).type(value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for position in range(len(clean)):
            for at in (0, 5, 20):  # in a whole block and in the tail
                broken = [a.copy() for a in clean]
                broken[position][at] = value
                result = k(*broken)
                others = np.arange(21) != at
                same_bits(result[others], wanted[others])
                if not np.isfinite(value):
                    assert np.isnan(result[at]).any()
                k(*(a[at].copy() for a in broken))
                k.ufunc(*(a[at] for a in broken))
                k.bind(*broken, out=np.zeros_like(wanted))()


def test_nan_leaves_no_flag_for_later_operations() -> None:
    k = kernel("panda", "inverse_dynamics")
    broken = [np.full_like(a, np.nan) for a in arguments(robot("panda"), "inverse_dynamics")]
    with np.errstate(all="raise"):
        k(*broken)
        k.ufunc(*broken)
        np.add(np.ones(3), 1.0)


def test_large_constants_do_not_break_single_precision() -> None:
    last = robot("ur5").link_names[-1]
    with pytest.warns(px.PhalanxWarning, match="that no robot has"):
        heavy = robot("ur5").with_payload(last, 1e25, (0.0, 0.0, 1e20), np.eye(3) * 1e30)
    inputs = arguments(heavy, "inverse_dynamics", 3, np.float32)
    result = heavy.kernel("inverse_dynamics", dtype="float32")(*inputs)
    assert result.shape == (3, 6)
