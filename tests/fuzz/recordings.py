# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Hostile recordings: small valid files of every format, damaged, then opened, read and computed with.

A case is a seed. `recording` damages a file, `data_call` passes wrong arguments to functions of `px.data`.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import phalanx as px

from .values import anything

ROWS = 24
OUTPUTS = (".npy", ".npz", ".parquet", ".h5", ".zarr", ".mcap")
FUNCTIONS = ("torques", "energy", "power", "limits", "residual", "frame_pose", "mass_matrix")
Files = dict[str, bytes]  # by path; one file, or those of a folder

# ------------------------------------------------------------------------ valid files


@cache
def robot() -> px.Robot:
    return px.load("two_link")


@cache
def motion() -> dict[str, np.ndarray]:
    t = np.arange(ROWS)[:, None] / 50.0
    q = 0.5 * np.sin(t * [2.0, 3.0])
    qd, qdd = 0.5 * np.cos(t * [2.0, 3.0]) * [2.0, 3.0], -q * [4.0, 9.0]
    index = np.arange(ROWS) // 12
    return {"q": q, "qd": qd, "qdd": qdd, "tau": q + qd, "timestamp": t[:, 0], "episode_index": index}


def _npy(rng: Random) -> Files:
    data = io.BytesIO()
    made = motion()["q"]
    kind = rng.randrange(4)
    if kind == 1:
        made = made.reshape(2, ROWS // 2, 2)
    elif kind == 2:
        made = np.asfortranarray(made.astype("f4"))
    elif kind == 3:
        made = np.array([(a, b) for a, b in zip(made, made, strict=True)], [("q", "f8", 2), ("qd", "f8", 2)])
    np.save(data, made)
    return {"a.npy": data.getvalue()}


def _npz(rng: Random) -> Files:
    data = io.BytesIO()
    save: Any = rng.choice((np.savez, np.savez_compressed))
    ends = {"episode_ends": np.array([12, ROWS])} if rng.random() < 0.4 else {}
    save(data, **{k: motion()[k] for k in ("q", "qd", "qdd", "tau", "timestamp")}, **ends)
    return {"a.npz": data.getvalue()}


def _parquet(rng: Random) -> Files:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {}
    fixed = rng.random() < 0.6
    for name, values in motion().items():
        flat = pa.array(values.reshape(-1))
        if values.ndim == 1:
            columns[name] = flat
        elif fixed:
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, 2)
        else:
            columns[name] = pa.ListArray.from_arrays(pa.array(np.arange(0, 2 * ROWS + 1, 2, np.int32)), flat)
    data = io.BytesIO()
    pq.write_table(
        pa.table(columns),
        data,
        row_group_size=rng.choice((7, 12, 100)),
        compression=rng.choice(("none", "snappy", "zstd", "gzip", "lz4")),
        use_dictionary=rng.random() < 0.3,
        write_page_checksum=rng.random() < 0.3,
    )
    return {"a.parquet": data.getvalue()}


def _hdf5(rng: Random) -> Files:
    import h5py

    data = io.BytesIO()
    options: dict[str, Any] = rng.choice(({}, {"chunks": (5, 2)}, {"chunks": (5, 2), "compression": "gzip"}))
    if options and rng.random() < 0.3:
        options = {**options, "fletcher32": True}
    with h5py.File(data, "w", libver=rng.choice(("earliest", "latest"))) as file:
        for group in rng.choice((("",), ("data/demo_0/obs/", "data/demo_1/obs/"))):
            for name in ("q", "qd", "qdd", "tau"):
                file.create_dataset(f"{group}{name}", data=motion()[name], **options)
    return {"a.h5": data.getvalue()}


def _zarr(rng: Random) -> Files:
    import zarr

    with tempfile.TemporaryDirectory() as at:
        root = zarr.open_group(f"{at}/a.zarr", mode="w", zarr_format=rng.choice((2, 3)))
        for name in ("q", "qd", "qdd"):
            root.create_array(name, data=motion()[name], chunks=(10, 2))
        if rng.random() < 0.5:
            root.create_array("episode_ends", data=np.array([12, ROWS]))
        found = sorted(p for p in Path(at).rglob("*") if p.is_file())
        return {str(p.relative_to(at)): p.read_bytes() for p in found}


def _mcap(rng: Random) -> Files:
    from mcap.writer import CompressionType, Writer

    data = io.BytesIO()
    kind = rng.choice((CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4))
    writer = Writer(data, compression=kind, chunk_size=rng.choice((500, 1 << 20)))
    writer.start("ros2", "phalanx")
    schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"float64[] position")
    topic = writer.register_channel("/joint_states", "cdr", schema)
    for k in range(ROWS):
        time = 20_000_000 * k
        writer.add_message(topic, time, _joint_state(k), time, k)
    writer.finish()
    return {"a.mcap": data.getvalue()}


def _joint_state(row: int) -> bytes:
    """A message in CDR: stamp, frame, names, positions, velocities, efforts."""
    body = struct.pack("<iI", 0, 20_000_000 * row) + struct.pack("<I", 1) + b"\0"
    body += b"\0" * (-len(body) % 4) + struct.pack("<I", 2)
    for name in robot().joint_names:
        body += b"\0" * (-len(body) % 4) + struct.pack("<I", len(name) + 1) + name.encode() + b"\0"
    for quantity in ("q", "qd", "tau"):
        body += b"\0" * (-len(body) % 4) + struct.pack("<I", 2)
        body += b"\0" * (-len(body) % 8) + motion()[quantity][row].tobytes()
    return b"\0\1\0\0" + body


MAKERS: dict[str, Callable[[Random], Files]] = {
    "npy": _npy,
    "npz": _npz,
    "parquet": _parquet,
    "hdf5": _hdf5,
    "zarr": _zarr,
    "mcap": _mcap,
}


@cache
def valid(form: str, variant: int) -> Files:
    """A valid recording; there are few, since making one takes longer than damaging it."""
    return MAKERS[form](Random(f"{form}{variant}"))


# ------------------------------------------------------------------------ damage

_NUMBERS = (
    *(0, 1, -1, 2, 7, 127, 128, 255, 256, 65535),
    *(2**31 - 1, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63)),
)


def damaged(rng: Random, data: bytes) -> bytes:
    """Some bytes with a few faults, mostly small ones."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not made:
            break
        # Headers and footers are where most is decided.
        size = len(made)
        near_end = size - 1 - rng.randrange(min(size, 600))
        at = rng.choice((rng.randrange(size), rng.randrange(min(size, 200)), near_end))
        kind = rng.randrange(9)
        if kind <= 2:
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            made[at] = rng.choice((0, 1, 9, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 4:
            form = rng.choice(("<H", "<I", "<Q", ">I"))
            number = struct.pack(form, rng.choice(_NUMBERS) % 256 ** struct.calcsize(form))
            made[at : at + len(number)] = number
        elif kind == 5:
            del made[at : size if rng.random() < 0.5 else at + rng.randrange(1, 40)]
        elif kind == 6:
            zeros, head = bytes(rng.randrange(1, 30)), bytes(made[: rng.randrange(1, 60)])
            made[at:at] = rng.choice((zeros, head, b"\xff" * 9))
        elif kind == 7:
            end = at + rng.randrange(1, 60)
            made[at:end] = bytes(rng.randrange(256) for _ in made[at:end])
        else:
            other = rng.randrange(size)
            made[at : at + 8], made[other : other + 8] = made[other : other + 8], made[at : at + 8]
    return bytes(made)


def damaged_files(rng: Random, files: Files) -> Files:
    """The files of a recording, one of them damaged, missing, or in the way."""
    made = dict(files)
    name = rng.choice(sorted(made))
    if len(made) > 1 and rng.random() < 0.1:
        del made[name]
    elif name.endswith((".json", ".zarray", ".zgroup")) and rng.random() < 0.7:
        made[name] = _damaged_json(rng, made[name])
    else:
        made[name] = damaged(rng, made[name])
    return made


def _damaged_json(rng: Random, data: bytes) -> bytes:
    """Metadata with other numbers and words in it."""
    words = data.decode().split('"')
    k = rng.randrange(len(words))
    if rng.random() < 0.5:
        words[k] = rng.choice(("", "x", "float64", "int8", "complex128", "gzip", "bytes", "..", "/", "null"))
    else:
        digits = [i for i, word in enumerate(words) if any(c.isdigit() for c in word)]
        k = rng.choice(digits or [k])
        number = str(rng.choice((*_NUMBERS, 10**15, 10**30, "NaN", "null", "[]", "1.5")))
        found = [i for i, c in enumerate(words[k]) if c.isdigit()]
        if found:
            i = rng.choice(found)
            words[k] = words[k][:i] + number + words[k][i + 1 :]
    return '"'.join(words).encode()


# ------------------------------------------------------------------------ cases


def recording(seed: int) -> None:
    """Open a damaged recording, read it and compute with it."""
    rng = Random(seed)
    form = rng.choice(tuple(MAKERS))
    files = damaged_files(rng, valid(form, rng.randrange(6)))
    try:
        for name, data in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        root = Path(next(iter(valid(form, 0))).split("/")[0])
        more: dict[str, Any] = {"joints": "robot"} if form == "npy" else {}
        if rng.random() < 0.3:
            more["rate"] = 50.0
        _use(rng, px.data.open(root, robot(), **more))
    finally:
        for name in {n.split("/")[0] for n in files}:
            shutil.rmtree(name) if os.path.isdir(name) else Path(name).unlink()


def _use(rng: Random, opened: px.data.Recording) -> None:
    repr(opened)
    some = opened[rng.choice((0, 3)) : rng.choice((5, ROWS))]
    assert all(len(v) == len(some["q"]) for v in some.values())
    if rng.random() < 0.3:
        assert sum(b - a for a, b in opened.episodes) == opened.rows
    if rng.random() < 0.5:
        _run(rng, opened, rng.choice(FUNCTIONS[:5]), skip_bad=rng.random() < 0.3, rows=rng.choice((None, 5)))


def _run(rng: Random, opened: px.data.Recording, functions: Any, **options: Any) -> None:
    """Compute and write; the output is there as a whole, or nothing, or what an error says is kept."""
    out = Path(f"out{rng.choice(OUTPUTS)}")
    partial = Path(f"{out}.partial")
    try:
        report = px.data.run(opened, functions, out, keep=rng.choice(("none", "index")), **options)
        assert out.exists() == report.complete
    except px.PhalanxError as error:
        assert not out.exists()
        assert not partial.exists() or "parts are kept" in str(error), "a folder is left"  # noqa: PT017
        raise
    finally:
        for path in (out, partial):
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)


def data_call(seed: int) -> None:
    """Call a function of `px.data` with arguments that are nearly right, or not at all."""
    rng = Random(seed)
    rng.choice((_open_call, _open_call, _run_call, _differentiate_call, _transform_call))(rng)


def near(rng: Random, *values: Any, odds: float = 0.25) -> Any:
    return anything(rng) if rng.random() < odds else rng.choice(values)


def _words(rng: Random) -> Any:
    return near(rng, "q", "qd", "tau", "-", "robot", "deg", "rad", "joint1", "joint2", "", "x", 1.0, None)


def _some(rng: Random) -> Any:
    """A word, a list or a mapping of words, or anything."""
    kind = rng.randrange(4)
    if kind == 0:
        return _words(rng)
    if kind == 1:
        return [_words(rng) for _ in range(rng.randrange(4))]
    if kind == 2:
        with contextlib.suppress(TypeError):  # what cannot be a key
            return {_words(rng): _words(rng) for _ in range(rng.randrange(3))}
    return near(rng, None, odds=0.5)


def _open_call(rng: Random) -> None:
    options = {n: _some(rng) for n in ("joints", "units", "columns", "groups") if rng.random() < 0.35}
    if rng.random() < 0.35:
        options["rate"] = near(rng, 50.0, None, odds=0.5)
    path = Path("a.npz")
    path.write_bytes(valid("npz", rng.randrange(6))["a.npz"])
    try:
        where, which = near(rng, path, str(path), odds=0.1), near(rng, robot(), "two_link", odds=0.1)
        whole = px.data.open(where, which, **options)
        _use(rng, whole)
        whole[near(rng, slice(None), slice(2, 5), slice(5, 2), slice(-3, None))]
    finally:
        path.unlink()


def _run_call(rng: Random) -> None:
    path = Path("a.npz")
    path.write_bytes(valid("npz", rng.randrange(6))["a.npz"])
    options: dict[str, Any] = {}
    for name, values in (
        ("frames", ((), ("link2",), ["nowhere"])),
        ("window", (11, 5, 4)),
        ("polynomial", (3, 2)),
        ("allow_nan", (True, False)),
        ("skip_bad", (True, False)),
        ("shard", (None, (1, 1), (1, 2))),
        ("fresh", (True, False)),
    ):
        if rng.random() < 0.3:
            options[name] = near(rng, *values, odds=0.4)
    options["rows"] = near(rng, None, 5, odds=0.15)
    functions = near(rng, *FUNCTIONS, list(FUNCTIONS[:3]), [], "nothing")
    out = Path(f"out{rng.choice((*OUTPUTS, '', '.csv'))}")
    try:
        target = near(rng, out, str(out), odds=0.1)
        made = px.data.run(px.data.open(path, robot()), functions, target, **options)
        assert made.frames >= 0
    finally:
        path.unlink()
        for each in list(Path().iterdir()):
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()


def _differentiate_call(rng: Random) -> None:
    values = motion()
    options = {
        name: near(rng, *good, odds=0.4)
        for name, good in (
            ("qd", (values["qd"], None)),
            ("ends", ([12, ROWS], [ROWS], None, [5, 5])),
            ("window", (11, 5)),
            ("polynomial", (3, 2)),
        )
        if rng.random() < 0.4
    }
    with np.errstate(all="ignore"):
        which, q = near(rng, robot(), odds=0.1), near(rng, values["q"], values["q"].tolist())
        made = px.data.differentiate(which, q, near(rng, 50.0, 50), **options)
    assert made.qd.shape == made.qdd.shape


def _transform_call(rng: Random) -> None:
    options = {
        name: _some(rng) for name in ("joints", "units", "columns", "frames", "keep") if rng.random() < 0.3
    }
    made = px.data.transform(near(rng, robot(), odds=0.1), near(rng, *FUNCTIONS), **options)
    batch = {k: near(rng, v, v[:5], v.tolist(), odds=0.1) for k, v in motion().items() if rng.random() < 0.9}
    with np.errstate(all="ignore"):
        made(near(rng, batch, odds=0.1))
