# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A job: what is computed from which recording into which files, cut into tasks.

A task is a run of frames of one source. Its part, the bytes that it adds to a file, is a pure function of the
job and the task: whoever computes it, whenever, gets the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing
from .arguments import require_count, words_from
from .differentiation import POLYNOMIAL, WINDOW, require_window
from .naming import INDICES
from .opening import FORMATS, format_of, writer_class
from .quantities import ComputedColumn, Frames, results_of
from .reading import FrameReader
from .recording import Recording
from .source import Column, Source
from .writer import FilePart, FormatWriter

MOST = 64 << 20  # bytes of a task's frames in memory, what is read and what is written
MANY = 1 << 20  # frames of a task
_TASKS = 10_000_000  # of a job at most: each is an object in memory
_REVISION = 2  # of what parts look like: unfinished runs of another one start anew


@dataclass(frozen=True)
class FrameTask:
    """Frames of one source, for one file."""

    number: int
    source: int
    start: int
    stop: int
    target: int


@dataclass(frozen=True)
class Options:
    """How a job is done, beside what the recording says."""

    frames: tuple[str, ...] = ()  # of the robot, for functions that ask for one
    keep: Any = "index"  # columns of the input in the output: "index", "all", "none" or names
    window: int = WINDOW
    polynomial: int = POLYNOMIAL
    allow_nan: bool = False
    rows: int | None = None  # of a task at most; tests and small clusters


class Job:
    """Functions of a recording, to be written to a path."""

    def __init__(
        self, recording: Recording, functions: Any, out: Path, options: Options = Options()
    ) -> None:  # fmt: skip
        self.recording, self.out, self.options = recording, out, options
        self.functions = words_from(functions, "functions", 'names such as "inverse_dynamics"')
        require_count(options.rows, "rows")
        require_window(options.window, options.polynomial)
        robot = recording.robot
        probe = results_of(robot, self.functions, np.dtype(np.float64), options.frames)
        self.needs = [q for q in ("q", "qd", "qdd", "tau") if any(q in r.needs for r in probe)] or ["q"]
        self.derived = self._derived()
        self.read = [q for q in self.needs if q not in self.derived]
        if self.derived and "q" not in self.read:
            self.read.insert(0, "q")
        self.dtype = recording.dtype_of(self.read)
        self.results: list[ComputedColumn] = results_of(robot, self.functions, self.dtype, options.frames)
        self.format = self._format()
        self.kept = self._kept()
        self.columns: list[Column] = [
            *(recording.columns[n] for n in self.kept),
            *(r.column for r in self.results),
        ]
        self._memory: dict[str, np.ndarray] = {}
        self.targets = self._targets()
        self.tasks = self._tasks()

    # -------------------------------------------------------------------- what

    def _derived(self) -> list[str]:
        """What is not recorded and has to be differentiated."""
        have = self.recording.bindings
        if "tau" in self.needs and "tau" not in have:
            raise PhalanxError(
                f"{self.recording.layout.root}: {', '.join(self.functions)} needs measured forces, but no "
                "column holds "
                'tau; say which with columns={"tau": "name"} (--columns tau=name).'
            )
        missing: list[str] = [q for q in ("qd", "qdd") if q in self.needs and q not in have]
        if missing and self.recording.rate is None:
            raise PhalanxError(
                f"{self.recording.layout.root}: {' and '.join(missing)} are not recorded, and no even "
                "times tell the "
                "rate at which frames were; say it with rate= (--rate HZ)."
            )
        return missing

    def _format(self) -> str:
        """The format of the output: its suffix tells; a folder has the format of the input."""
        inputs = self.recording.layout.format
        found = format_of(self.out)
        if found:
            return found
        if self.out.suffix and self.out.suffix.lower() not in FORMATS and not self.is_folder:
            raise PhalanxError(
                f"-o: {self.out} ends in {self.out.suffix!r}, expected one of {', '.join(FORMATS)}."
            )
        if not self.is_folder:
            raise PhalanxError(f"-o: {self.out} has no suffix; expected one of {', '.join(FORMATS)}.")
        return "parquet" if inputs == "lerobot" else inputs

    @property
    def makes_folder(self) -> bool:
        """Whether the output is a folder on the disk."""
        return self.is_folder or self.format == "zarr"

    @property
    def is_folder(self) -> bool:
        """Whether the output is a folder with a file for each file of the input."""
        layout = self.recording.layout
        return not format_of(self.out) and layout.root.is_dir() and layout.format != "zarr"

    def _kept(self) -> list[str]:
        """Columns of the input that the output has, too."""
        keep, columns = self.options.keep, self.recording.columns
        if isinstance(keep, str) and keep == "index":
            names = [n for n in columns if n in INDICES]
        elif isinstance(keep, str) and keep == "all":
            names = list(columns)
        elif isinstance(keep, str) and keep == "none":
            names = []
        else:
            names = list(words_from(keep, "keep", '"index", "all", "none" or names of columns'))
        for name in names:
            self.recording.sources[0].column(name)
        results = {r.column.name for r in self.results}
        if clash := [name for name in names if name in results]:
            raise PhalanxError(
                f"keep: the input has columns {listing(clash)} already; keep others (--keep index)."
            )
        if self._raw:
            return names
        odd = [name for name in names if not columns[name].is_real]
        if odd and keep != "all":
            raise PhalanxError(
                f"keep: {listing(odd)} hold no real numbers, which {self.format} files cannot take."
            )
        if self.format == "npy" and keep == "index":
            return []  # there is room for one array
        return [name for name in names if name not in odd]

    @property
    def _raw(self) -> bool:
        """Whether kept columns go from Parquet to Parquet as they are."""
        return self.format == "parquet" and self.recording.layout.format in ("parquet", "lerobot")

    # -------------------------------------------------------------------- where and in which pieces

    def _targets(self) -> list[str]:
        """Files of the output, relative to a folder; one is enough unless the output is a folder."""
        if not self.is_folder:
            return [self.out.name]
        root = self.recording.layout.root
        return list(dict.fromkeys(str(s.path.relative_to(root)) for s in self.recording.sources))

    def _tasks(self) -> list[FrameTask]:
        root = self.recording.layout.root
        place = {name: k for k, name in enumerate(self.targets)}
        read = self.recording.columns_of(self.read)
        size = sum(self.recording.columns[n].nbytes for n in {*read, *self.kept}) + sum(
            c.nbytes for c in self.columns
        )
        most = min(MOST, int(self.options.rows or MANY) * size)
        if self.recording.rows * size > most * _TASKS:
            raise PhalanxError(
                f"{root}: says that it holds {self.recording.rows} frames, more than {_TASKS} tasks of "
                f"{most // size}; the file is damaged, or rows= (--rows) is too small."
            )
        tasks: list[FrameTask] = []
        for number, source in enumerate(self.recording.sources):
            target = place[str(source.path.relative_to(root))] if self.is_folder else 0
            start = 0
            for stop in source.blocks(size, most):
                tasks.append(FrameTask(len(tasks), number, start, stop, target))
                start = stop
        return tasks

    @cached_property
    def reader(self) -> FrameReader:
        """What reads the frames of a task."""
        return FrameReader(
            recording=self.recording,
            needs=self.needs,
            read=self.read,
            derived=self.derived,
            kept=self.kept,
            dtype=self.dtype,
            raw=self._raw,
            starts=self.writer.converts,
            window=self.options.window,
            polynomial=self.options.polynomial,
            allow_nan=self.options.allow_nan,
        )

    @cached_property
    def writer(self) -> FormatWriter:
        """What writes parts and files."""
        layout = self.recording.layout
        told = {
            "functions": list(self.functions),
            "robot": self.recording.robot.name,
            "robotdigest": self.recording.robot.digest,
            "units": "SI",
            "rate": self.recording.rate,
            "derived": self.derived,
            "columns": {r.column.name: [*(r.column.labels or r.column.shape)] for r in self.results},
        }
        metadata = {**layout.metadata, "phalanx": told, "rate": self.recording.rate}
        return writer_class(self.format)(self.columns, metadata)

    @cached_property
    def digest(self) -> str:
        """What tells whether an unfinished run is one of this job."""
        r = self.recording
        root = r.layout.root
        # Relative to the folder: workers open it by its absolute path.
        files = {
            s.path.name if s.path == root else str(s.path.relative_to(root)): _stamp(s.path)
            for s in r.sources
        }
        scales = {k: None if b.scale is None else b.scale.tolist() for k, b in r.bindings.items()}
        facts = [
            _REVISION,
            r.robot.digest,
            self.functions,
            self.options.frames,
            self.kept,
            self.format,
            [(k, b.columns, b.picks) for k, b in r.bindings.items()],
            scales,
            r.rate if self.derived else None,
            [self.options.window, self.options.polynomial] if self.derived else [],
            self.options.allow_nan,
            files,
            [s.group for s in r.sources],
            [(t.source, t.start, t.stop, t.target) for t in self.tasks],
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()

    def __reduce__(self) -> Any:
        return Job, (self.recording, self.functions, self.out, self.options)

    def complete_folder(self, root: Path, frames: int) -> None:
        """Add to a folder of so many frames of results what its layout wants beside them."""
        if self.recording.layout.format == "lerobot":
            from .formats.lerobot import write_meta

            layout = self.recording.layout
            write_meta(layout.root, root, self.columns, layout.metadata["lerobot"], frames)

    # -------------------------------------------------------------------- work

    def part(self, task: FrameTask) -> FilePart:
        """The part of a task: frames read, checked, computed and written into bytes."""
        source = self.recording.sources[task.source]
        state, kept, starts = self.frames(source, task.start, task.stop)
        found = self.computed(state, self._memory)
        return self.writer.part({**kept, **found}, self.note(task, starts))

    def nothing(self, target: int) -> FilePart:
        """A part without frames, for a file of the output."""
        task = next(t for t in self.tasks if t.target == target)
        source = self.recording.sources[task.source]
        kept = source.nothing(self.kept, raw=self._raw)
        found = {r.column.name: np.zeros((0, *r.column.shape), r.column.dtype) for r in self.results}
        note = {**self.note(task, []), "rows": 0}
        return self.writer.part({**kept, **found}, note)

    def note(self, task: FrameTask, starts: list[int]) -> dict[str, Any]:
        """What the end of a file is made from."""
        source = self.recording.sources[task.source]
        note: dict[str, Any] = {"rows": task.stop - task.start, "starts": starts}
        return {**note, "group": source.group} if source.group else note

    def computed(
        self, state: Mapping[str, np.ndarray], memory: dict[str, np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        """All results for some frames, in recycled buffers if some are given."""
        frames = Frames(self.recording.robot, state, self.dtype, memory)
        return {r.column.name: r.compute(frames) for r in self.results}

    def frames(
        self, source: Source, start: int, stop: int
    ) -> tuple[dict[str, np.ndarray], dict[str, Any], list[int]]:
        """State, kept columns, and at which of these frames episodes start."""
        return self.reader.frames(source, start, stop)


def _stamp(path: Path) -> Sequence[int]:
    try:
        told = path.stat()
    except OSError as error:
        raise PhalanxError(f"{path}: {error.strerror}.") from None
    return [told.st_size, told.st_mtime_ns]
