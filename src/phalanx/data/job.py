# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A job: what is computed from which recording into which files, cut into tasks.

A task is a run of frames of one source. Its part, the bytes that it adds to a file, is a pure function of the
job and the task: every process gets the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing
from .arguments import require_count, require_window, words_from
from .differentiation import POLYNOMIAL, WINDOW, episode
from .naming import INDICES
from .quantities import ComputedColumn, Frames, needs_of, results_of
from .recording import FORMATS, Recording, format_of, writer_class
from .source import Column, FilePart, FormatWriter, Source

MOST = 64 << 20  # bytes of a task's frames in memory, input and output
MANY = 1 << 20  # frames of a task
_GAP = 0.25  # of a step, by which times may be uneven if they are differentiated
_TASKS = 10_000_000  # of a job at most: each is an object in memory
_REVISION = 2  # of the format of parts: unfinished runs of another revision start again


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
    """The user's options of a job."""

    frames: tuple[str, ...] = ()  # of the robot, for functions that take one
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
        self.needs = needs_of(probe)
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
        """The quantities that are not recorded and have to be differentiated."""
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
                f"{self.recording.layout.root}: {' and '.join(missing)} are not recorded, and no even times "
                "give the rate of frames; say it with rate= (--rate HZ)."
            )
        return missing

    def _format(self) -> str:
        """The format of the output: by its suffix; a folder has the format of the input."""
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
            return []  # the format holds only one array
        return [name for name in names if name not in odd]

    @property
    def _raw(self) -> bool:
        """Whether columns of the input are copied from Parquet to Parquet without conversion."""
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
        index = {name: k for k, name in enumerate(self.targets)}
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
            target = index[str(source.path.relative_to(root))] if self.is_folder else 0
            start = 0
            for stop in source.blocks(size, most):
                tasks.append(FrameTask(len(tasks), number, start, stop, target))
                start = stop
        return tasks

    @cached_property
    def writer(self) -> FormatWriter:
        """The writer of the output format."""
        layout = self.recording.layout
        facts = {
            "functions": list(self.functions),
            "robot": self.recording.robot.name,
            "robotdigest": self.recording.robot.digest,
            "units": "SI",
            "rate": self.recording.rate,
            "derived": self.derived,
            "columns": {r.column.name: [*(r.column.labels or r.column.shape)] for r in self.results},
        }
        metadata = {**layout.metadata, "phalanx": facts, "rate": self.recording.rate}
        return writer_class(self.format)(self.columns, metadata)

    @cached_property
    def digest(self) -> str:
        """A hash that identifies the job of an unfinished run."""
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
        """Add the metadata that the layout requires to a folder of results."""
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
        """The note that the writer needs to finish the file: rows, starts of episodes, group."""
        source = self.recording.sources[task.source]
        note: dict[str, Any] = {"rows": task.stop - task.start, "starts": starts}
        return {**note, "group": source.group} if source.group else note

    def computed(
        self, state: Mapping[str, np.ndarray], memory: dict[str, np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        """All results for some frames, in recycled buffers if some are given."""
        frames = Frames(self.recording.robot, state, self.dtype, memory)
        return {r.column.name: r.compute(frames) for r in self.results}

    # -------------------------------------------------------------------- frames

    def frames(
        self, source: Source, start: int, stop: int
    ) -> tuple[dict[str, np.ndarray], dict[str, Any], list[int]]:
        """The state, the columns to copy, and the frames among these at which episodes start."""
        halo = self.options.window - 1 if self.derived else 0
        # The frame before the first decides whether the first begins an episode.
        before = max(halo, int(self.writer.converts and bool(source.episode_column)))
        low, high = max(0, start - before), min(source.rows, stop + halo)
        names = self.recording.columns_of(self.read)
        if source.episode_column and (self.derived or self.writer.converts):
            names.append(source.episode_column)
        if self.derived and self._timed(source):
            names.append(self.recording.time)
        names = list(dict.fromkeys([*names, *(() if self._raw else self.kept)]))
        batch, kept = self._batch(source, names, low, high, start, stop)
        state = self.recording.taken(batch, self.read)
        borders = self._borders(source, batch, low, high)
        inner = slice(start - low, stop - low)
        if self.derived:
            state = self._differentiated(source, batch, state, borders, low, start, stop)
        state = {
            name: values[inner] if len(values) != stop - start else values for name, values in state.items()
        }
        if not self.options.allow_nan:
            for name in self.needs:
                _require_finite(source, name, state[name], start, name in self.derived)
        starts = [int(b - start) for b in borders if start <= b < stop]
        if start == 0:
            starts.insert(0, 0)
        return {name: state[name] for name in self.needs}, kept, starts

    def _batch(
        self, source: Source, names: list[str], low: int, high: int, start: int, stop: int
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The columns of the frames, and those to copy, unconverted or as numbers."""
        if self._raw and self.kept:
            from .formats.parquet import ParquetSource

            assert isinstance(source, ParquetSource)
            raw = source.raw(list(dict.fromkeys([*names, *self.kept])), low, high)
            batch = {name: source.array(name, raw[name], low) for name in names}
            return batch, {name: raw[name].slice(start - low, stop - start) for name in self.kept}
        batch = source.read(names, low, high)
        return batch, {name: batch[name][start - low : stop - low] for name in self.kept}

    def _borders(self, source: Source, batch: Mapping[str, np.ndarray], low: int, high: int) -> np.ndarray:
        """The rows at which episodes start, without the first row read."""
        name = source.episode_column
        if name and name in batch:
            index = batch[name].reshape(-1)
            return low + 1 + np.flatnonzero(index[1:] != index[:-1])
        if name:  # neither the result nor derivatives need them
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
        """The state of the frames start to stop; rates not recorded are differentiated within episodes."""
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
                    self.recording.robot, state["q"][rows], rate, qd,
                    self.options.window, self.options.polynomial,
                    inner=(own[0] - a, own[1] - a),
                )  # fmt: skip
            except PhalanxError as error:
                raise PhalanxError(f"{source.where}: episode {source.episode(a)}, row {a}: {error}") from None
        inner = slice(start - low, stop - low)
        found = {name: values[inner] for name, values in state.items()}
        return {**found, "qd": found.get("qd", first), "qdd": found.get("qdd", second)}


def _require_finite(source: Source, name: str, values: np.ndarray, start: int, derived: bool) -> None:
    """Raise an error that names the first frame with a NaN or an infinity."""
    with np.errstate(all="ignore"):
        # A sum is three times as fast as a test of each entry, and is not finite if one entry is not.
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


def _stamp(path: Path) -> Sequence[int]:
    try:
        facts = path.stat()
    except OSError as error:
        raise PhalanxError(f"{path}: {error.strerror}.") from None
    return [facts.st_size, facts.st_mtime_ns]
