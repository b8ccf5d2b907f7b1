# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every format reads into the same frames, lazily, and results come back in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import STATE, entries, lerobot, motion, parquet
from phalanx.cli import main

FRAMES, RATE = 2500, 100.0


@pytest.fixture(scope="module")
def panda() -> px.Robot:
    return px.load("panda")


@pytest.fixture(scope="module")
def state(panda: px.Robot) -> dict[str, np.ndarray]:
    return motion(panda, FRAMES, RATE)


def write_npz(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    np.savez(path, **{k: state[k] for k in STATE})


def write_packed(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    np.savez_compressed(path, **{k: state[k] for k in STATE})


def write_fields(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    rows = np.zeros(len(state["q"]), [(k, float, robot.nv) for k in STATE])
    for k in STATE:
        rows[k] = state[k]
    np.save(path, rows)


def write_parquet(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    pytest.importorskip("pyarrow")
    parquet(path, {k: state[k] for k in STATE})


def write_wide(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    pytest.importorskip("pyarrow")
    names = reversed(list(enumerate(robot.joint_names)))  # by name, whatever their order
    parquet(path, {f"{k}.{name}": state[k][:, i] for i, name in names for k in STATE})


def write_hdf5(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for k in STATE:
            file[k] = state[k]


def write_zarr(path: Path, state: dict[str, np.ndarray], robot: px.Robot) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(path), mode="w")
    for k in STATE:
        group.create_array(k, data=state[k], chunks=(300, robot.nv))


WRITTEN = [
    ("a.npz", write_npz),
    ("packed.npz", write_packed),
    ("fields.npy", write_fields),
    ("a.parquet", write_parquet),
    ("wide.parquet", write_wide),
    ("a.h5", write_hdf5),
    ("a.zarr", write_zarr),
]


def read(path: Path, column: str) -> np.ndarray:
    """A column of results, as the format's own library reads it."""
    if path.suffix == ".npz":
        return np.load(path)[column]
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".parquet":
        return entries(path, column)
    if path.suffix == ".h5":
        import h5py

        with h5py.File(path) as file:
            return file[column][:]
    import zarr

    return zarr.open_group(str(path), mode="r")[column][:]


@pytest.mark.parametrize(("name", "write"), WRITTEN, ids=[name for name, _ in WRITTEN])
def test_frames_and_results_are_those_of_plain_arrays(
    name: str, write: Any, tmp_path: Path, panda: px.Robot, state: dict[str, np.ndarray]
) -> None:
    path, out = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    write(path, state, panda)
    recording = px.data.open(path, panda)
    assert len(recording) == FRAMES
    some = recording[990:1010]
    for k in STATE:
        np.testing.assert_array_equal(some[k], state[k][990:1010])
    report = px.data.run(recording, "inverse_dynamics", out, rows=700)
    assert report.tasks >= 3
    np.testing.assert_array_equal(read(out, "inverse_dynamics"), state["tau"])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, out.name])


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".parquet", ".h5", ".zarr"])
def test_another_suffix_is_another_format(
    suffix: str, tmp_path: Path, panda: px.Robot, state: dict[str, np.ndarray]
) -> None:
    for package, ending in (("pyarrow", ".parquet"), ("h5py", ".h5"), ("zarr", ".zarr")):
        if suffix == ending:
            pytest.importorskip(package)
    write_npz(tmp_path / "in.npz", state, panda)
    px.data.run(px.data.open(tmp_path / "in.npz", panda), "kinetic_energy", tmp_path / f"out{suffix}")
    wanted = panda.kinetic_energy(state["q"], state["qd"])
    np.testing.assert_array_equal(read(tmp_path / f"out{suffix}", "kinetic_energy").reshape(-1), wanted)


def test_nothing_is_loaded_but_what_is_asked_for(tmp_path: Path) -> None:
    robot = px.load("two_link")
    sizes = np.random.default_rng(0).normal(size=(200_000, 2))
    np.savez(tmp_path / "a.npz", q=sizes, qd=sizes, qdd=sizes)
    np.savez(tmp_path / "first.npz", q=sizes[:10], qd=sizes[:10], qdd=sizes[:10])
    # Imports and the compiler need memory of their own: the first run has it.
    px.data.run(
        px.data.open(tmp_path / "first.npz", robot), "inverse_dynamics", tmp_path / "first.npy", rows=5
    )
    import tracemalloc

    tracemalloc.start()
    recording = px.data.open(tmp_path / "a.npz", robot)
    px.data.run(recording, "inverse_dynamics", tmp_path / "b.npy", rows=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < sizes.nbytes / 4


def test_episodes_of_an_array_with_three_axes_stay_apart(tmp_path: Path) -> None:
    robot = px.load("two_link")
    q = np.stack([motion(robot, 60, seed=k)["q"] for k in range(4)])
    np.savez(tmp_path / "a.npz", q=q)
    recording = px.data.open(tmp_path / "a.npz", robot, rate=RATE)
    assert recording.episodes == [(0, 60), (60, 120), (120, 180), (180, 240)]
    px.data.run(recording, "inverse_dynamics", tmp_path / "b.npz", rows=37)
    found = np.load(tmp_path / "b.npz")["inverse_dynamics"]
    assert found.shape == (4, 60, 2)
    for k in range(4):
        rates = px.data.differentiate(robot, q[k], RATE)
        np.testing.assert_array_equal(found[k], robot.inverse_dynamics(q[k], *rates))


def test_what_simulate_saves_can_be_opened(tmp_path: Path) -> None:
    assert (
        main(["simulate", "two_link", "--seconds", "0.3", "--save", str(tmp_path / "s.npz"), "--json"]) == 0
    )
    recording = px.data.open(tmp_path / "s.npz", "two_link")
    saved = np.load(tmp_path / "s.npz")
    np.testing.assert_array_equal(recording[:]["q"], saved["q"][0])


def test_groups_of_an_hdf5_file_are_episodes(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    robot = px.load("two_link")
    states = [motion(robot, 30 + k, seed=k) for k in range(12)]
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for k, state in enumerate(states):
            file[f"data/demo_{k}/obs/joint_pos"] = state["q"]
            file[f"data/demo_{k}/obs/joint_vel"] = state["qd"]
            file[f"data/demo_{k}/rewards"] = np.zeros(30 + k)
    recording = px.data.open(tmp_path / "a.hdf5", robot, joints="robot", rate=RATE)
    px.data.run(recording, "inverse_dynamics", tmp_path / "b.hdf5")
    with h5py.File(tmp_path / "b.hdf5") as file:
        assert list(file["data"]) == [f"demo_{k}" for k in range(12)]
        for k, state in enumerate(states):
            rates = px.data.differentiate(robot, state["q"], RATE, qd=state["qd"])
            wanted = robot.inverse_dynamics(state["q"], *rates)
            np.testing.assert_array_equal(file[f"data/demo_{k}/inverse_dynamics"][:], wanted)
        assert json.loads(file.attrs["phalanx"])["robot"] == "two_link"


def test_ends_of_episodes_in_zarr_are_kept(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    robot = px.load("two_link")
    q = motion(robot, 100)["q"].astype(np.float32)
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_array("data/qpos", data=q)
    group.create_array("meta/episode_ends", data=np.array([40, 100]))
    recording = px.data.open(tmp_path / "a.zarr", robot, joints="robot", rate=RATE)
    assert recording.dtype == np.float32
    px.data.run(recording, "inverse_dynamics", tmp_path / "b.zarr", rows=17)
    made = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")
    assert made["meta/episode_ends"][:].tolist() == [40, 100]
    assert made["data/inverse_dynamics"].dtype == np.float32
    rates = px.data.differentiate(robot, q, RATE, ends=[40, 100])
    np.testing.assert_array_equal(made["data/inverse_dynamics"][:], robot.inverse_dynamics(q, *rates))


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_a_lerobot_data_set_goes_through(version: str, tmp_path: Path, panda: px.Robot) -> None:
    pytest.importorskip("pyarrow")
    episodes = lerobot(tmp_path / "set", panda, version=version)
    recording = px.data.open(tmp_path / "set", panda)
    assert recording.rate == 50.0
    assert [b - a for a, b in recording.episodes] == [len(e["q"]) for e in episodes]
    px.data.run(recording, ["inverse_dynamics", "energy"], tmp_path / "out", rows=33)
    with pytest.warns(px.PhalanxWarning, match="outside its limits"):  # they are torques
        again = px.data.open(tmp_path / "out", panda, columns={"q": "inverse_dynamics"}, units="rad")
    found = again[:]["q"]
    before = 0
    for state in episodes:
        q = state["q"].astype(np.float32)
        rates = px.data.differentiate(panda, q, 50.0)
        np.testing.assert_array_equal(found[before : before + len(q)], panda.inverse_dynamics(q, *rates))
        before += len(q)
    info = json.loads((tmp_path / "out" / "meta" / "info.json").read_text())
    kept = {"timestamp", "frame_index", "episode_index", "index", "task_index"}
    assert set(info["features"]) == kept | {"inverse_dynamics", "kinetic_energy", "potential_energy"}
    assert info["features"]["inverse_dynamics"]["names"] == list(panda.joint_names)
    assert (tmp_path / "out" / "meta" / "tasks.jsonl").exists()
    names = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.parquet"))
    assert names == sorted(
        str(p.relative_to(tmp_path / "set")) for p in (tmp_path / "set").rglob("*.parquet")
    )


def test_a_lerobot_data_set_without_names_asks_for_joints(tmp_path: Path, panda: px.Robot) -> None:
    pytest.importorskip("pyarrow")
    lerobot(tmp_path / "set", panda, names=None)
    with pytest.raises(px.PhalanxError, match=r'entries of q have no names.*joints=\[…\].*"panda_joint7"'):
        px.data.open(tmp_path / "set", panda)
    recording = px.data.open(tmp_path / "set", panda, joints=panda.joint_names)
    px.data.run(recording, "inverse_dynamics", tmp_path / "all.npz")
    assert np.load(tmp_path / "all.npz")["episode_ends"].tolist() == [40, 87, 141]


def test_joint_states_of_ros_are_read_by_name(tmp_path: Path, panda: px.Robot) -> None:
    pytest.importorskip("mcap")
    writer = pytest.importorskip("mcap_ros2.writer")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    reader = pytest.importorskip("mcap.reader")
    state = motion(panda, 120)
    with (tmp_path / "a.mcap").open("wb") as file:
        log = writer.Writer(file)
        schema = log.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for i in range(120):
            at = 10**18 + i * 10**7
            order = np.roll(np.arange(7), i == 50)  # names may come in any order
            joints = [panda.joint_names[k] for k in order]
            stamp = {"sec": at // 10**9, "nanosec": at % 10**9}
            message = {"header": {"stamp": stamp, "frame_id": "base"}, "name": ["gripper", *joints]}
            for field, k in (("position", "q"), ("velocity", "qd"), ("effort", "tau")):
                message[field] = [0.5, *state[k][i][order].tolist()]
            log.write_message("/joint_states", schema, message, log_time=at, publish_time=at)
        log.finish()
    recording = px.data.open(tmp_path / "a.mcap", panda)
    assert recording.rate == 100.0
    for k in ("q", "qd", "tau"):
        np.testing.assert_array_equal(recording[:][k], state[k])
    px.data.run(recording, ["residual", "kinetic_energy"], tmp_path / "b.mcap", rows=50)
    found: dict[str, list[Any]] = {}
    with (tmp_path / "b.mcap").open("rb") as file:
        made = reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        for _, channel, message, decoded in made.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, decoded.data))
    times, values = zip(*found["/phalanx/residual"], strict=True)
    assert times == tuple(10**18 + i * 10**7 for i in range(120))
    rates = px.data.differentiate(panda, state["q"], 100.0, qd=state["qd"])
    np.testing.assert_array_equal(values, state["tau"] - panda.inverse_dynamics(state["q"], *rates))
    assert len(found["/phalanx/kinetic_energy"]) == 120


JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


def robomimic(path: Path, robot: px.Robot) -> list[dict[str, np.ndarray]]:
    """Demonstrations in robomimic's layout: every observation twice, the second one a frame later."""
    h5py = pytest.importorskip("h5py")
    made = []
    with h5py.File(path, "w") as file:
        for number in range(3):
            state = motion(robot, 20 + number, seed=number)
            made.append(state)
            for k, group in enumerate(("obs", "next_obs")):
                at = f"data/demo_{number}/{group}"
                file[f"{at}/robot0_joint_pos"] = np.roll(state["q"], -k, axis=0)
                file[f"{at}/robot0_joint_vel"] = np.roll(state["qd"], -k, axis=0)
            file[f"data/demo_{number}/actions"] = np.zeros((20 + number, 7))
        file["mask/train"] = np.array([b"demo_0", b"demo_2"])
    return made


def test_demonstrations_with_the_next_observation_are_read(tmp_path: Path, panda: px.Robot) -> None:
    episodes = robomimic(tmp_path / "a.hdf5", panda)
    recording = px.data.open(tmp_path / "a.hdf5", panda, joints="robot", rate=20)
    assert [b - a for a, b in recording.episodes] == [20, 21, 22]
    for k in ("q", "qd"):
        np.testing.assert_array_equal(recording[:][k], np.concatenate([e[k] for e in episodes]))
    names = {"q": "next_obs/robot0_joint_pos", "qd": "next_obs/robot0_joint_vel"}
    later = px.data.open(tmp_path / "a.hdf5", panda, joints="robot", rate=20, columns=names)
    np.testing.assert_array_equal(later[:20]["q"], np.roll(episodes[0]["q"], -1, axis=0))


def test_groups_are_chosen_by_name_or_pattern(tmp_path: Path, panda: px.Robot) -> None:
    episodes = robomimic(tmp_path / "a.hdf5", panda)
    found = {}
    for groups in ("data/demo_1", ["demo_1"], "data/demo_[12]", ["demo_2", "demo_1"]):
        recording = px.data.open(tmp_path / "a.hdf5", panda, joints="robot", rate=20, groups=groups)
        found[str(groups)] = [s.group for s in recording.sources]
        np.testing.assert_array_equal(recording[:21]["q"], episodes[1]["q"])
    assert list(found.values()) == [["data/demo_1"]] * 2 + [["data/demo_1", "data/demo_2"]] * 2
    with pytest.raises(px.PhalanxError, match=r'no group "demo_7".*"data/demo_0", "data/demo_1"'):
        px.data.open(tmp_path / "a.hdf5", panda, joints="robot", groups="demo_7")
    with pytest.raises(px.PhalanxError, match="groups: got 3"):
        px.data.open(tmp_path / "a.hdf5", panda, groups=3)
    np.savez(tmp_path / "a.npz", q=episodes[0]["q"])
    with pytest.raises(px.PhalanxError, match="only HDF5 files have groups"):
        px.data.open(tmp_path / "a.npz", panda, groups="demo_1")
