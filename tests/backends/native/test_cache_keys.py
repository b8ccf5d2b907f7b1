# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The key of an entry: all that the code depends on, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import cache
from reference.kernels import in_fresh_interpreter

pytestmark = pytest.mark.usefixtures("folder")  # no test sees what another has compiled


@pytest.fixture
def key_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The key under which a kernel is looked up."""
    asked: list[str] = []
    read = cache.read
    monkeypatch.setattr(cache, "read", lambda key: (asked.append(key), read(key))[1])

    def key(robot: px.Robot, function: str = "inverse_dynamics", **more: Any) -> str:
        robot.kernel(function, **more)
        return asked[-1]

    return key


def two_link(**change: Any) -> px.Robot:
    """The planar arm with a frame at its end and perhaps another number somewhere."""
    numbers = {"mass": 1.0, "com": 0.5, "length": 1.0, "inertia": 0.1, "end": 1.0, **change}
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for k in (1, 2):
        com, inertia = (numbers["com"], 0.0, 0.0), np.eye(3) * numbers["inertia"]
        builder.add_link(f"link{k}", mass=numbers["mass"], com=com, inertia=inertia)
    builder.add_link("end")
    axis = (0.0, 1.0, 0.0)
    builder.add_joint("one", "revolute", "base", "link1", axis=axis)
    builder.add_joint("two", "revolute", "link1", "link2", axis=axis, origin=(numbers["length"], 0.0, 0.0))
    builder.add_joint("weld", "fixed", "link2", "end", origin=(numbers["end"], 0.0, 0.0))
    return builder.build()


@pytest.mark.parametrize("number", ["mass", "com", "length", "inertia"])
def test_the_last_digit_of_every_parameter_makes_another_key(key_of: Any, number: str) -> None:
    value = {"mass": 1.0, "com": 0.5, "length": 1.0, "inertia": 0.1}[number]
    assert key_of(two_link(**{number: np.nextafter(value, 2.0)})) != key_of(two_link())


def test_all_frames_share_a_key(key_of: Any) -> None:
    keys = {key_of(two_link(), "jacobian", frame=name) for name in two_link().frame_names}
    assert keys == {key_of(two_link(end=2.0), "jacobian", frame="end")}


def test_two_frames_that_look_alike_in_print_are_told_apart() -> None:
    near, far = two_link(end=1.0), two_link(end=1.0 + 1e-10)
    q = np.zeros(2)
    poses = [r.kernel("frame_pose", frame="end")(q)[0, 3] for r in (near, far)]
    assert poses[1] - poses[0] == pytest.approx(1e-10, rel=1e-4)


def test_everything_that_is_asked_for_makes_another_key(key_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = two_link()
    found = [
        key_of(robot),
        key_of(robot, dtype="float32"),
        key_of(robot, algorithm="newton_euler"),
        key_of(robot, "mass_matrix"),
        key_of(robot, "jacobian", frame="end"),
        key_of(robot, "frame_pose", frame="end"),
        key_of(robot.replace(gravity=(0.0, 0.0, -9.8))),
        key_of(robot.replace(armature=0.1)),
        key_of(robot.with_floating_base()),
    ]
    robot.kernel("inverse_dynamics")(np.zeros(2), np.zeros(2), np.zeros(2), external=np.zeros((2, 6)))
    assert len(set(found)) == len(found)
    assert len(list(cache.entries())) == len(found) + 1  # and one with wrenches


def test_names_make_no_difference(key_of: Any) -> None:
    assert key_of(two_link()) == key_of(two_link().replace(name="another"))


def test_keys_depend_on_options_target_and_sources() -> None:
    parts = ["digest", "f", "a", (("solver", "serial"),), None, (), "<f8"]
    keys = {cache.key_of(*parts), cache.key_of(*parts[:3], (("solver", "odd_even"),), *parts[4:])}
    keys |= {cache.key_of(*parts, "avx2"), cache.key_of("digestf", "", *parts[2:])}
    assert len(keys) == 4
    before = cache.key_of("x")
    sources = cache._sources
    try:
        cache._sources = lambda: "other equations"  # type: ignore[assignment]
        assert cache.key_of("x") != before
    finally:
        cache._sources = sources
    assert cache.key_of("x") == before


def test_keys_are_the_same_in_another_process() -> None:
    source = "from phalanx.backends.native.cache import key_of; print(key_of('x', 1.5, ('a', None)))"
    assert in_fresh_interpreter(source, PYTHONHASHSEED="3") == cache.key_of("x", 1.5, ("a", None))
