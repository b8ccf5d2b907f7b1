# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""HDF5 by h5py: groups of data sets with common rows are episodes, or a whole file is one.

Links and data sets that point to other files are not followed: a recording reads nothing but itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError, listing, shown
from ..arguments import package
from ..naming import ALIASES
from ..source import Arrays, Column, LogWriter, Source, WrittenPart, episode_ends, explained, regular_file
from .npy import checked_ends

_OPEN = 8  # files
_ENDS = ("episode_ends", "meta/episode_ends")
_INSIDE = ("obs", "observations", "observation", "state", "joints")  # groups inside an episode
_STATE = {alias for aliases in ALIASES.values() for alias in aliases}


def open_hdf5(path: Path, groups: Sequence[str] = ()) -> tuple[list[Source], dict[str, Any]]:
    """The sources of a file: one for each group with an episode, in natural order of their names.

    `groups` are names or patterns of those that are read; by default all are.
    """
    sets = _sets(path)
    ends = next((sets.pop(name) for name in _ENDS if name in sets), None)
    found: dict[str, dict[str, _LazyDataset]] = defaultdict(dict)
    roots = _chosen(_roots(sets), groups, path)
    for name, data in sets.items():
        root = next((r for r in roots if name.startswith(r)), None)
        if root is not None:
            found[root][name.removeprefix(root)] = data
    sources: list[Source] = []
    for root in sorted(found, key=_natural):
        arrays = _framed(found[root], path, root)
        source = Arrays(path, arrays, root.strip("/"))
        source.number = len(sources)
        sources.append(source)
    if ends is not None and len(sources) == 1:
        with explained(f"{path}: episode_ends cannot be read"):
            sources[0].ends = checked_ends(np.asarray(ends[0 : ends.shape[0]]), sources[0].rows, str(path))
    empty = next((s for s in sources if not s.rows), None)
    if empty is not None and len(sources) > 1:
        raise PhalanxError(f"{empty.where}: the episode has no frames; remove it from the file.")
    return sources, {}


def _roots(sets: Mapping[str, Any]) -> list[str]:
    """The group paths of episodes: the names of data sets up to "q" or "observations/qpos"."""
    found = {}
    for name in sets:
        parts = name.split("/")
        if parts[-1] in _STATE:
            root = parts[:-1]
            while root and root[-1].removeprefix("next_") in _INSIDE:
                root.pop()
            found["/".join(root) + "/" if root else ""] = True
    return sorted(found, key=len, reverse=True) or [""]


def _chosen(roots: list[str], groups: Sequence[str], path: Path) -> list[str]:
    """The requested groups, by their path or its last part."""
    if not groups:
        return roots
    names = {root: root.strip("/") for root in roots}
    for pattern in groups:
        if not any(_matches(name, pattern) for name in names.values()):
            known = listing(sorted(names.values(), key=_natural), most=20)
            raise PhalanxError(f'{path}: no group "{pattern}" with an episode; there are {known}.')
    return [root for root, name in names.items() if any(_matches(name, p) for p in groups)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern.strip("/")) or fnmatchcase(name.split("/")[-1], pattern)


def _framed(sets: Mapping[str, Any], path: Path, root: str) -> dict[str, Any]:
    """The data sets with one entry for each frame: those as long as the positions."""
    state = [data for name, data in sets.items() if name.split("/")[-1] in _STATE]
    rows = {data.shape[0] for data in state}
    if len(rows) > 1:
        sizes = ", ".join(f"{d.name} {d.shape}" for d in state)
        raise PhalanxError(
            f"{path}:{root.strip('/')}: columns of unequal length: {sizes}; all need an entry for each frame."
        )
    length = rows.pop() if rows else max((d.shape[0] for d in sets.values()), default=0)
    return {name: data for name, data in sets.items() if data.shape[0] == length}


def _natural(name: str) -> list[Any]:
    """A key that sorts demo_2 before demo_10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _sets(path: Path) -> dict[str, _LazyDataset]:
    """All data sets that are in the file itself, by name."""
    h5py = package("h5py", str(path))
    found: dict[str, _LazyDataset] = {}

    def note(name: Any, item: Any) -> None:
        if isinstance(name, bytes):
            raise PhalanxError(f"{path}: the name {shown(name)} is no text in UTF-8; rename it.")
        if isinstance(item, h5py.Dataset) and item.ndim >= 1:
            if item.is_virtual or item.external:
                raise PhalanxError(f'{path}: "{name}" lies in another file, which is not followed; refused.')
            found[name] = _LazyDataset(path, name, item.shape, item.dtype)

    with explained(f"{path}: no whole HDF5 file"):
        _opened(str(path)).visititems(note)  # does not follow soft and external links
    return found


class _LazyDataset:
    """A data set that is opened when it is read."""

    def __init__(self, path: Path, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self.path, self.name, self.shape, self.dtype, self.ndim = path, name, shape, dtype, len(shape)

    def __getitem__(self, rows: slice) -> Any:
        return _opened(str(self.path))[self.name][rows]


def _opened(path: str) -> Any:
    facts = regular_file(path)
    return _file(path, (facts.st_ino, facts.st_size, facts.st_mtime_ns))


@lru_cache(_OPEN)
def _file(path: str, mark: tuple[int, ...]) -> Any:
    """The open file; reopened if the file at this path was replaced."""
    return package("h5py", path).File(path, "r")


class Hdf5Writer(LogWriter):
    """A data set for each result, in the groups of the input, or in one with the ends of its episodes."""

    def convert(self, log: Path, parts: Sequence[WrittenPart], target: Path) -> None:
        """Make the file from the log."""
        h5py = package("h5py", str(target))
        groups: dict[str, list[WrittenPart]] = {}
        for part in parts:
            groups.setdefault(part.note.get("group", ""), []).append(part)
        with h5py.File(target, "w", libver="latest", track_order=True) as file:
            for name, value in _attributes(self.metadata).items():
                file.attrs[name] = value
            for name, own in groups.items():
                self._group(file.require_group(name) if name else file, log, own)

    def _group(self, group: Any, log: Path, parts: Sequence[WrittenPart]) -> None:
        rows = sum(int(p.note["rows"]) for p in parts)
        for column in self.columns:
            made = group.create_dataset(
                column.name,
                (rows, *column.shape),
                column.dtype,
                chunks=_chunks(rows, column) if rows else None,
                track_times=False,
            )
            at = 0
            for frames in self.frames(log, column, parts):
                made[at : at + len(frames)] = frames
                at += len(frames)
            if column.labels:
                made.attrs["labels"] = "\n".join(column.labels)
        ends = episode_ends(parts)
        if len(ends) > 1:
            group.create_dataset("episode_ends", data=ends, track_times=False)


def _chunks(rows: int, column: Column) -> tuple[int, ...]:
    """The chunk shape of a data set, about a megabyte."""
    return (max(1, min(rows, (1 << 20) // max(column.nbytes, 1))), *column.shape)


def _attributes(metadata: Mapping[str, Any]) -> dict[str, str]:
    import json

    return {"phalanx": json.dumps(metadata["phalanx"], sort_keys=True)}
