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


# ------------------------------------------------------------------- names from files

HOSTILE = 'a\x1b[2J\x07\x9b31m\u202e\u2028\r\n\x00"'


def _described(name: str) -> Any:
    builder = px.RobotBuilder(name)
    builder.add_link("base")
    builder.add_link(name, mass=1.0, inertia=(1.0, 1.0, 5.0))
    builder.add_joint(f"{name} joint", "revolute", "base", name)
    return builder


def test_no_message_hands_control_characters_to_the_terminal() -> None:
    with pytest.warns(px.PhalanxWarning) as warned:
        robot = _described(HOSTILE).build()
    with pytest.raises(px.PhalanxError) as missing:
        robot.jacobian([0.0], "x")
    with pytest.raises(px.PhalanxError) as shape:
        robot.mass_matrix([0.0, 0.0])
    texts = [str(w.message) for w in warned] + [str(missing.value), str(shape.value), repr(robot)]
    assert len(texts) == 4
    for text in texts:
        assert text.isprintable()
        assert r"a\x1b[2J\x07\x9b31m\u202e\u2028" in text


def test_a_message_of_a_million_characters_keeps_its_ends() -> None:
    with pytest.raises(px.PhalanxError) as caught:
        _described("x" * 1_000_000).add_joint("j", "wobbly", "base", "x" * 1_000_000, lower="low" * 1_000_000)
    assert len(str(caught.value)) < 200
    builder = _described("x" * 1_000_000)
    builder.add_link("x" * 1_000_000)
    with pytest.raises(px.PhalanxError) as caught:
        builder.build()
    text = str(caught.value)
    assert text.startswith('robot "xxx')
    assert text.endswith('xxx"; expected unique names. Rename one.')
    assert len(text) <= 1500


def test_errors_survive_pickling_and_keep_what_is_no_text() -> None:
    import pickle

    error = px.PhalanxError("a\x1b", 3)
    assert error.args == ("a\\x1b", 3)
    assert pickle.loads(pickle.dumps(error)).args == error.args


def test_the_nearest_of_many_long_names_is_found_soon() -> None:
    from phalanx.errors import nearest

    names = [f"{'x' * 100_000}{k}" for k in range(100)]
    assert "did you mean" not in nearest("x" * 100_000, names)
    assert len(nearest("x", names)) < 3000
    assert 'did you mean "left_knee"?' in nearest("left_kne", [*names, "left_knee"])


def test_values_that_cannot_be_shown_are_told_by_their_type() -> None:
    class Secret:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(Secret()) == "a value of type Secret"
    assert shown(10**5000) == "a value of type int"
