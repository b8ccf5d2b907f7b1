# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arrays of JAX under NumPy's rules: indices, assignment, products and functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)

from phalanx.backends.jax.arrays import array  # noqa: E402

VALUES = np.random.default_rng(0).standard_normal((4, 5, 3, 3))
SCATTERED = np.random.default_rng(1).permutation(np.arange(40) % 5)

KEYS: list[Any] = [
    0,
    (..., 1),
    (..., slice(1, 3), 0),
    (..., None, slice(None)),
    (..., [1, 2, 0]),
    (..., [2, 0, 1, 1, 2, 0], slice(None)),
    (..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]),
    (..., np.array([[0, 1], [2, -1]])),
    (..., SCATTERED, slice(None), slice(None)),
    (..., np.array([-1, 0, 1]), slice(None), slice(None)),
    (slice(None), np.array([True, False, True, True, False])),
    ([0, 2], slice(None), 1),
    (..., np.zeros(0, int)),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices_pick_what_numpy_picks(key: Any) -> None:
    np.testing.assert_array_equal(array(VALUES)[key].value, VALUES[key])


@pytest.mark.parametrize(
    "key",
    [
        (..., slice(1, 3), slice(None), slice(None)),
        (..., np.array([1, 2]), slice(None), slice(None)),
        (..., np.array([4, 0]), slice(None), slice(None)),
        (..., np.array([-1]), slice(None), slice(None)),
        (..., 0),
        (0, [1, 3]),
    ],
    ids=str,
)
def test_assignment_changes_what_numpy_changes(key: Any) -> None:
    wanted, ours = VALUES.copy(), array(VALUES)
    new = np.random.default_rng(2).standard_normal(wanted[key].shape)
    before = ours.copy()
    wanted[key] = new
    ours[key] = array(new)
    np.testing.assert_array_equal(ours.value, wanted)
    np.testing.assert_array_equal(before.value, VALUES)  # a copy has a name of its own


def test_repeated_places_add_up() -> None:
    wanted, ours = VALUES.copy(), array(VALUES)
    place = (..., np.array([1, 1, 3]), slice(None), slice(None))
    more = np.ones((4, 3, 3, 3))
    np.add.at(wanted, place, more)
    np.add.at(ours, place, array(more))  # type: ignore[call-overload]
    np.testing.assert_allclose(ours.value, wanted)


@pytest.mark.parametrize("inner", [1, 3, 7])
def test_products_are_those_of_numpy_from_both_sides(inner: int) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((5, 3, inner)), rng.standard_normal((2, 1, inner, 4))
    for product in (array(a) @ array(b), a @ array(b), array(a) @ b):
        np.testing.assert_allclose(product.value, a @ b, rtol=1e-13, atol=1e-13)


def test_numpys_arithmetic_and_functions_hand_over() -> None:
    a = array(VALUES)
    np.testing.assert_allclose((VALUES - a * 2.0).value, -VALUES)
    np.testing.assert_allclose((1.0 / a).value, 1.0 / VALUES)
    np.testing.assert_allclose(np.sin(a).value, np.sin(VALUES), rtol=1e-14)
    np.testing.assert_array_equal(np.concatenate([VALUES, a]).value, np.concatenate([VALUES, VALUES]))
    np.testing.assert_array_equal(a.swapaxes(-1, -2).value, VALUES.swapaxes(-1, -2))


def test_constant_components_become_slices_not_gathers() -> None:
    text = str(jax.make_jaxpr(lambda x: array(x)[..., [1, 2, 0]].value)(VALUES))
    assert "gather" not in text
    assert "concatenate" in text


def test_numpy_cannot_take_them_for_its_own() -> None:
    with pytest.raises(TypeError, match="no counterpart"):
        np.asarray(array(VALUES))
