# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which entries of a file are which joints, in which unit: by name, as told, or an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import lists, motion

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
    with pytest.warns(px.PhalanxWarning, match="outside its limits"):
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
    from phalanx.data.binding import factors

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


def data_set(at: Path, entries: list[tuple[str, np.ndarray]], **more: tuple[list[str], np.ndarray]) -> Path:
    """A LeRobot data set of one episode, its state with these named entries."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "observation.state": ([name for name, _ in entries], np.stack([v for _, v in entries], axis=1)),
        **{f"observation.{name}": value for name, value in more.items()},
    }
    features = {k: {"dtype": "float64", "shape": [len(n)], "names": n} for k, (n, _) in columns.items()}
    (at / "meta").mkdir(parents=True)
    info = {
        "codebase_version": "v3.0",
        "fps": 100,
        "data_path": "data/{file_index:03d}.parquet",
        "features": features,
    }
    (at / "meta" / "info.json").write_text(json.dumps(info))
    (at / "data").mkdir()
    pq.write_table(pa.table({k: lists(v) for k, (_, v) in columns.items()}), at / "data" / "000.parquet")
    return at


@pytest.mark.parametrize("first", ["vel", "pos"])
def test_endings_select_the_quantity(first: str, tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    """Whatever comes first in the column."""
    endings = {"vel": "qd", "pos": "q", "effort": "tau"}
    ordered = sorted(endings, key=lambda e: e != first)
    entries = [(f"{n}.{e}", state[endings[e]][:, k]) for e in ordered for k, n in enumerate(NAMES)]
    recording = px.data.open(data_set(tmp_path / "set", entries), PANDA)
    found = recording[:]
    for quantity in ("q", "qd", "tau"):
        np.testing.assert_array_equal(found[quantity], state[quantity])
    px.data.run(recording, "residual", tmp_path / "out.npy")
    tau = PANDA.inverse_dynamics(
        state["q"], state["qd"], px.data.differentiate(PANDA, state["q"], 100.0, qd=state["qd"]).qdd
    )
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), state["tau"] - tau, atol=1e-9)


def test_endings_of_one_quantity_change_nothing(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    entries = [(f"{n}.pos", state["q"][:, k]) for k, n in reversed(list(enumerate(NAMES)))]
    recording = px.data.open(data_set(tmp_path / "set", [*entries, ("gripper.pos", state["q"][:, 0])]), PANDA)
    assert list(recording.bindings) == ["q"]
    np.testing.assert_array_equal(recording[:]["q"], state["q"])


def test_a_quantity_in_two_columns_is_not_decided(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    both = [
        (f"{n}.{e}", state[v][:, k]) for e, v in (("pos", "q"), ("vel", "qd")) for k, n in enumerate(NAMES)
    ]
    root = data_set(tmp_path / "set", both, velocity=(NAMES, 2.0 * state["qd"]))
    with pytest.raises(
        px.PhalanxError, match=r'qd could be any of "observation.velocity", "observation.state"'
    ):
        px.data.open(root, PANDA)
    found = px.data.open(root, PANDA, columns={"qd": "observation.velocity"})
    np.testing.assert_array_equal(found[:]["qd"], 2.0 * state["qd"])
    assert list(px.data.open(root, PANDA, columns={"qd": "-"}).bindings) == ["q"]


@pytest.mark.parametrize(
    "names", [["panda_joint1", "panda_joint1.pos"], ["panda_joint1.pos", "panda_joint1.q"]]
)
def test_two_entries_for_one_joint_are_refused(
    names: list[str], tmp_path: Path, state: dict[str, np.ndarray]
) -> None:
    entries = [(n, state["q"][:, k]) for k, n in enumerate(NAMES) if k]
    root = data_set(tmp_path / "set", [*entries, *((n, state["q"][:, 0]) for n in names)])
    with pytest.raises(px.PhalanxError, match=rf'"{names[0]}", "{names[1]}" are both q of "panda_joint1"'):
        px.data.open(root, PANDA)
    found = px.data.open(root, PANDA, joints={names[1]: "-"})
    np.testing.assert_array_equal(found[:]["q"], state["q"])
    with pytest.raises(px.PhalanxError, match='are both q of "panda_joint1"'):
        opened(tmp_path, {"qpos": state["q"]}, joints=["panda_joint1", *NAMES[:-1]])


def test_joints_that_contradict_the_file_are_refused(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    swapped = [NAMES[k] for k in (0, 1, 2, 5, 4, 3, 6)]
    root = data_set(tmp_path / "set", [(f"{n}.pos", state["q"][:, k]) for k, n in enumerate(NAMES)])
    told = r'entry 3 of q for "panda_joint6", but the file calls it "panda_joint4.pos"; leave joints= out'
    with pytest.raises(px.PhalanxError, match=told):
        px.data.open(root, PANDA, joints=swapped)
    np.testing.assert_array_equal(px.data.open(root, PANDA, joints=NAMES)[:]["q"], state["q"])
    np.testing.assert_array_equal(px.data.open(root, PANDA, joints="robot")[:]["q"], state["q"])
    (tmp_path / "other").mkdir()
    other = data_set(tmp_path / "other" / "set", [(n, state["q"][:, NAMES.index(n)]) for n in swapped])
    with pytest.raises(px.PhalanxError, match='joints= takes entry 3 of q for "panda_joint4", but'):
        px.data.open(other, PANDA, joints="robot")
    # A mapping says that the names themselves are wrong.
    crossed = {"panda_joint4": "panda_joint6", "panda_joint6": "panda_joint4"}
    with pytest.warns(px.PhalanxWarning, match="outside its limits"):
        found = px.data.open(other, PANDA, joints=crossed)[:]["q"]
    np.testing.assert_array_equal(found, state["q"][:, [0, 1, 2, 5, 4, 3, 6]])
    for joints, told in (
        ({"elbow": "panda_joint1"}, 'maps "elbow", which no entry'),
        ({"panda_joint1": "x"}, 'names "x"'),
    ):
        with pytest.raises(px.PhalanxError, match=told):
            px.data.open(other, PANDA, joints=joints)


def test_joints_outside_their_limits_are_told(tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    """Joints 4 and 6 of a Panda have no angle in common."""
    q = state["q"][:, [0, 1, 2, 5, 4, 3, 6]]
    told = r'outside its limits in the first 20 frames: "panda_joint4" 100 %, "panda_joint6" 100 %\. Are'
    with pytest.warns(px.PhalanxWarning, match=told):
        opened(tmp_path, {"q": q})
    q = state["q"].copy()
    q[:5, 3] = 0.5
    with pytest.warns(px.PhalanxWarning, match=r': "panda_joint4" 25 %\. Are'):
        opened(tmp_path, {"q": q})
    q[:5, 3] = PANDA.limits.upper[3] + 1e-3  # noise at a limit is none of it
    opened(tmp_path, {"q": q})


@pytest.mark.parametrize("joints", [{3: "panda_joint1"}, {"a": 3}, {10**5000: "panda_joint1"}])
def test_mappings_of_joints_have_names(joints: Any, tmp_path: Path, state: dict[str, np.ndarray]) -> None:
    with pytest.raises(px.PhalanxError, match="expected names of entries and joints"):
        opened(tmp_path, {"q": state["q"]}, joints=joints)


@pytest.mark.parametrize(
    "columns", [3, "q", {"q": 3}, {"q": []}, {"q": [1]}, {"p": "q"}, {3: "q"}, {"q": None}]
)
def test_columns_that_are_none_are_refused(
    columns: Any, tmp_path: Path, state: dict[str, np.ndarray]
) -> None:
    with pytest.raises(px.PhalanxError, match="columns: got"):
        opened(tmp_path, {"q": state["q"]}, columns=columns)


def test_quantities_that_are_no_names_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", q=np.zeros((4, 2)))
    with pytest.raises(px.PhalanxError, match=r"columns: got .*, expected a mapping"):
        px.data.open(tmp_path / "in.npz", px.load("two_link"), columns={10**5000: "q"})
