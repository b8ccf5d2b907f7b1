# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A state gives the same bits alone, anywhere in a batch, for any layout and by every way to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phalanx.algorithms import FUNCTIONS
from reference.kernels import ROBOTS, arguments, frame_of, kernel, robot, same_bits
from reference.sampling import pairwise

NAMES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "forward_kinematics",
    "kinetic_energy",
    "jacobian",
)
CASES = pairwise(ROBOTS, NAMES, ("float64", "float32"))
each = pytest.mark.parametrize(("name", "function", "dtype"), CASES, ids=["-".join(c) for c in CASES])
COUNT = 40


def alone(name: str, function: str, dtype: str) -> tuple[Any, list[np.ndarray], np.ndarray]:
    """A kernel, the inputs of a batch and the results of its states, each computed alone."""
    k = kernel(name, function, dtype)
    inputs = arguments(robot(name), function, COUNT, dtype)
    return k, inputs, np.array([k(*(a[i].copy() for a in inputs)) for i in range(COUNT)], dtype)


@each
def test_batches_of_every_size_agree_with_single_states(name: str, function: str, dtype: str) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    for size in range(1, COUNT + 1):
        same_bits(k(*(a[:size] for a in inputs)), wanted[:size])
        same_bits(k(*(a[COUNT - size :] for a in inputs)), wanted[COUNT - size :])


def unaligned(a: np.ndarray) -> np.ndarray:
    memory = np.zeros(a.nbytes + 1, np.uint8)
    view = memory[1:].view(a.dtype).reshape(a.shape)
    assert not view.flags.aligned
    return view


def strided(a: np.ndarray) -> np.ndarray:
    return np.zeros((3 * a.shape[0], *a.shape[1:-1], 2 * a.shape[-1]), a.dtype)[1::3, ..., ::2]


def rows_apart(a: np.ndarray) -> np.ndarray:
    return np.zeros((2 * a.shape[0], *a.shape[1:]), a.dtype)[::2]


def backwards(a: np.ndarray) -> np.ndarray:
    return np.zeros_like(a)[::-1]


def inside_out(a: np.ndarray) -> np.ndarray:
    return np.zeros_like(a)[..., ::-1]


# How to get memory of an array's shape that lies otherwise.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran": lambda a: np.asfortranarray(np.zeros_like(a)),
    "strided": strided,
    "rows apart": rows_apart,
    "backwards": backwards,
    "inside out": inside_out,
    "unaligned": unaligned,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@each
def test_the_layout_of_inputs_and_output_makes_no_difference(
    name: str, function: str, dtype: str, layout: str
) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    laid = []
    for a in inputs:
        view = LAYOUTS[layout](a)
        view[...] = a
        laid.append(view)
    same_bits(k(*laid), wanted)
    same_bits(k(laid[0], *inputs[1:]), wanted)
    same_bits(k(*(a[:11] for a in laid)), wanted[:11])
    if wanted.ndim > 1:
        out = LAYOUTS[layout](wanted)
        assert k(*inputs, out=out) is out
        same_bits(out, wanted)
        out[...] = 0.0
        k(*laid, out=out)
        same_bits(out, wanted)


@each
def test_repeated_rows_are_read_through_zero_strides(name: str, function: str, dtype: str) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    first, *others = inputs
    one = [np.broadcast_to(a[3], a.shape) for a in inputs]
    same_bits(k(*one), np.broadcast_to(wanted[3], wanted.shape))
    # The same number in every coordinate.
    flat = [np.broadcast_to(a[:, :1], a.shape) for a in inputs]
    same_bits(k(*flat), k(*(a.copy() for a in flat)))
    mixed = k(first, *(np.broadcast_to(a[3], a.shape) for a in others))
    same_bits(mixed, k(first, *(a[3] for a in others)))
    same_bits(mixed[3], wanted[3])


@each
def test_the_shape_of_the_batch_makes_no_difference(name: str, function: str, dtype: str) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    for batch in ((5, 8), (2, 4, 5), (1, 40), (40, 1)):
        same_bits(k(*(a.reshape(*batch, -1) for a in inputs)), wanted.reshape(*batch, *wanted.shape[1:]))
    turned = [a.reshape(5, 8, -1).swapaxes(0, 1) for a in inputs]
    same_bits(k(*turned), wanted.reshape(5, 8, *wanted.shape[1:]).swapaxes(0, 1))


@each
def test_read_only_inputs_are_read(name: str, function: str, dtype: str) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    for a in inputs:
        a.setflags(write=False)
    same_bits(k(*inputs), wanted)
    same_bits(k(*(a[2] for a in inputs)), wanted[2])


@each
def test_every_way_to_call_gives_the_same_bits(name: str, function: str, dtype: str) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    r = robot(name)
    method = getattr(r, function)
    more = frame_of(function, r)
    for _ in range(2):  # the second call may take a shorter way
        same_bits(method(*inputs, **more), wanted)
        same_bits(method(*(a[7] for a in inputs), **more), wanted[7])
        out = np.zeros_like(wanted)
        same_bits(method(*inputs, **more, out=out), wanted)
    same_bits(k.ufunc(*inputs), wanted)
    same_bits(k.ufunc(*(a[7] for a in inputs)), wanted[7])
    out = np.zeros_like(wanted)
    step = k.bind(*inputs, out=out)
    step()
    same_bits(out, wanted)
    one = np.zeros_like(wanted[7])
    if one.ndim:
        k.bind(*(a[7] for a in inputs), out=one)()
        same_bits(one, wanted[7])
        one[...] = 0.0
        assert k(*(a[7] for a in inputs), out=one) is one
        same_bits(one, wanted[7])


@each
def test_threads_make_no_difference(name: str, function: str, dtype: str) -> None:
    k, inputs, wanted = alone(name, function, dtype)
    pick = np.random.default_rng(0).integers(0, COUNT, 8_500)
    big = [a[pick] for a in inputs]
    for threads in (1, 2, 3, 4, None):
        same_bits(k(*big, threads=threads), wanted[pick])
    same_bits(
        k(*(a.reshape(17, 500, -1) for a in big), threads=4).reshape(-1, *wanted.shape[1:]), wanted[pick]
    )


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("optional", [("external",), ("base_velocity", "external"), ("base_acceleration",)])
def test_optional_inputs_follow_the_same_rules(name: str, optional: tuple[str, ...]) -> None:
    r = robot(name)
    k = kernel(name, "inverse_dynamics")
    inputs = arguments(r, "inverse_dynamics", COUNT)
    rng = np.random.default_rng(3)
    sizes = {"external": (r.n_links, 6), "base_velocity": (6,), "base_acceleration": (6,)}
    more = {key: rng.standard_normal((COUNT, *sizes[key])) for key in optional}
    wanted = np.array(
        [k(*(a[i] for a in inputs), **{key: v[i] for key, v in more.items()}) for i in range(COUNT)]
    )
    same_bits(k(*inputs, **more), wanted)
    same_bits(k(*inputs, **{key: np.asfortranarray(v) for key, v in more.items()}), wanted)
    same_bits(k(*inputs, **{key: v[::-1].copy()[::-1] for key, v in more.items()}), wanted)
    same_bits(r.inverse_dynamics(*inputs, **more), wanted)
    out = np.zeros_like(wanted)
    k.bind(*inputs, out=out, **more)()
    same_bits(out, wanted)
    assert set(optional) <= set(FUNCTIONS["inverse_dynamics"].optional)


def test_a_kernel_and_its_rebuilt_twin_agree_in_bits() -> None:
    r = robot("panda")
    inputs = arguments(r, "forward_dynamics", COUNT)
    twin = r.replace(name="twin")
    same_bits(twin.kernel("forward_dynamics")(*inputs), kernel("panda", "forward_dynamics")(*inputs))
