# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Malformed input: one clear line, exit status 2, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import phalanx as px
from data.making import changed, lerobot, lists, motion, parquet
from phalanx.cli import main
from phalanx.data.footer import decode, encode
from phalanx.data.recording import FORMATS

ROBOT = px.load("two_link")
Made = tuple[str, str, list[str]]  # the input, what the message says, more arguments


def state(frames: int = 300) -> dict[str, np.ndarray]:
    return {k: v for k, v in motion(ROBOT, frames).items() if k != "tau"}


def torn_footer(at: Path) -> Made:
    whole = parquet(at / "a.parquet", state()).read_bytes()
    (at / "a.parquet").write_bytes(whole[:-20])
    return "a.parquet", "no whole Parquet file", []


def torn_pages(at: Path) -> Made:
    whole = bytearray(parquet(at / "a.parquet", state(), write_page_checksum=True).read_bytes())
    whole[700:800] = bytes(100)
    (at / "a.parquet").write_bytes(whole)
    return "a.parquet", r"rows 0 to \d+ cannot be read.*the file is damaged", []


def not_parquet(at: Path) -> Made:
    (at / "a.parquet").write_bytes(b"")
    return "a.parquet", "no whole Parquet file", []


def torn_npz(at: Path) -> Made:
    np.savez(at / "a.npz", **state())
    (at / "a.npz").write_bytes((at / "a.npz").read_bytes()[:-100])
    return "a.npz", "no whole .npz file", []


def torn_npy(at: Path) -> Made:
    np.save(at / "a.npy", state()["q"])
    (at / "a.npy").write_bytes((at / "a.npy").read_bytes()[:-100])
    return "a.npy", "no whole .npy file", ["--joints", "robot", "--rate", "100"]


def python_objects(at: Path) -> Made:
    np.savez(at / "a.npz", q=np.array([{"a": 1}], dtype=object))
    return "a.npz", "Python objects", []


def wrong_type(at: Path) -> Made:
    np.savez(at / "a.npz", **{**state(), "q": np.full((300, 2), "x")})
    return "a.npz", '"q" .* holds <U1, expected real numbers', []


def missing_column(at: Path) -> Made:
    parquet(at / "a.parquet", {"speed": state()["qd"]})
    return "a.parquet", 'no column holds the positions q.*"speed".*--columns', []


def unequal_lengths(at: Path) -> Made:
    np.savez(at / "a.npz", **{**state(), "qd": np.zeros((299, 2))})
    return "a.npz", r'"qd" has shape \(299, 2\), but the frames are \(300,\)', []


def not_a_number(at: Path) -> Made:
    values = state()
    values["qd"][217, 1] = np.nan
    parquet(at / "a.parquet", {**values, "episode_index": np.arange(300) // 100}, group=100)
    return "a.parquet", r"a.parquet: episode 2, row 217: qd is .*nan.*--allow-nan", []


def missing_entry(at: Path) -> Made:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [None if k == 41 else [0.0, 0.0] for k in range(100)]
    column = pa.array(rows, pa.list_(pa.float64(), 2))
    pq.write_table(pa.table(dict.fromkeys(("q", "qd", "qdd"), column)), at / "a.parquet")
    return "a.parquet", r'episode 0, row 41: "q" is missing', []


def ragged_rows(at: Path) -> Made:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [[0.0] * (3 if k == 17 else 2) for k in range(100)]
    pq.write_table(pa.table({k: pa.array(rows) for k in ("q", "qd", "qdd")}), at / "a.parquet")
    return "a.parquet", r'episode 0, row 17: "q" has 3 entries, expected 2', []


def wrong_joint_count(at: Path) -> Made:
    np.savez(at / "a.npz", **{k: np.zeros((10, 3)) for k in ("q", "qd", "qdd")})
    return "a.npz", 'q has 3 entries a frame, expected 2 for robot "two_link".*--joints', []


def unknown_joints(at: Path) -> Made:
    values = state()
    parquet(at / "a.parquet", {f"q.{n}": values["q"][:, k] for k, n in enumerate(("a", "b"))})
    return "a.parquet", "q has no entry for", []


def empty_file(at: Path) -> Made:
    np.savez(at / "a.npz", q=np.zeros((0, 2)))
    return "a.npz", "holds no frames", []


def empty_episode(at: Path) -> Made:
    np.savez(at / "a.npz", **state(), episode_ends=np.array([100, 100, 300]))
    return "a.npz", "episode_ends do not rise.*an episode is empty", []


def short_episode(at: Path) -> Made:
    index = np.repeat([0, 1, 2], [150, 2, 148])
    parquet(at / "a.parquet", {"q": state()["q"], "episode_index": index})
    return "a.parquet", "episode 1, row 150: an episode of 2 frames", ["--rate", "100"]


def no_rate(at: Path) -> Made:
    np.savez(at / "a.npz", q=state()["q"])
    return "a.npz", "qd and qdd are not recorded.*--rate", []


def gap_in_time(at: Path) -> Made:
    times = np.arange(400) / 100.0
    times[333:] += 0.5
    parquet(at / "a.parquet", {"q": state(400)["q"], "timestamp": times})
    return "a.parquet", r"row 333: 0.51 s after the frame before, expected 0.01 s", []


def path_traversal(at: Path) -> Made:
    lerobot(at / "set", ROBOT)
    parquet(at / "episode_000000.parquet", state())
    changed(at / "set" / "meta" / "info.json", data_path="../episode_{episode_index:06d}.parquet")
    return "set", "leaves the folder of the data set; refused", []


def format_attack(at: Path) -> Made:
    lerobot(at / "set", ROBOT)
    changed(at / "set" / "meta" / "info.json", data_path="data/{episode_index.__class__}.parquet")
    return "set", "data_path is .*expected a path with", []


def missing_episode(at: Path) -> Made:
    lerobot(at / "set", ROBOT)
    (at / "set" / "data" / "chunk-000" / "episode_000001.parquet").unlink()
    return "set", "episode 1 of 3 is missing: there is no file", []


def lost_frames(at: Path) -> Made:
    lerobot(at / "set", ROBOT, version="v3.0")
    changed(at / "set" / "meta" / "info.json", total_frames=999)
    return "set", "total_frames is 999, but the files hold 141 rows", []


def torn_manifest(at: Path) -> Made:
    lerobot(at / "set", ROBOT)
    (at / "set" / "meta" / "info.json").write_text('{"codebase_version": "v2.1", "feat')
    return "set", "no JSON that can be read", []


def torn_hdf5(at: Path) -> Made:
    h5py = pytest.importorskip("h5py")
    with h5py.File(at / "a.h5", "w") as file:
        file["q"] = state()["q"]
    (at / "a.h5").write_bytes((at / "a.h5").read_bytes()[:1000])
    return "a.h5", "no whole HDF5 file", []


def hdf5_elsewhere(at: Path) -> Made:
    h5py = pytest.importorskip("h5py")
    (at / "secret").write_bytes(bytes(4800))
    with h5py.File(at / "a.h5", "w") as file:
        file.create_dataset("q", (300, 2), float, external=[(str(at / "secret"), 0, 4800)])
    return "a.h5", "lies in another file, which is not followed; refused", []


def torn_zarr(at: Path) -> Made:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(at / "a.zarr"), mode="w")
    for k, v in state().items():
        group.create_array(k, data=v)
    chunk = next(p for p in (at / "a.zarr" / "qd" / "c").rglob("*") if p.is_file())
    chunk.write_bytes(chunk.read_bytes()[:10])
    return "a.zarr", '"qd" cannot be read in rows 0 to 300', []


def torn_mcap(at: Path) -> Made:
    pytest.importorskip("mcap")
    (at / "a.mcap").write_bytes(b"\x89MCAP0\r\n" + bytes(50))
    return "a.mcap", "no whole MCAP file", []


def mixed_files(at: Path) -> Made:
    (at / "set").mkdir()
    parquet(at / "set" / "a.parquet", state())
    np.savez(at / "set" / "b.npz", **state())
    return "set", "files of several formats", []


def different_files(at: Path) -> Made:
    (at / "set").mkdir()
    parquet(at / "set" / "a.parquet", state())
    parquet(at / "set" / "b.parquet", {k: v.astype(np.float32) for k, v in state().items()})
    return "set", 'b.parquet: column "q" has 2 entries of float32, expected 2 of float64', []


def unknown_suffix(at: Path) -> Made:
    (at / "a.csv").write_text("q")
    return "a.csv", r"ends in '.csv', expected one of .npy", []


def no_file(at: Path) -> Made:
    return "absent.parquet", "there is no such file or folder", []


CASES: list[Callable[[Path], Made]] = [
    torn_footer, torn_pages, not_parquet, torn_npz, torn_npy, python_objects, wrong_type, missing_column,
    unequal_lengths, not_a_number, missing_entry, ragged_rows, wrong_joint_count, unknown_joints, empty_file,
    empty_episode, short_episode, no_rate, gap_in_time, path_traversal, format_attack, missing_episode,
    lost_frames, torn_manifest, torn_hdf5, hdf5_elsewhere, torn_zarr, torn_mcap, mixed_files, different_files,
    unknown_suffix, no_file,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_is_one_line_and_status_two_and_nothing_is_left(
    case: Callable[[Path], Made], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    name, told, more = case(tmp_path)
    before = set(tmp_path.rglob("*"))
    out = tmp_path / ("out" if name == "set" else "out.npz")
    arguments = ["run", "two_link", str(tmp_path / name), "-o", str(out), "-f", "inverse_dynamics", *more]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("phalanx run: ")
    assert name in line
    import re

    assert re.search(told, line), line
    assert set(tmp_path.rglob("*")) == before


def test_frames_that_are_no_numbers_are_nan_if_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    not_a_number(tmp_path)
    recording = px.data.open(tmp_path / "a.parquet", ROBOT)
    px.data.run(recording, "inverse_dynamics", tmp_path / "b.npz", allow_nan=True)
    bad = np.isnan(np.load(tmp_path / "b.npz")["inverse_dynamics"]).any(axis=1)
    assert np.flatnonzero(bad).tolist() == [217]


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz"])
def test_bad_pieces_are_left_out_if_asked_for_and_named(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    not_a_number(tmp_path)
    out = tmp_path / f"b{suffix}"
    command = [
        "run",
        "two_link",
        str(tmp_path / "a.parquet"),
        "-o",
        str(out),
        "-f",
        "inverse_dynamics",
        "--rows",
        "100",
    ]
    assert main([*command, "--skip-bad", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [reason.partition(": ")[2][:18] for reason in facts["skipped"]] == ["episode 2, row 217"]
    if suffix == ".parquet":
        from data.making import entries

        rows = entries(out, "inverse_dynamics")
    else:
        rows = np.load(out) if suffix == ".npy" else np.load(out)["inverse_dynamics"]
    wanted = motion(ROBOT, 300)["tau"]
    np.testing.assert_array_equal(rows, wanted[:200])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("suffix", FORMATS)
def test_pipes_sockets_and_devices_are_refused(suffix: str, tmp_path: Path) -> None:
    """Opening a pipe waits for whoever writes to it: for ever."""
    for package, ending in (("zarr", ".zarr"), ("mcap", ".mcap"), ("h5py", ".h5"), ("pyarrow", ".parquet")):
        if suffix == ending:
            pytest.importorskip(package)
    pipe, device, unix = (tmp_path / f"{name}{suffix}" for name in ("pipe", "device", "socket"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(unix))
        for path, told in ((pipe, "is a pipe"), (device, "is a device"), (unix, "is a socket")):
            with pytest.raises(px.PhalanxError, match=told if suffix != ".zarr" else "no Zarr group"):
                px.data.open(path, ROBOT)
    (tmp_path / "set").mkdir()
    pipe.rename(tmp_path / "set" / pipe.name)
    with pytest.raises(px.PhalanxError, match="is a pipe" if suffix != ".zarr" else "no Zarr group"):
        px.data.open(tmp_path / "set", ROBOT)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_inside_a_zarr_group_are_refused(tmp_path: Path) -> None:
    torn_zarr(tmp_path)
    chunk = next(p for p in (tmp_path / "a.zarr" / "qd" / "c").rglob("*") if p.is_file())
    for path in (chunk, tmp_path / "a.zarr" / "zarr.json"):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(px.PhalanxError, match="is a pipe"):
            px.data.open(tmp_path / "a.zarr", ROBOT)[0:10]


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["q"] = state(20)["q"]
        file[b"q\xff"] = state(20)["qd"]
    with pytest.raises(px.PhalanxError, match=r"the name b'q\\xff' is no text in UTF-8"):
        px.data.open(tmp_path / "a.h5", ROBOT)


def test_names_that_are_too_long_are_refused() -> None:
    for name in ("x" * 5000, "x" * 5000 + ".npz"):
        with pytest.raises(px.PhalanxError, match="cannot be read: File name too long"):
            px.data.open(name, ROBOT)


def test_a_column_wider_than_any_robot_is_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("q", shape=(5, 2**40), chunks=(5, 2), dtype="f8")  # none of it is written
    with pytest.raises(px.PhalanxError, match='column "q" has 1,099,511,627,776 entries, expected at most'):
        px.data.open(tmp_path / "a.h5", ROBOT, joints="robot")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("length", [0, 10, 120, 318777567])
def test_chunks_that_blosc_would_read_beyond_their_end_are_refused(
    version: Literal[2, 3], length: int, tmp_path: Path
) -> None:
    """It reads as far as their heads say, and may end the process."""
    zarr, numcodecs = pytest.importorskip("zarr"), pytest.importorskip("numcodecs")
    root = zarr.open_group(str(tmp_path / "a.zarr"), mode="w", zarr_format=version)
    packer = numcodecs.Blosc() if version == 2 else zarr.codecs.BloscCodec()
    for name in ("q", "qd"):
        root.create_array(name, data=state(24)[name], chunks=(10, 2), compressors=[packer])
    assert px.data.open(tmp_path / "a.zarr", ROBOT)[:]["q"].shape == (24, 2)
    chunk = tmp_path / "a.zarr" / "q" / ("2.0" if version == 2 else "c/2/0")
    whole = chunk.read_bytes()
    assert int.from_bytes(whole[12:16], "little") == len(whole)
    damaged = whole[:length] if length < 100 else whole[:12] + length.to_bytes(4, "little") + whole[16:]
    chunk.write_bytes(damaged)
    with pytest.raises(px.PhalanxError, match="is no whole chunk of Blosc; the file is damaged"):
        px.data.open(tmp_path / "a.zarr", ROBOT)[:]


def test_a_damaged_parquet_footer_does_not_end_the_process(tmp_path: Path) -> None:
    """pyarrow aborts where it is asked for a column chunk with an unknown codec, say."""
    pytest.importorskip("pyarrow")
    whole = parquet(tmp_path / "a.parquet", state(20)).read_bytes()
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    footer = decode(whole[end:-8])
    group = footer.fields[4][1][1][0]
    metadata = group.fields[1][1][1][0].fields[3][1]
    metadata.fields[4] = (metadata.fields[4][0], 9)  # a codec that nobody knows
    damaged = encode(footer)
    (tmp_path / "a.parquet").write_bytes(
        whole[:end] + damaged + len(damaged).to_bytes(4, "little") + whole[-4:]
    )
    script = 'import sys, phalanx as px; px.data.open(sys.argv[1], "two_link")'
    command = [sys.executable, "-c", script, str(tmp_path / "a.parquet")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 1, made.stderr[-2000:]
    assert "PhalanxError" in made.stderr.splitlines()[-1]
    for bit in range(8 * end, 8 * len(whole), 211):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / "a.parquet").write_bytes(flipped)
        with contextlib.suppress(px.PhalanxError):
            px.data.open(tmp_path / "a.parquet", ROBOT)


def test_a_list_of_any_length_is_read_like_one_of_fixed_length(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = state()
    pq.write_table(pa.table({k: lists(v, fixed=False) for k, v in values.items()}), tmp_path / "a.parquet")
    found = px.data.open(tmp_path / "a.parquet", ROBOT)[10:20]
    np.testing.assert_array_equal(found["qd"], values["qd"][10:20])


def test_degrees_are_not_taken_for_radians(tmp_path: Path) -> None:
    panda = px.load("panda")
    values = motion(panda, 50)
    np.savez(tmp_path / "a.npz", **{k: np.rad2deg(values[k]) for k in ("q", "qd", "qdd")})
    with pytest.raises(px.PhalanxError, match=r"these look like degrees; say units=.deg"):
        px.data.open(tmp_path / "a.npz", panda)
    px.data.run(px.data.open(tmp_path / "a.npz", panda, units="deg"), "torques", tmp_path / "b.npy")
    np.testing.assert_allclose(np.load(tmp_path / "b.npy"), values["tau"], atol=1e-10)


def test_millimetres_are_not_taken_for_metres(tmp_path: Path) -> None:
    builder = px.RobotBuilder("rail")
    builder.add_link("base")
    builder.add_link("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("slide", "prismatic", "base", "cart", axis=(1, 0, 0), lower=-0.5, upper=0.5)
    rail = builder.build()
    values = {k: 0.3 * np.cos(np.arange(20.0))[:, None] for k in ("q", "qd", "qdd")}
    np.savez(tmp_path / "a.npz", **{k: 1e3 * v for k, v in values.items()})
    with pytest.raises(
        px.PhalanxError, match=r"its limit is 0.5 m: these look like millimetres; say units=.mm"
    ):
        px.data.open(tmp_path / "a.npz", rail)
    found = px.data.open(tmp_path / "a.npz", rail, units="mm")[:]
    np.testing.assert_allclose(found["q"], values["q"], rtol=1e-12)
