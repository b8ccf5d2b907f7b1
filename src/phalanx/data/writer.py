# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How results become files: parts, each a pure function of its frames, and one deterministic end.

A part's bytes depend on nothing but its frames, so that it does not matter which process made it and when.
Files are parts behind each other between a head and a tail (NumPy, Parquet), or are made from such a log at
the end (`convert`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .source import Column


@dataclass(frozen=True)
class FilePart:
    """What a task gives: bytes for the file, and a note that its end is made from."""

    body: Any  # bytes or a memoryview
    note: dict[str, Any]


@dataclass(frozen=True)
class WrittenPart:
    """A part in the log of its file."""

    start: int
    size: int
    note: Mapping[str, Any]


class FormatWriter(ABC):
    """A format that results are written in."""

    converts = False  # whether the file is made from the log of parts at the end

    def __init__(self, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
        self.columns, self.metadata = tuple(columns), metadata

    def head(self, rows: int) -> bytes:
        """What a file of so many frames begins with."""
        return b""

    @abstractmethod
    def part(self, batch: Mapping[str, Any], note: dict[str, Any]) -> FilePart:
        """The part with these frames."""

    def tail(self, parts: Sequence[WrittenPart]) -> bytes:
        """What a file ends with."""
        return b""

    def convert(self, log: Path, parts: Sequence[WrittenPart], target: Path) -> None:
        """Make the file, or the folder, from the log."""
        raise NotImplementedError


class LogWriter(FormatWriter):
    """Parts hold their columns as plain numbers, one column after another."""

    converts = True

    def part(self, batch: Mapping[str, Any], note: dict[str, Any]) -> FilePart:
        """The part with these frames."""
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
