# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recordings: files of one robot's motion, opened in any format, as columns that are read in pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import PhalanxError, listing, shown
from ..robot.robot import Robot
from .arguments import path_from, rate_from, robot_from, words_from
from .binding import Binding, bound, require_plausible, warn_outside
from .formats.lerobot import is_lerobot, open_lerobot
from .naming import TIMES
from .source import Column, FormatWriter, Source

_PROBE = 256  # frames that are read when a recording is opened
_EVEN = 0.01  # of a step, by which times may be uneven and still have a rate


@dataclass(frozen=True)
class RecordingLayout:
    """The metadata of a format beside the frames, for writing the same format."""

    format: str
    root: Path  # the file or folder that was opened
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rate: float | None = None  # frames a second, where the file states it


class Recording:
    """Frames of a robot in files: episodes of named columns, of which only what is requested is read.

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
        return _reopened, (str(self.layout.root.absolute()), self.robot, self.options)

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
        """The ranges of sources that hold the frames start to stop."""
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
        """float32 if all recorded quantities are, else float64."""
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
        """q, qd, … in the robot's order and SI units, from columns that were read."""
        dtype = self.dtype_of(quantities)
        return {name: self.bindings[name].take(batch, dtype) for name in quantities}

    def _width(self, quantity: str) -> int:
        return self.robot.nq if quantity == "q" else self.robot.nv

    def _require_alike(self, source: Source) -> None:
        """Raise unless all sources have the columns found in the first."""
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
        """Frames per second: as given, as the format states, or from evenly spaced times."""
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
        # Times are often rounded: a rate that is nearly an integer is taken as one.
        value = 1.0 / step
        return float(round(value)) if abs(value - round(value)) < 1e-3 * value and value >= 1.0 else value

    def binding(self, quantity: str) -> Binding | None:
        """The binding of a quantity to columns; None if it is not recorded."""
        return self.bindings.get(quantity)


def _reopened(path: str, robot: Robot, options: Mapping[str, Any]) -> Recording:
    return open(path, robot, **options)


# ------------------------------------------------------------------------ opening


class Format(NamedTuple):
    """A format of recordings: the function that opens it and the class that writes it, with their modules."""

    name: str
    opens: str
    writes: str
    has_groups: bool = False  # whether files have groups to choose from


_HDF5 = Format("hdf5", "hdf5.open_hdf5", "hdf5.Hdf5Writer", has_groups=True)
FORMATS = {  # by suffix
    ".npy": Format("npy", "npy.open_npy", "npy.NpyWriter"),
    ".npz": Format("npz", "npy.open_npz", "npy.NpzWriter"),
    ".parquet": Format("parquet", "parquet.open_parquet", "row_groups.ParquetWriter"),
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".zarr": Format("zarr", "zarr.open_zarr", "zarr.ZarrWriter"),
    ".mcap": Format("mcap", "mcap.open_mcap", "mcap.McapWriter"),
}


def open(
    path: str | os.PathLike[str],
    robot: Robot | str,
    joints: Any = None,
    units: Any = None,
    rate: float | None = None,
    *,
    columns: Any = None,
    groups: Any = None,
) -> Recording:
    """A `Recording`: frames of a robot in a file or folder, of which only what is requested is read.

    NumPy (.npy, .npz), Parquet (a file, a folder, a LeRobot data set), HDF5, Zarr and MCAP with
    `sensor_msgs/JointState`. Entries are matched to joints by the names in the file. Where it has none,
    `joints` lists a joint for each entry, "-" for those that are none of the robot, or is "robot" for the
    robot's own order; a mapping renames. `units` is a unit of all angles ("rad", "deg") or maps quantities
    and joints to units, with a sign where axes are reversed ({"elbow": "-deg"}). `rate` is in frames a
    second. `columns` says which column a quantity is: {"q": "observation.state"}, "-" for none. `groups` are
    the groups of an HDF5 file that are read, by name or pattern: "data/demo_1*".
    """
    root, robot = path_from(path, "data.open"), robot_from(robot)
    patterns = () if groups is None else words_from(groups, "groups", "names of groups or patterns of them")
    sources, layout = _opened(root, patterns)
    return Recording(
        robot, sources, layout, joints=joints, units=units, rate=rate, columns=columns, groups=groups
    )


def format_of(root: Path) -> str:
    """The format of a suffix; none for a folder."""
    suffix = root.suffix.lower()
    return FORMATS[suffix].name if suffix in FORMATS else ""


def writer_class(format: str) -> type[FormatWriter]:
    """The class that writes a format."""
    for known in FORMATS.values():
        if known.name == format:
            found: type[FormatWriter] = _imported(known.writes)
            return found
    raise PhalanxError(
        f"cannot write {shown(format)}; known formats: "
        f"{listing(dict.fromkeys(f.name for f in FORMATS.values()))}."
    )


def _opened(root: Path, groups: tuple[str, ...]) -> tuple[list[Source], RecordingLayout]:
    sources, layout = _all_of(root, groups)
    grouped = {f.name for f in FORMATS.values() if f.has_groups}
    if groups and layout.format not in grouped:
        raise PhalanxError(f"groups: {root} is {layout.format}; only HDF5 files have groups to choose from.")
    return sources, layout


def _all_of(root: Path, groups: tuple[str, ...]) -> tuple[list[Source], RecordingLayout]:
    try:
        is_there = root.exists()
    except OSError as error:  # names that are too long, in most file systems above 255 bytes
        raise PhalanxError(f"{shown(str(root))} cannot be read: {error.strerror}.") from None
    if not is_there and ".mcap:" in str(root):
        from .formats.mcap import open_mcap

        name, _, topic = str(root).partition(".mcap:")
        sources, metadata = open_mcap(Path(f"{name}.mcap"), topic)
        return sources, RecordingLayout("mcap", root, metadata)
    if not is_there:
        raise PhalanxError(f"{root}: there is no such file or folder.")
    suffix = root.suffix.lower()
    if suffix in FORMATS:
        sources, metadata = _reader(suffix, groups)(root)
        return sources, RecordingLayout(FORMATS[suffix].name, root, metadata, metadata.get("rate"))
    if not root.is_dir():
        raise PhalanxError(
            f"{root}: ends in {root.suffix!r}, expected one of {', '.join(FORMATS)}, or a folder."
        )
    if is_lerobot(root):
        sources, metadata, rate = open_lerobot(root)
        return sources, RecordingLayout("lerobot", root, metadata, rate)
    files = sorted(f for f in root.rglob("*") if f.suffix.lower() in FORMATS and not _inside(f, root))
    kinds = sorted({f.suffix.lower() for f in files})
    if len(kinds) != 1:
        content = f"files of several formats ({', '.join(kinds)})" if kinds else "no recording"
        raise PhalanxError(
            f"{root}: the folder holds {content}; expected files of one of {', '.join(FORMATS)}."
        )
    found: list[Source] = []
    first: dict[str, Any] = {}
    for file in files:
        sources, metadata = _reader(kinds[0], groups)(file)
        for source in sources:
            source.number = len(found)
            found.append(source)
        first = first or metadata
    return found, RecordingLayout(FORMATS[kinds[0]].name, root, first, first.get("rate"))


def _inside(file: Path, root: Path) -> bool:
    """Whether a file is part of a folder that is one recording itself, or of an unfinished run."""
    return any(p.suffix.lower() in (".zarr", ".partial") for p in file.relative_to(root).parents)


def _reader(suffix: str, groups: tuple[str, ...]) -> Callable[[Path], tuple[list[Source], dict[str, Any]]]:
    made: Any = _imported(FORMATS[suffix].opens)
    return partial(made, groups=groups) if FORMATS[suffix].has_groups else made


def _imported(name: str) -> Any:
    """A name of a module of formats, imported at its first use."""
    module, _, attribute = name.partition(".")
    return getattr(import_module(f".formats.{module}", __package__), attribute)
