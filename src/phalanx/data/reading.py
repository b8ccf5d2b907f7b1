# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Frames of a task: read with the neighbours that derivatives need, differentiated, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import PhalanxError
from .differentiation import episode
from .recording import Recording
from .source import Source

_GAP = 0.25  # of a step, by which times may differ where derivatives are taken


@dataclass(frozen=True)
class FrameReader:
    """Reads what functions need; the numbers of a frame do not depend on which frames are read with it."""

    recording: Recording
    needs: list[str]  # quantities of the robot
    read: list[str]  # those that are recorded
    derived: list[str]  # those that are differentiated
    kept: list[str]  # columns that go to the output
    dtype: np.dtype[Any]
    raw: bool  # whether those stay Arrow arrays
    starts: bool  # whether the output asks where episodes start
    window: int
    polynomial: int
    allow_nan: bool

    def frames(
        self, source: Source, start: int, stop: int
    ) -> tuple[dict[str, np.ndarray], dict[str, Any], list[int]]:
        """State, kept columns, and at which of these frames episodes start."""
        halo = self.window - 1 if self.derived else 0
        # Whether the first frame begins an episode, the frame before it tells.
        before = max(halo, int(self.starts and bool(source.episode_column)))
        low, high = max(0, start - before), min(source.rows, stop + halo)
        names = self.recording.columns_of(self.read)
        if source.episode_column and (self.derived or self.starts):
            names.append(source.episode_column)
        if self.derived and self._timed(source):
            names.append(self.recording.time)
        names = list(dict.fromkeys([*names, *(() if self.raw else self.kept)]))
        batch, kept = self._batch(source, names, low, high, start, stop)
        state = self.recording.taken(batch, self.read)
        borders = self._borders(source, batch, low, high)
        inner = slice(start - low, stop - low)
        if self.derived:
            state = self._differentiated(source, batch, state, borders, low, start, stop)
        state = {
            name: values[inner] if len(values) != stop - start else values for name, values in state.items()
        }
        if not self.allow_nan:
            for name in self.needs:
                _require_finite(source, name, state[name], start, name in self.derived)
        starts = [int(b - start) for b in borders if start <= b < stop]
        if start == 0:
            starts.insert(0, 0)
        return {name: state[name] for name in self.needs}, kept, starts

    def _batch(
        self, source: Source, names: list[str], low: int, high: int, start: int, stop: int
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Columns of the frames, and those that are kept: as they are, or as numbers."""
        if self.raw and self.kept:
            from .formats.parquet import ParquetSource

            assert isinstance(source, ParquetSource)
            raw = source.raw(list(dict.fromkeys([*names, *self.kept])), low, high)
            batch = {name: source.array(name, raw[name], low) for name in names}
            return batch, {name: raw[name].slice(start - low, stop - start) for name in self.kept}
        batch = source.read(names, low, high)
        return batch, {name: batch[name][start - low : stop - low] for name in self.kept}

    def _borders(self, source: Source, batch: Mapping[str, np.ndarray], low: int, high: int) -> np.ndarray:
        """Rows after the first of all that were read at which episodes start."""
        name = source.episode_column
        if name and name in batch:
            index = batch[name].reshape(-1)
            return low + 1 + np.flatnonzero(index[1:] != index[:-1])
        if name:  # neither the result nor derivatives ask for them
            return np.zeros(0, np.int64)
        return source.borders(max(low - 1, 0), high)

    def _timed(self, source: Source) -> bool:
        r = self.recording
        return bool(r.time) and r.options["rate"] is None and source.columns[r.time].is_real

    def _differentiated(
        self,
        source: Source,
        batch: Mapping[str, np.ndarray],
        state: Mapping[str, np.ndarray],
        borders: np.ndarray,
        low: int,
        start: int,
        stop: int,
    ) -> dict[str, np.ndarray]:
        """The state of the frames start to stop, what was not recorded differentiated inside each episode."""
        rate, nv = self.recording.rate, self.recording.robot.nv
        assert rate is not None
        high = low + len(state["q"])
        first, second = (np.empty((stop - start, nv), self.dtype) for _ in range(2))
        cuts = [low, *(int(b) for b in borders if b > low), high]
        for a, b in pairwise(cuts):
            own = max(a, start), min(b, stop)
            if own[0] >= own[1]:
                continue
            if self._timed(source):
                _require_even(source, batch[self.recording.time].reshape(-1)[a - low : b - low], a, rate)
            rows, inside = slice(a - low, b - low), slice(own[0] - start, own[1] - start)
            qd = state["qd"][rows] if "qd" in state else None
            try:
                first[inside], second[inside] = episode(
                    self.recording.robot, state["q"][rows], rate, qd, self.window, self.polynomial,
                    inner=(own[0] - a, own[1] - a),
                )  # fmt: skip
            except PhalanxError as error:
                raise PhalanxError(f"{source.where}: episode {source.episode(a)}, row {a}: {error}") from None
        inner = slice(start - low, stop - low)
        found = {name: values[inner] for name, values in state.items()}
        return {**found, "qd": found.get("qd", first), "qdd": found.get("qdd", second)}


def _require_finite(source: Source, name: str, values: np.ndarray, start: int, derived: bool) -> None:
    """Raise for the first frame that is no number, by name."""
    with np.errstate(all="ignore"):
        # A sum is three times as fast as a look at each, and is no number if one is none.
        if np.isfinite(np.add.reduce(values, axis=None)):
            return
        bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(bad):
        row = start + int(bad[0])
        entry = float(values[bad[0]][~np.isfinite(values[bad[0]])][0])
        how = " by differentiating" if derived else ""
        raise PhalanxError(
            f"{source.where}: episode {source.episode(row)}, row {row}: {name} is {entry}{how}; "
            "repair the file, or let such frames be NaN with allow_nan=True (--allow-nan)."
        )


def _require_even(source: Source, times: np.ndarray, start: int, rate: float) -> None:
    """Raise where frames are missing or times go back."""
    steps = np.diff(times.astype(np.float64)) * rate
    slack = max(
        _GAP,
        2.0
        * float(np.finfo(times.dtype).eps if times.dtype.kind == "f" else 0)
        * rate
        * float(np.abs(times).max(initial=0.0)),
    )
    bad = np.flatnonzero(~(np.abs(steps - 1.0) < slack))
    if len(bad):
        row = start + int(bad[0]) + 1
        raise PhalanxError(
            f"{source.where}: episode {source.episode(row)}, row {row}: {steps[bad[0]] / rate:.4g} s after "
            "the frame "
            f"before, expected {1.0 / rate:.4g} s; resample, or say rate= (--rate) to take frames as even."
        )
