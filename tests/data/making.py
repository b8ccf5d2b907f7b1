# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recordings for the tests, written by the field's own libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import phalanx as px

STATE = ("q", "qd", "qdd")


def motion(robot: px.Robot, frames: int, rate: float = 100.0, seed: int = 0) -> dict[str, np.ndarray]:
    """A smooth motion inside the limits, its derivatives exact, with the forces that it takes."""
    rng = np.random.default_rng(seed)
    n = robot.nv
    speed, phase = rng.uniform(0.5, 2.0, n), rng.uniform(0.0, 6.0, n)
    low, high = (np.nan_to_num(x, posinf=0.0, neginf=0.0) for x in (robot.limits.lower, robot.limits.upper))
    middle = 0.5 * (low + high)
    angle = np.arange(frames)[:, None] / rate * speed + phase
    q, qd, qdd = middle + 0.4 * np.sin(angle), 0.4 * speed * np.cos(angle), -0.4 * speed**2 * np.sin(angle)
    return {"q": q, "qd": qd, "qdd": qdd, "tau": robot.inverse_dynamics(q, qd, qdd)}


def lists(values: np.ndarray, fixed: bool = True) -> Any:
    """An Arrow array with a list for each row."""
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32) * values.shape[1])
    return pa.ListArray.from_arrays(offsets, flat)


def parquet(path: Path, columns: dict[str, np.ndarray], *, group: int = 1000, **options: Any) -> Path:
    """A Parquet file with lists of fixed length where columns have two axes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = {k: lists(v) if v.ndim == 2 else pa.array(v) for k, v in columns.items()}
    pq.write_table(pa.table(made), path, row_group_size=group, **options)
    return path


def lerobot(
    root: Path,
    robot: px.Robot,
    *,
    version: str = "v2.1",
    episodes: int = 3,
    names: Any = "own",
    fps: int = 50,
) -> list[dict[str, np.ndarray]]:
    """A data set in LeRobot's layout; returns its episodes. `names` are those of the entries, or None."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = {"motors": [f"{joint}.pos" for joint in robot.joint_names]} if names == "own" else names
    scalar = {"dtype": "int64", "shape": [1], "names": None}
    features = {
        "observation.state": {"dtype": "float32", "shape": [robot.nq], "names": own},
        "action": {"dtype": "float32", "shape": [robot.nq], "names": own},
        "observation.images.top": {
            "dtype": "video",
            "shape": [48, 64, 3],
            "names": ["height", "width", "channel"],
        },
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
        **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), scalar),
    }
    made, tables, before = [], [], 0
    for number in range(episodes):
        count = 40 + 7 * number
        state = motion(robot, count, fps, seed=number)
        made.append(state)
        tables.append(
            pa.table(
                {
                    "observation.state": lists(state["q"].astype(np.float32)),
                    "action": lists(state["q"].astype(np.float32)),
                    "timestamp": pa.array(np.arange(count, dtype=np.float32) / np.float32(fps)),
                    "frame_index": pa.array(np.arange(count)),
                    "episode_index": pa.array(np.full(count, number)),
                    "index": pa.array(before + np.arange(count)),
                    "task_index": pa.array(np.zeros(count, np.int64)),
                }
            )
        )
        before += count
    (root / "meta").mkdir(parents=True)
    two = version.startswith("v2")
    info = {
        "codebase_version": version,
        "robot_type": robot.name,
        "total_episodes": episodes,
        "total_frames": before,
        "total_tasks": 1,
        "chunks_size": 2 if two else 1000,
        "fps": fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
        if two
        else "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/episode_{episode_index:06d}.mp4",
        "features": features,
    }
    (root / "meta" / "info.json").write_text(json.dumps(info))
    (root / "meta" / "tasks.jsonl").write_text('{"task_index": 0, "task": "reach"}\n')
    (root / "meta" / "stats.json").write_text(
        json.dumps({"action": {"mean": [0.0]}, "timestamp": {"mean": [0.0]}})
    )
    if two:
        for number, table in enumerate(tables):
            folder = root / "data" / f"chunk-{number // 2:03d}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, folder / f"episode_{number:06d}.parquet")
    else:
        (root / "data" / "chunk-000").mkdir(parents=True)
        pq.write_table(
            pa.concat_tables(tables), root / "data" / "chunk-000" / "file-000.parquet", row_group_size=50
        )
    return made


def entries(path: Path, column: str) -> np.ndarray:
    """A column of a Parquet file (rows, n), as pyarrow reads it."""
    import pyarrow.parquet as pq

    found = pq.read_table(path, columns=[column]).column(0).combine_chunks()
    values = found.flatten() if hasattr(found, "flatten") and found.type.num_fields else found
    return values.to_numpy(zero_copy_only=False).reshape(len(found), -1)


def changed(path: Path, **values: Any) -> None:
    """Change entries of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
