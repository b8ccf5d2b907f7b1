# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Columns of frames: sources of recordings, read range by range, and writers of results, part by part.

Every file format reads into it. Nothing is loaded but the requested ranges.
"""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Translate any exception to a `PhalanxError`; `what` says which file, and what failed.

    Each library, codec and parser has its own exceptions for damaged files.
    """
    try:
        yield
    except PhalanxError:
        raise
    except Exception as error:
        raise PhalanxError(f"{what}: {reason(error)}; the file is damaged or not what it says.") from None


def reason(error: BaseException) -> str:
    """The message of an exception in one line."""
    message = getattr(error, "strerror", None) or error
    return " ".join(str(message).split()).rstrip(".") or type(error).__name__


def regular_file(path: str | os.PathLike[str]) -> os.stat_result:
    """The `os.stat` of a file; raises for pipes, devices and sockets, whose reading may never end."""
    try:
        facts = os.stat(path)
    except OSError as error:
        raise PhalanxError(f"{path}: {error.strerror}.") from None
    if not stat.S_ISREG(facts.st_mode):
        kinds = {
            stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
            stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
        }  # fmt: skip
        kind = kinds.get(stat.S_IFMT(facts.st_mode), "no file")
        raise PhalanxError(f"{path}: is {kind}, expected a regular file; save the recording to one first.")
    return facts


@dataclass(frozen=True)
class Column:
    """A quantity of every frame: its name, the shape of one entry, its type, names of its components."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    labels: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Numbers in one frame."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of one frame in memory."""
        return self.width * self.dtype.itemsize

    @property
    def is_real(self) -> bool:
        """Whether it holds real numbers."""
        return self.dtype.kind in "fiu"


class Source(ABC):
    """Frames with common columns: a file, or a group inside one."""

    path: Path
    group: str = ""  # inside the file
    columns: Mapping[str, Column]
    rows: int
    episode_column: str = ""  # an episode begins where its value changes
    ends: np.ndarray | None = None  # rows at which episodes end, where the file says so; else it is one
    number: int = 0  # of its first episode

    @property
    def where(self) -> str:
        """The name of the source in messages."""
        return f"{self.path}:{self.group}" if self.group else str(self.path)

    def read(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """The rows start to stop of some columns, (rows, *shape) each; raises for torn files."""
        with explained(f"{self.where}: rows {start} to {stop} cannot be read"):
            return self._read(names, start, stop)

    @abstractmethod
    def _read(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """The rows start to stop of some columns; may raise anything."""

    def nothing(self, names: Sequence[str], *, raw: bool = False) -> dict[str, Any]:
        """Empty arrays for some columns; `raw` in the types of the file, if the format has its own."""
        return {n: np.zeros((0, *self.column(n).shape), self.column(n).dtype) for n in names}

    def first(self, names: Sequence[str], count: int) -> dict[str, np.ndarray]:
        """The first rows of some columns, few of them."""
        return self.read(names, 0, min(count, self.rows))

    def blocks(self, row_bytes: int, most: int) -> list[int]:
        """Rows that end pieces of at most `most` bytes, each efficient to read."""
        step = max(1, most // max(row_bytes, 1))
        return [*range(step, self.rows, step), self.rows] if self.rows else []

    def borders(self, start: int, stop: int) -> np.ndarray:
        """Rows strictly between start and stop at which another episode begins."""
        if self.episode_column:
            index = self.read([self.episode_column], start, stop)[self.episode_column].reshape(stop - start)
            return start + 1 + np.flatnonzero(index[1:] != index[:-1])
        if self.ends is not None:
            return self.ends[(self.ends > start) & (self.ends < stop)]
        return np.zeros(0, np.int64)

    def episode(self, row: int) -> str:
        """The episode of a row, for messages."""
        if self.episode_column:
            return str(self.read([self.episode_column], row, row + 1)[self.episode_column].reshape(-1)[0])
        if self.ends is not None:
            return str(self.number + int(np.searchsorted(self.ends, row, side="right")))
        return self.group or str(self.number)

    def column(self, name: str) -> Column:
        """The column of that name; raises an error that lists all columns if there is none."""
        if name not in self.columns:
            raise PhalanxError(
                f'{self.where}: no column "{name}";{nearest(name, self.columns, what="columns")}'
            )
        return self.columns[name]

    def require_rows(self, found: int, expected: int, name: str) -> None:
        """Raise if a column has another number of rows than the source."""
        if found != expected:
            raise PhalanxError(
                f'{self.where}: column "{name}" has {found} rows, expected {expected} as the others; '
                "all columns need one entry for each frame."
            )


class Arrays(Source):
    """A source whose columns are sliced like arrays: of NumPy, HDF5 or Zarr."""

    def __init__(self, path: Path, arrays: Mapping[str, Any], group: str = "", episodes: int = 0) -> None:
        """`episodes` > 0: arrays are (episodes, T, …), else (T, …)."""
        self.path, self.group, self.arrays = path, group, arrays
        leading = 2 if episodes else 1
        first = next(iter(arrays.values()), None)
        self.frames = int(first.shape[1]) if episodes and first is not None else 0
        self.rows = prod(first.shape[:leading]) if first is not None else 0
        self.columns = {
            name: Column(name, tuple(map(int, a.shape[leading:])), np.dtype(a.dtype))
            for name, a in arrays.items()
        }
        for name, a in arrays.items():
            self.require_rows(prod(a.shape[:leading]), self.rows, name)
        if episodes and self.rows:
            self.ends = np.arange(1, episodes + 1) * self.frames

    def _read(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """The rows start to stop of some columns."""
        return {name: self._rows(name, start, stop) for name in names}

    def _rows(self, name: str, start: int, stop: int) -> np.ndarray:
        array, column = self.arrays[name], self.column(name)
        with explained(f'{self.where}: column "{name}" cannot be read in rows {start} to {stop}'):
            if not self.frames:
                found = np.asarray(array[start:stop])
            else:
                low, high = start // self.frames, -(-stop // self.frames)
                flat = np.asarray(array[low:high]).reshape(-1, *column.shape)
                found = flat[start - low * self.frames : stop - low * self.frames]
        self.require_rows(len(found), stop - start, name)
        return found


# ------------------------------------------------------------------------ results as files

# The bytes of a part depend only on its frames, not on the process or time that made it.
# Files are concatenated parts between a head and a tail (NumPy, Parquet), or are made from a log
# of parts at the end (`convert`).


@dataclass(frozen=True)
class FilePart:
    """The output of a task: bytes for the file, and a note from which the file's tail is made."""

    body: Any  # bytes or a memoryview
    note: dict[str, Any]


@dataclass(frozen=True)
class WrittenPart:
    """A part in its file: first byte, number of bytes, and the note of its task."""

    start: int
    size: int
    note: Mapping[str, Any]


class FormatWriter(ABC):
    """The writer of a file format: encodes parts, heads and tails."""

    converts = False  # whether the file is made from the log of parts at the end

    def __init__(self, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
        self.columns, self.metadata = tuple(columns), metadata

    def head(self, rows: int) -> bytes:
        """The header of a file with the given number of frames."""
        return b""

    @abstractmethod
    def part(self, batch: Mapping[str, Any], note: dict[str, Any]) -> FilePart:
        """The bytes of a part that holds the frames of a batch."""

    def tail(self, parts: Sequence[WrittenPart]) -> bytes:
        """The bytes after the parts."""
        return b""

    def convert(self, log: Path, parts: Sequence[WrittenPart], target: Path) -> None:
        """Make the file, or the folder, from the log of parts."""
        raise NotImplementedError


class LogWriter(FormatWriter):
    """A writer whose parts are raw columns, one after another, converted to the format at the end."""

    converts = True

    def part(self, batch: Mapping[str, Any], note: dict[str, Any]) -> FilePart:
        """The bytes of a part that holds the frames of a batch."""
        body = b"".join(np.ascontiguousarray(batch[c.name], c.dtype).tobytes() for c in self.columns)
        return FilePart(body, note)

    def frames(self, log: Path, column: Column, parts: Sequence[WrittenPart]) -> Iterator[np.ndarray]:
        """The frames of one column, part by part."""
        skip = 0
        for other in self.columns:
            if other.name == column.name:
                break
            skip += other.nbytes
        with log.open("rb") as file:
            for part in parts:
                rows = int(part.note["rows"])
                file.seek(part.start + skip * rows)
                data = file.read(column.nbytes * rows)
                yield np.frombuffer(data, column.dtype).reshape(rows, *column.shape)


def episode_ends(parts: Sequence[WrittenPart]) -> np.ndarray:
    """Rows at which episodes end, from the notes of parts."""
    starts, rows = [], 0
    for part in parts:
        starts += [rows + int(row) for row in part.note["starts"]]
        rows += int(part.note["rows"])
    return np.array([*(row for row in starts if row), rows], np.int64)
