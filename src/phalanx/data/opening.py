# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a path to a recording: which format it is, by its suffix or by what a folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import PhalanxError, listing, shown
from ..robot.robot import Robot
from .arguments import path_from, robot_from, words_from
from .formats.lerobot import is_lerobot, open_lerobot
from .recording import Recording, RecordingLayout
from .source import Source
from .writer import FormatWriter


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
    """A `Recording`: frames of a robot in a file or folder, of which only what is asked for is read.

    NumPy (.npy, .npz), Parquet (a file, a folder, a LeRobot data set), HDF5, Zarr and MCAP with
    `sensor_msgs/JointState`. Entries are matched to joints by the names in the file. Where it has none,
    `joints` lists a joint for each entry, "-" for those that are none of the robot, or is "robot" for the
    robot's own order; a mapping renames. `units` is a unit of all angles ("rad", "deg") or maps quantities
    and joints to units, with a sign where axes are reversed ({"elbow": "-deg"}). `rate` is in frames a
    second. `columns` says which column a quantity is: {"q": "observation.state"}, "-" for none. `groups` are
    the groups of an HDF5 file that are read, by name or pattern: "data/demo_1*".
    """
    place, robot = path_from(path, "data.open"), robot_from(robot)
    patterns = () if groups is None else words_from(groups, "groups", "names of groups or patterns of them")
    sources, layout = _opened(place, patterns)
    return Recording(
        robot, sources, layout, joints=joints, units=units, rate=rate, columns=columns, groups=groups
    )


def format_of(place: Path) -> str:
    """The format that a suffix tells; none for a folder."""
    suffix = place.suffix.lower()
    return FORMATS[suffix].name if suffix in FORMATS else ""


def writer_class(format: str) -> type[FormatWriter]:
    """The class that writes a format."""
    for known in FORMATS.values():
        if known.name == format:
            found: type[FormatWriter] = _found(known.writes)
            return found
    raise PhalanxError(
        f"cannot write {shown(format)}; known formats: "
        f"{listing(dict.fromkeys(f.name for f in FORMATS.values()))}."
    )


def _opened(place: Path, groups: tuple[str, ...]) -> tuple[list[Source], RecordingLayout]:
    sources, layout = _all_of(place, groups)
    grouped = {f.name for f in FORMATS.values() if f.has_groups}
    if groups and layout.format not in grouped:
        raise PhalanxError(f"groups: {place} is {layout.format}; only HDF5 files have groups to choose from.")
    return sources, layout


def _all_of(place: Path, groups: tuple[str, ...]) -> tuple[list[Source], RecordingLayout]:
    try:
        is_there = place.exists()
    except OSError as error:  # names that are too long, in most file systems above 255 bytes
        raise PhalanxError(f"{shown(str(place))} cannot be read: {error.strerror}.") from None
    if not is_there and ".mcap:" in str(place):
        from .formats.mcap import open_mcap

        name, _, topic = str(place).partition(".mcap:")
        sources, metadata = open_mcap(Path(f"{name}.mcap"), topic)
        return sources, RecordingLayout("mcap", place, metadata)
    if not is_there:
        raise PhalanxError(f"{place}: there is no such file or folder.")
    suffix = place.suffix.lower()
    if suffix in FORMATS:
        sources, metadata = _reader(suffix, groups)(place)
        return sources, RecordingLayout(FORMATS[suffix].name, place, metadata, metadata.get("rate"))
    if not place.is_dir():
        raise PhalanxError(
            f"{place}: ends in {place.suffix!r}, expected one of {', '.join(FORMATS)}, or a folder."
        )
    if is_lerobot(place):
        sources, metadata, rate = open_lerobot(place)
        return sources, RecordingLayout("lerobot", place, metadata, rate)
    files = sorted(f for f in place.rglob("*") if f.suffix.lower() in FORMATS and not _inside(f, place))
    kinds = sorted({f.suffix.lower() for f in files})
    if len(kinds) != 1:
        told = f"files of several formats ({', '.join(kinds)})" if kinds else "no recording"
        raise PhalanxError(
            f"{place}: the folder holds {told}; expected files of one of {', '.join(FORMATS)}."
        )
    found: list[Source] = []
    first: dict[str, Any] = {}
    for file in files:
        sources, metadata = _reader(kinds[0], groups)(file)
        for source in sources:
            source.number = len(found)
            found.append(source)
        first = first or metadata
    return found, RecordingLayout(FORMATS[kinds[0]].name, place, first, first.get("rate"))


def _inside(file: Path, root: Path) -> bool:
    """Whether a file is part of a folder that is one recording itself, or of an unfinished run."""
    return any(p.suffix.lower() in (".zarr", ".partial") for p in file.relative_to(root).parents)


def _reader(suffix: str, groups: tuple[str, ...]) -> Callable[[Path], tuple[list[Source], dict[str, Any]]]:
    made: Any = _found(FORMATS[suffix].opens)
    return partial(made, groups=groups) if FORMATS[suffix].has_groups else made


def _found(place: str) -> Any:
    """What a module of formats defines, imported when it is first asked for."""
    module, _, name = place.partition(".")
    return getattr(import_module(f".formats.{module}", __package__), name)
