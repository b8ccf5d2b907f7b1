# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A recording as a whole: envelopes of forces, power and residuals over time, few numbers each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .job import Job, Options
from .naming import rates
from .recording import Recording

BINS = 400  # along time
_PIECES, _ROWS = 32, 1 << 15  # of long recordings, so many pieces of so many frames are looked at


@dataclass(frozen=True)
class Summary:
    """Per bin of time: the least and greatest forces (bins, nv), and three kinds of total power.

    `residuals` are measured forces less computed ones (frames, nv), None where no forces were measured.
    """

    names: list[str]
    time: np.ndarray
    is_seconds: bool
    low: np.ndarray
    high: np.ndarray
    power: np.ndarray  # (bins, 3): least, mean, greatest
    residuals: np.ndarray | None
    limits: np.ndarray
    frames: int  # that were looked at
    total: int


def summarise(recording: Recording, **options: Any) -> Summary:
    """The summary of a recording; of a long one, of pieces spread evenly over it."""
    measured = recording.binding("tau") is not None
    functions = ["inverse_dynamics", "power", *(["residual"] if measured else [])]
    job = Job(recording, functions, Path("summary.npz"), Options(rows=_ROWS, allow_nan=True, **options))
    tasks, before = job.tasks, np.cumsum([0, *(t.stop - t.start for t in job.tasks)])
    chosen = sorted({round(k) for k in np.linspace(0, len(tasks) - 1, min(_PIECES, len(tasks)))})
    rows: dict[str, list[np.ndarray]] = {key: [] for key in ("time", "low", "high", "power", "residual")}
    each = max(1, BINS // len(chosen))
    for k in chosen:
        task = tasks[k]
        state, _, _ = job.frames(recording.sources[task.source], task.start, task.stop)
        found = job.computed(state)
        total = found["power"].sum(axis=1)
        cuts = np.linspace(0, len(total), min(each, len(total)) + 1).astype(int)[:-1]
        with np.errstate(invalid="ignore"):
            rows["low"].append(np.fmin.reduceat(found["inverse_dynamics"], cuts))
            rows["high"].append(np.fmax.reduceat(found["inverse_dynamics"], cuts))
            mean = np.add.reduceat(total, cuts) / np.diff([*cuts, len(total)])
            spread = [np.fmin.reduceat(total, cuts), mean, np.fmax.reduceat(total, cuts)]
        rows["power"].append(np.stack(spread, axis=1))
        ends = np.array([*cuts[1:], len(total)])
        rows["time"].append(before[k] + 0.5 * (cuts + ends))
        if measured:
            rows["residual"].append(found["residual"][:: max(1, len(total) // 4096)])
    made = {key: np.concatenate(parts) for key, parts in rows.items() if parts}
    rate = recording.rate
    return Summary(
        names=rates(recording.robot),
        time=made["time"] / (rate or 1.0),
        is_seconds=rate is not None,
        low=made["low"],
        high=made["high"],
        power=made["power"],
        residuals=made.get("residual"),
        limits=recording.robot.limits.effort,
        frames=int(sum(tasks[k].stop - tasks[k].start for k in chosen)),
        total=recording.rows,
    )
