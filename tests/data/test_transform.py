# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Transforms in the hands of other engines: NumPy, PyArrow, pandas, Dask, Ray."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import STATE, lists, motion

ROBOT = px.load("two_link")


@pytest.fixture(scope="module")
def state() -> dict[str, np.ndarray]:
    return motion(ROBOT, 400)


@pytest.fixture
def torques() -> Any:
    """Sent to another process and back."""
    made = px.data.transform(ROBOT, ["inverse_dynamics", "kinetic_energy"], keep=["frame"])
    return pickle.loads(pickle.dumps(made))


def test_a_mapping_of_arrays_gives_one(torques: Any, state: dict[str, np.ndarray]) -> None:
    found = torques({**{k: state[k] for k in STATE}, "frame": np.arange(400)})
    assert list(found) == ["frame", "inverse_dynamics", "kinetic_energy"]
    np.testing.assert_array_equal(found["inverse_dynamics"], state["tau"])
    np.testing.assert_array_equal(found["kinetic_energy"], ROBOT.kinetic_energy(state["q"], state["qd"]))


def test_single_precision_stays(state: dict[str, np.ndarray]) -> None:
    found = px.data.transform(ROBOT, "torques")({k: state[k].astype(np.float32) for k in STATE})
    assert found["inverse_dynamics"].dtype == np.float32


def test_record_batches_and_tables_give_their_kind(torques: Any, state: dict[str, np.ndarray]) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({**{k: lists(state[k]) for k in STATE}, "frame": [f"f{k}" for k in range(400)]})
    for batch in (table, table.combine_chunks().to_batches()[0]):
        found = torques(batch)
        assert type(found) is type(batch)
        values = found.column(1)
        values = values.combine_chunks() if hasattr(values, "combine_chunks") else values
        np.testing.assert_array_equal(values.flatten().to_numpy().reshape(-1, 2), state["tau"])
        assert found.column(0)[3].as_py() == "f3"


def test_data_frames_of_dask(torques: Any, state: dict[str, np.ndarray]) -> None:
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    wide = {f"{k}_{i}": state[k][:, i] for k in STATE for i in range(2)}
    frame = pd.DataFrame({**wide, "frame": np.arange(400)})
    meta = torques(frame.iloc[:1])
    found = dd.from_pandas(frame, npartitions=3).map_partitions(torques, meta=meta).compute(scheduler="sync")
    names = [f"inverse_dynamics.{joint}" for joint in ROBOT.joint_names]
    np.testing.assert_array_equal(found[names].to_numpy(), state["tau"])
    assert found["frame"].tolist() == list(range(400))


def test_blocks_of_dask_arrays(state: dict[str, np.ndarray]) -> None:
    da = pytest.importorskip("dask.array")
    torques = px.data.transform(ROBOT, "inverse_dynamics")
    blocks = [da.from_array(state[k], chunks=(150, -1)) for k in STATE]
    found = da.map_blocks(
        lambda q, qd, qdd: torques({"q": q, "qd": qd, "qdd": qdd})["inverse_dynamics"], *blocks, dtype=float
    )
    np.testing.assert_array_equal(found.compute(scheduler="sync"), state["tau"])


def test_batches_of_ray(torques: Any, state: dict[str, np.ndarray]) -> None:
    ray = pytest.importorskip("ray", reason="Ray is large and not for every Python")
    pa = pytest.importorskip("pyarrow")
    ray.init(num_cpus=1, include_dashboard=False, logging_level="error", configure_logging=False)
    try:
        import ray.data

        table = pa.table({**{k: lists(state[k]) for k in STATE}, "frame": np.arange(400)})
        data = ray.data.from_arrow(table)
        rows = data.map_batches(torques, batch_format="numpy", batch_size=130).take_all()
    finally:
        ray.shutdown()
    rows.sort(key=lambda row: row["frame"])
    np.testing.assert_array_equal(np.stack([row["inverse_dynamics"] for row in rows]), state["tau"])


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        ({"q": np.zeros((3, 2))}, "no column for qd, qdd.*px.data.run"),
        (
            {"q": np.zeros((3, 2)), "qd": np.zeros((4, 2)), "qdd": np.zeros((3, 2))},
            r"columns of \[3, 4\] rows",
        ),
        ({"x": np.zeros((3, 2))}, "no column holds the positions"),
        (7, "expected a mapping of arrays"),
    ],
)
def test_batches_that_do_not_fit_are_refused(batch: Any, told: str) -> None:
    with pytest.raises(px.PhalanxError, match=told):
        px.data.transform(ROBOT, "inverse_dynamics")(batch)


def test_no_frames_give_no_results() -> None:
    found = px.data.transform(ROBOT, "torques")({k: np.zeros((0, 2)) for k in STATE})
    assert found["inverse_dynamics"].shape == (0, 2)
