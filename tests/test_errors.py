# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Messages are short, whatever was passed by mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import shown

MANY = np.linspace(0.0, 1.0, 700).reshape(100, 7)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("many", "'many'"),
        (np.float64(2.5), repr(np.float64(2.5))),
        (MANY, "an array of shape (100, 7)"),
        (list(range(1000)), f"{str(list(range(1000)))[:57]}..."),
    ],
)
def test_values_are_shown_on_less_than_a_line(value: Any, text: str) -> None:
    assert shown(value) == text
    assert len(shown(value)) <= 60


MISTAKES: dict[str, Any] = {
    "threads of a method": lambda r: r.inverse_dynamics(MANY, MANY, MANY, threads=MANY),
    "threads of a kernel": lambda r: r.kernel("inverse_dynamics")(MANY, MANY, MANY, None, MANY),
    "threads of all": lambda r: px.set_threads(MANY),
    "dtype": lambda r: r.kernel("inverse_dynamics", dtype=MANY),
    "frame": lambda r: r.jacobian(MANY, MANY),
    "armature": lambda r: r.replace(armature=MANY),
    "coordinates to fix": lambda r: r.fix({r.joint_names[0]: MANY}),
    "generator": lambda r: r.random_state(rng=MANY),
    "batch": lambda r: r.random_state(MANY),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_arrays_in_the_wrong_place_are_told_by_their_shape(mistake: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        MISTAKES[mistake](px.load("panda"))
    text = str(caught.value)
    assert "expected" in text or "frames: " in text
    assert "0.001" not in text  # none of the numbers
    assert len(text) < 500
