# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which entries of a file are which joints, in which unit: by name, as told, or an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import motion

PANDA = px.load("panda")
NAMES = list(PANDA.joint_names)


@pytest.fixture
def state() -> dict[str, np.ndarray]:
    return motion(PANDA, 20)


def opened(at: Path, arrays: dict[str, np.ndarray], **options: Any) -> px.data.Recording:
    np.savez(at / "a.npz", **arrays)
    return px.data.open(at / "a.npz", PANDA, **options)


def test_own_names_are_in_the_robots_order(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(opened(tmp_path, {"q": state["q"]})[:]["q"], state["q"])


def test_other_names_ask_for_joints(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    with pytest.raises(px.PhalanxError, match=r'no names; say which joints.*joints="robot"'):
        opened(tmp_path, {"qpos": state["q"]})
    found = opened(tmp_path, {"qpos": state["q"]}, joints="robot")
    np.testing.assert_array_equal(found[:]["q"], state["q"])


def test_joints_are_given_in_the_order_of_the_file(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    order = [6, 2, 0, 1, 5, 4, 3]
    recorded = np.insert(state["q"][:, order], 3, 99.0, axis=1)  # a gripper among them
    joints = [NAMES[k] for k in order]
    joints.insert(3, "-")
    found = opened(tmp_path, {"qpos": recorded}, joints=joints)
    np.testing.assert_array_equal(found[:]["q"], state["q"])


@pytest.mark.parametrize(
    ("joints", "told"),
    [
        (NAMES[:-1], "names 6 joints, but q has 7 entries"),
        ([*NAMES[:-1], "elbow"], 'names "elbow"'),
        ([*NAMES[:-1], "-"], 'no entry for "panda_joint7".*robot.fix'),
        ({"a": "b"}, "maps names, but the entries of q have none"),
    ],
)
def test_joints_that_do_not_fit_are_refused(
    joints: Any, told: str, tmp_path: Path, state: dict[str, np.ndarray]
) -> None:
    with pytest.raises(px.PhalanxError, match=told):
        opened(tmp_path, {"qpos": state["q"]}, joints=joints)


def test_several_candidates_are_not_decided(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    arrays = {"left.joint_pos": state["q"], "right.joint_pos": -state["q"]}
    with pytest.raises(
        px.PhalanxError, match=r'could be any of "left.joint_pos", "right.joint_pos"; say which'
    ):
        opened(tmp_path, arrays)
    found = opened(tmp_path, arrays, columns={"q": "right.joint_pos"})
    np.testing.assert_array_equal(found[:]["q"], -state["q"])


def test_units_and_signs(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    degrees = {k: np.rad2deg(state[k]) for k in ("q", "qd")} | {"tau": 1000.0 * state["tau"]}
    degrees = {k: v * [1, -1, 1, 1, 1, 1, 1] for k, v in degrees.items()}
    units = {"q": "deg", "qd": "deg/s", "tau": "mNm", NAMES[1]: -1.0}
    found = opened(tmp_path, degrees, units=units)[:]
    for k in ("q", "qd", "tau"):
        np.testing.assert_allclose(found[k], state[k], rtol=1e-12)


def test_degrees_are_of_angles_only() -> None:
    from phalanx.data.units import factors

    stanford = px.load("stanford")
    found = factors(stanford, "q", "deg")
    assert found is not None
    kinds = dict(zip(stanford.joint_names, stanford.joint_types, strict=True))
    for name, part in stanford.q_slices.items():
        wanted = 1.0 if kinds[name] == "prismatic" else np.pi / 180.0
        assert found[part].tolist() == [wanted]
    assert factors(stanford, "tau", "deg") is None
    assert factors(stanford, "q", "rad") is None


@pytest.mark.parametrize(
    ("units", "told"),
    [
        ("degree", "is unknown; units"),
        ({"elbow": "deg"}, "no quantity and no joint"),
        ({"q": 0.0}, "other than 0"),
        (3, "expected"),
    ],
)
def test_units_that_do_not_exist_are_refused(
    units: Any, told: str, tmp_path: Path, state: dict[str, np.ndarray]
) -> None:
    with pytest.raises(px.PhalanxError, match=told):
        opened(tmp_path, {"q": state["q"]}, units=units)


def test_the_rate_is_told_or_that_of_even_times(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    q, times = state["q"], np.arange(20) / 30.0
    assert opened(tmp_path, {"q": q, "timestamp": times}).rate == 30.0
    assert opened(tmp_path, {"q": q, "timestamp": times.astype(np.float32)}).rate == 30.0
    assert opened(tmp_path, {"q": q, "timestamp": times}, rate=25.0).rate == 25.0
    assert opened(tmp_path, {"q": q, "timestamp": times**2}).rate is None
    assert opened(tmp_path, {"q": q}).rate is None
    with pytest.raises(px.PhalanxError, match="rate: got -1"):
        opened(tmp_path, {"q": q}, rate=-1.0)
