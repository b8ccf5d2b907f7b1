# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A recording in few numbers: envelopes over time, and how measured joint forces agree with computed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..robot.robot import Robot
from .job import Job, Options
from .naming import rates
from .recording import Recording

BINS = 400  # along time
_PIECES, _ROWS = 32, 1 << 15  # of long recordings, so many pieces of so many frames are read


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
    frames: int  # that were read
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


# ------------------------------------------------------------------------ measured and computed forces

# Swapped joints and reversed signs are the usual reason for residuals as large as the forces themselves.
# A greedy search applies the best swap of two joints or reversed sign as long as it helps: every permutation
# is a product of swaps.


_FRAMES, _SAMPLES = 512, 8  # frames and pieces: enough to distinguish joints
_MOST = 40  # degrees of freedom among which exchanges are tried
_GAIN = 0.5  # a change is reported if the residual shrinks to this share
_WORST = 2.0  # residuals beyond the measured forces themselves count as this, so that no joint hides others
_ENTRIES = ("q", "qd", "qdd", "tau")


@dataclass(frozen=True)
class Agreement:
    """Of each degree of freedom: rms of the residual and of the measured force, and their correlation.

    `correlation` is that of measured with computed forces, NaN where one of them is constant. `changes` are
    exchanges and signs that agree better, in words; with them, residuals are `after` times the measured
    forces, without them `before`.
    """

    names: list[str]
    rms: np.ndarray
    measured: np.ndarray
    correlation: np.ndarray
    changes: list[str]
    before: float
    after: float
    frames: int


def agreement(job: Job) -> Agreement | None:
    """The agreement in some frames of a job that reads all of the state; None where none is finite."""
    state = _some_frames(job)
    if state is None:
        return None
    robot = job.recording.robot
    computed = _computed(robot, state)
    measured = state["tau"]
    changes, after = _better(robot, state)
    return Agreement(
        names=rates(robot),
        rms=_rms(measured - computed),
        measured=_rms(measured),
        correlation=np.array([_correlation(*pair) for pair in zip(measured.T, computed.T, strict=True)]),
        changes=changes,
        before=_score(measured, computed),
        after=after,
        frames=len(measured),
    )


def _some_frames(job: Job) -> dict[str, np.ndarray] | None:
    """Finite frames, spread over the recording."""
    tasks = job.tasks
    chosen = sorted({round(k) for k in np.linspace(0, len(tasks) - 1, min(_SAMPLES, len(tasks)))})
    parts = []
    for k in chosen:
        task = tasks[k]
        try:
            state, _, _ = job.frames(job.recording.sources[task.source], task.start, task.stop)
        except PhalanxError:  # a piece that the run has skipped and reported
            continue
        every = max(1, -(-(task.stop - task.start) * len(chosen) // _FRAMES))
        parts.append({name: np.asarray(state[name][::every], np.float64) for name in _ENTRIES})
    frames = {name: np.concatenate([part[name] for part in parts]) for name in _ENTRIES} if parts else {}
    if not frames:
        return None
    good = np.logical_and.reduce([np.isfinite(array).all(axis=1) for array in frames.values()])
    return {name: array[good] for name, array in frames.items()} if good.any() else None


def _computed(robot: Any, state: Mapping[str, np.ndarray]) -> np.ndarray:
    made: np.ndarray = robot.inverse_dynamics(state["q"], state["qd"], state["qdd"])
    return made


def _rms(array: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.mean(array**2, axis=0)))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / size) if size > 0.0 else np.nan


def _score(measured: np.ndarray, computed: np.ndarray) -> float:
    """The mean over joints of the residual relative to the measured force."""
    size = np.maximum(_rms(measured), 1e-9 * max(1e-300, float(np.abs(measured).max(initial=0.0))))
    return float(np.mean(np.minimum(_rms(measured - computed) / size, _WORST)))


@dataclass(frozen=True)
class _Change:
    """A swap of two entries, or a reversed sign of one, in some quantities."""

    words: str
    names: tuple[str, ...]
    indices: tuple[tuple[int, ...], tuple[int, ...]]  # in q and in the others
    flips: bool

    def __call__(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        made = dict(state)
        for name in self.names:
            array = made[name] = state[name].copy()
            at = list(self.indices[name != "q"])
            array[:, at] = -state[name][:, at] if self.flips else state[name][:, at[::-1]]
        return made


def _changes(robot: Robot) -> Iterator[_Change]:
    """All exchanges of two joints with one coordinate each, and all reversed signs."""
    single = [(c.q.start, c.v.start) for c in robot._coordinates if c.q.stop - c.q.start == 1]
    names = rates(robot)
    for (q, v), (p, w) in combinations(single, 2):
        yield _Change(f"{names[v]} exchanged with {names[w]}", _ENTRIES, ((q, p), (v, w)), False)
    for q, v in single:
        yield _Change(f"forces of {names[v]} with the other sign", ("tau",), ((q,), (v,)), True)
        yield _Change(f"{names[v]} counted the other way", _ENTRIES, ((q,), (v,)), True)
    everywhere = tuple(range(robot.nv))
    yield _Change("all forces with the other sign", ("tau",), ((), everywhere), True)


def _better(robot: Robot, state: Mapping[str, np.ndarray]) -> tuple[list[str], float]:
    """Changes that each make the residual clearly smaller, and the residual after them."""
    best, found = _score(state["tau"], _computed(robot, state)), []
    if robot.nv > _MOST or robot.is_coupled:
        return [], best
    tried, now = list(_changes(robot)), dict(state)
    for _ in range(robot.nv):
        scores = []
        for change in tried:
            other = change(now)
            scores.append(_score(other["tau"], _computed(robot, other)))
        k = int(np.argmin(scores))
        if not scores or not scores[k] < 0.9 * best:
            break
        best, now = scores[k], tried[k](now)
        found.append(tried[k].words)
    first = _score(state["tau"], _computed(robot, state))
    return (found, best) if best < _GAIN * first else ([], first)
