# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recording: opened files of one robot's motion, as episodes of named columns that are read in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PhalanxError, shown
from ..robot.robot import Robot
from .arguments import rate_from
from .binding import Binding, bound, require_plausible, warn_outside
from .naming import TIMES
from .source import Column, Source

_PROBE = 256  # frames that are looked at when a recording is opened
_EVEN = 0.01  # of a step, by which times may differ and still be an even rate


@dataclass(frozen=True)
class RecordingLayout:
    """What a format tells about a recording beside its frames, for writing the same format again."""

    format: str
    root: Path  # the file or folder that was opened
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rate: float | None = None  # frames a second, where the file tells


class Recording:
    """Frames of a robot in files: episodes of named columns, of which only what is asked for is read.

    `len(recording)` is the number of frames; `recording[a:b]` reads q, and qd, qdd and tau where recorded, in
    the robot's order and SI units.
    """

    def __init__(
        self,
        robot: Robot,
        sources: Sequence[Source],
        layout: RecordingLayout,
        *,
        joints: Any = None,
        units: Any = None,
        rate: float | None = None,
        columns: Any = None,
        groups: Any = None,
    ) -> None:
        self.robot, self.sources, self.layout = robot, tuple(sources), layout
        self.options = {"joints": joints, "units": units, "rate": rate, "columns": columns, "groups": groups}
        if not self.sources or not sum(s.rows for s in self.sources):
            raise PhalanxError(f"{layout.root}: holds no frames; expected at least one.")
        first = next(s for s in self.sources if s.rows)
        self.columns: Mapping[str, Column] = first.columns
        self.bindings = bound(robot, first.columns, first.where, joints=joints, units=units, names=columns)
        for source in self.sources:
            self._require_alike(source)
        self.rows = sum(s.rows for s in self.sources)
        probe = self.taken(first.first(self.columns_of(["q"]), _PROBE), ["q"])["q"]
        require_plausible(robot, probe, first.where, units)
        warn_outside(robot, probe, first.where)
        self.time = next((name for name in TIMES if name in self.columns), "")
        self.rate = self._rate(first, rate)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return (
            f'<Recording "{self.layout.root}": {self.rows:,} frames, {len(self.sources)} sources, '
            f"{', '.join(self.bindings)} of {self.robot.name}>"
        )

    def __reduce__(self) -> Any:
        from .opening import open as again

        return _again, (again, str(self.layout.root.absolute()), self.robot, self.options)

    def __getitem__(self, rows: slice) -> dict[str, np.ndarray]:
        if not isinstance(rows, slice) or not (
            rows.step is None or (type(rows.step) is int and rows.step == 1)
        ):
            raise PhalanxError("recording[…]: expected a range of frames, recording[start:stop].")
        try:
            start, stop, _ = rows.indices(self.rows)
        except TypeError:
            raise PhalanxError(f"recording[…]: got {shown(rows)}, expected integers as borders.") from None
        parts = [self.state(s, a, b) for s, a, b in self.ranges(start, max(start, stop))]
        if not parts:
            return {name: np.zeros((0, self._width(name)), self.dtype) for name in self.bindings}
        return {name: np.concatenate([part[name] for part in parts]) for name in self.bindings}

    def ranges(self, start: int, stop: int) -> Iterator[tuple[Source, int, int]]:
        """The pieces of sources that frames start to stop are."""
        before = 0
        for source in self.sources:
            low, high = max(start - before, 0), min(stop - before, source.rows)
            if low < high:
                yield source, low, high
            before += source.rows

    @property
    def episodes(self) -> list[tuple[int, int]]:
        """First and last + 1 frame of every episode."""
        found, before = [], 0
        for s in self.sources:
            cuts = [0, *map(int, s.borders(0, s.rows)), s.rows] if s.rows else []
            found += [(before + a, before + b) for a, b in pairwise(cuts)]
            before += s.rows
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 where all that is recorded of the motion is, else float64."""
        return self.dtype_of(list(self.bindings))

    def dtype_of(self, quantities: Sequence[str]) -> np.dtype[Any]:
        """The type in which some quantities are computed."""
        names = [name for quantity in quantities for name in self.bindings[quantity].columns]
        single = all(self.columns[name].dtype == np.float32 for name in names)
        return np.dtype(np.float32 if single else np.float64)

    def columns_of(self, quantities: Sequence[str]) -> list[str]:
        """The columns that hold some quantities, each once."""
        return list(dict.fromkeys(name for k in quantities for name in self.bindings[k].columns))

    def state(
        self, source: Source, start: int, stop: int, quantities: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """q, qd, … of rows of a source, in the robot's order and SI units."""
        names = list(self.bindings) if quantities is None else list(quantities)
        batch = source.read(self.columns_of(names), start, stop)
        return self.taken(batch, names)

    def taken(self, batch: Mapping[str, np.ndarray], quantities: Sequence[str]) -> dict[str, np.ndarray]:
        """q, qd, … from columns that were read."""
        dtype = self.dtype_of(quantities)
        return {name: self.bindings[name].take(batch, dtype) for name in quantities}

    def _width(self, quantity: str) -> int:
        return self.robot.nq if quantity == "q" else self.robot.nv

    def _require_alike(self, source: Source) -> None:
        """All sources have what was found in the first."""
        for binding in self.bindings.values():
            for name in binding.columns:
                found, first = source.column(name), self.columns[name]
                if source.rows and (found.width, found.dtype) != (first.width, first.dtype):
                    raise PhalanxError(
                        f'{source.where}: column "{name}" has {found.width} entries of {found.dtype}, '
                        "expected "
                        f"{first.width} of {first.dtype} as in the first file."
                    )

    def _rate(self, source: Source, rate: float | None) -> float | None:
        """Frames a second: as told, as the format tells, or from times that are even."""
        if rate is not None:
            return rate_from(rate, "rate")
        if self.layout.rate is not None:
            return self.layout.rate
        if not self.time or not self.columns[self.time].is_real or self.columns[self.time].width != 1:
            return None
        names = [self.time, *([source.episode_column] if source.episode_column else [])]
        found = source.first(names, _PROBE)
        times = found[self.time].reshape(-1).astype(float)
        if source.episode_column:
            index = found[source.episode_column].reshape(-1)
            times = times[index == index[0]]
        else:
            cuts = source.borders(0, len(times))
            times = times[: int(cuts[0])] if len(cuts) else times
        stop = len(times)
        if stop < 3:
            return None
        step = (times[-1] - times[0]) / (stop - 1)
        ideal = times[0] + step * np.arange(stop)
        if not (step > 0.0 and np.abs(times - ideal).max() < max(_EVEN * step, 4e-7 * np.abs(times).max())):
            return None
        # Times are often rounded: a rate that is a whole number but for that is meant to be one.
        value = 1.0 / step
        return float(round(value)) if abs(value - round(value)) < 1e-3 * value and value >= 1.0 else value

    def binding(self, quantity: str) -> Binding | None:
        """Where a quantity is in the files; None where it is not recorded."""
        return self.bindings.get(quantity)


def _again(opened: Any, path: str, robot: Robot, options: Mapping[str, Any]) -> Recording:
    made: Recording = opened(path, robot, **options)
    return made
