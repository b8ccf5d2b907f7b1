# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The engine of all runs: computes tasks and writes files, in one process, resumed, in shards or on Dask."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import PhalanxError, shown
from ..progress import steps
from .arguments import path_from, require_flags, words_from
from .folder import require_replaceable
from .job import FrameTask, Job, Options
from .recording import Recording
from .source import FilePart
from .store import SKIPPED, UnfinishedRun, left_out


@dataclass
class RunReport:
    """The result of a run: path of the output, number of frames, times."""

    out: Path
    frames: int  # in the output, or in the parts of a shard
    tasks: int
    resumed: int  # tasks of an earlier run
    seconds: float
    bytes_read: int
    bytes_written: int
    complete: bool = True  # False for a shard while other shards are not done
    skipped: list[str] = field(default_factory=list)  # why, by task
    skipped_frames: int = 0
    computed: int = 0  # frames of this run, without those of an earlier one


def run(
    recording: Recording,
    functions: Any,
    out: Any,
    *,
    frames: Sequence[str] = (),
    keep: Any = "index",
    window: int = Options.window,
    polynomial: int = Options.polynomial,
    allow_nan: bool = False,
    skip_bad: bool = False,
    shard: tuple[int, int] | None = None,
    scheduler: Any = None,
    fresh: bool = False,
    rows: int | None = None,
) -> RunReport:
    """A `RunReport`: functions computed for all frames of a recording and written to `out`.

    The suffix of `out` selects its format; a folder has that of the input. An interrupted run continues
    when it is called again, and gives the same bytes. `frames` are frames of the robot for functions
    that take one; `keep` selects which columns of the input the output has, too. `shard` (i, n) does the
    i-th of n shares, counted from 1; the last one completes the output. `scheduler` is an address of
    Dask's, a client, or "local:4".
    """
    if not isinstance(recording, Recording):
        raise PhalanxError(f"data.run: got {shown(recording)}, expected what px.data.open returns.")
    require_flags({"allow_nan": allow_nan, "skip_bad": skip_bad, "fresh": fresh})
    names = words_from(frames, "frames", "names of frames of the robot")
    options = Options(names, keep, window, polynomial, bool(allow_nan), rows)
    job = planned(recording, functions, out, options)
    return execute(job, skip_bad=skip_bad, shard=shard, scheduler=scheduler, fresh=fresh)


def planned(recording: Recording, functions: Any, out: Any, options: Options = Options()) -> Job:  # noqa: B008
    """The job of a run, checked before anything is written."""
    path = path_from(out, "-o")
    root = recording.layout.root.resolve()
    target = path.resolve()
    if target == root or root in target.parents or target in root.parents:
        raise PhalanxError(
            f"-o: {path} and the input {recording.layout.root} lie in each other; choose another path."
        )
    if not target.parent.is_dir():
        raise PhalanxError(f"-o: there is no folder {path.parent}.")
    job = Job(recording, functions, path.absolute(), options)
    require_replaceable(job.out, folder=job.makes_folder)
    return job


def execute(
    job: Job,
    *,
    skip_bad: bool = False,
    shard: tuple[int, int] | None = None,
    scheduler: Any = None,
    fresh: bool = False,
) -> RunReport:
    """Execute a job; see `run`."""
    start = time.perf_counter()
    share = _share(job.tasks, shard)
    store = UnfinishedRun(job, skip_bad=skip_bad)
    if fresh and shard is not None:
        raise PhalanxError(
            f"fresh: a share would remove what others have done; remove {store.folder} first, then start all "
            "shares without it."
        )
    store.begin(fresh=fresh, shared=shard is not None)
    work = _Progress(job, skip_bad)
    try:
        if shard is not None:
            resumed, complete = _shard(store, work, share)
        else:
            resumed, complete = sum(map(store.has, job.tasks)), True
            for task, written in zip(job.tasks, store.done, strict=False):
                work.count(written.note, task)
            if scheduler is not None:
                from .cluster import computed

                with computed(store, job, skip_bad, scheduler, work.made) as wait:
                    _append_all(store, work, wait)
            else:
                _append_all(store, work, None)
            store.finish()
    except BaseException as error:
        store.abandon()
        if isinstance(error, PhalanxError) and store.done:
            kept = f"{len(store.done)} of {len(job.tasks)} parts are kept in {store.folder}"
            if "parts are kept" not in str(error):
                raise PhalanxError(f"{error} ({kept}; the same command goes on from there.)") from None
        raise
    store.release()
    return work.report(resumed, complete, time.perf_counter() - start, share)


class _Progress:
    """Computes the parts of tasks and counts the progress."""

    def __init__(self, job: Job, skip_bad: bool) -> None:
        self.job, self.skip_bad = job, skip_bad
        self.skipped: list[str] = []
        self.written = self.computed = self.frames = self.lost = 0
        self.begin = time.perf_counter()

    def part(self, task: FrameTask) -> FilePart:
        """The part of a task, or a note why there is none, with `skip_bad`."""
        return self.made(task, part_of(self.job, task, self.skip_bad))

    def made(self, task: FrameTask, part: FilePart) -> FilePart:
        """Count a part computed in this run, and return it."""
        self.written += len(part.body)
        self.computed += int(part.note["rows"])
        self.count(part.note, task)
        return part

    def count(self, note: Mapping[str, Any], task: FrameTask) -> None:
        """Count the frames of a part."""
        self.frames += int(note["rows"])
        if SKIPPED in note:
            self.skipped.append(note[SKIPPED])
            self.lost += task.stop - task.start

    def progress(self, task: FrameTask) -> str:
        """The speed and the remaining time, for the progress bar."""
        seconds = max(time.perf_counter() - self.begin, 1e-9)
        if not self.computed:
            return ""
        rest = sum(t.stop - t.start for t in self.job.tasks[task.number :]) * seconds / self.computed
        size = bytes_per_frame(self.job) * self.computed / seconds
        return f"{_short(self.computed / seconds)}states/s {_short(size)}B/s {_clock(rest)} left"

    def report(self, resumed: int, complete: bool, seconds: float, share: Sequence[FrameTask]) -> RunReport:
        """The report of the run."""
        read = int(bytes_per_frame(self.job) * self.computed)
        return RunReport(
            self.job.out,
            self.frames,
            len(share),
            resumed,
            seconds,
            read,
            self.written,
            complete,
            self.skipped,
            self.lost,
            self.computed,
        )


def part_of(job: Job, task: FrameTask, skip_bad: bool) -> FilePart:
    """The part of a task; with `skip_bad` a note instead of an error."""
    try:
        return job.part(task)
    except PhalanxError as error:
        if not skip_bad:
            raise
        return left_out(str(error))


def _append_all(
    store: UnfinishedRun, work: _Progress, others: Callable[[FrameTask], FilePart] | None
) -> None:
    """Append the missing parts in the order of tasks: from other processes, or computed here."""
    rest = store.job.tasks[len(store.done) :]
    for task in steps(rest, "run", work.progress):
        found = store.get(task)
        if found is not None:
            work.count(found.note, task)
            part = found
        else:
            part = others(task) if others is not None else work.part(task)
        store.append(task, part)
        store.drop(task)


def _shard(store: UnfinishedRun, work: _Progress, share: Sequence[FrameTask]) -> tuple[int, bool]:
    """Make the parts of a share; the last of all shards completes the output."""
    done = 0
    for task in steps(share, "run", work.progress):
        note = store.note(task)
        if note is None:
            store.put(task, work.part(task))
        else:
            work.count(note, task)
            done += 1
    # The last shard finds all parts. Each one releases its shared lock before it looks: one that finds parts
    # missing would otherwise still hold it while the last one tries to lock alone, and none would complete.
    store.leave()
    if not all(map(store.has, store.job.tasks)) or not store.lock_alone():
        return done, False
    if not all(map(store.has, store.job.tasks)):
        return done, False
    _append_all(store, _Progress(store.job, work.skip_bad), None)
    store.finish()
    return done, True


def _share(tasks: Sequence[FrameTask], shard: Any) -> list[FrameTask]:
    """The contiguous tasks of shard (i, n), so that each file is read by few shards."""
    if shard is None:
        return list(tasks)
    try:
        i, n = map(int, shard)
    except (TypeError, ValueError):
        i, n = 0, 0
    if not 1 <= i <= n:
        raise PhalanxError(f"shard: got {shown(shard)}, expected i/n with i from 1 to n.")
    return list(tasks[len(tasks) * (i - 1) // n : len(tasks) * i // n])


# ------------------------------------------------------------------------ beforehand


def trial(job: Job) -> dict[str, float]:
    """Seconds for the first task, measured without writing: reading, computing, encoding."""
    task = job.tasks[0]
    source, stop = job.recording.sources[task.source], task.stop
    q, qd, qdd = job.recording.robot.random_state(8, rng=0)
    some = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    job.computed({name: some[name].astype(job.dtype) for name in job.needs})  # compiles
    times = [time.perf_counter()]
    state, kept, starts = job.frames(source, task.start, stop)
    times.append(time.perf_counter())
    found = job.computed(state)
    times.append(time.perf_counter())
    part = job.writer.part({**kept, **found}, job.note(task, starts))
    times.append(time.perf_counter())
    read, compute, encode = (b - a for a, b in pairwise(times))
    return {
        "frames": stop - task.start,
        "read": read,
        "compute": compute,
        "encode": encode,
        "bytes": len(part.body),
    }


def bytes_per_frame(job: Job) -> float:
    """Bytes of a frame that is read, in memory."""
    r = job.recording
    return float(sum(r.columns[n].nbytes for n in {*r.columns_of(job.read), *job.kept}))


def _short(value: float) -> str:
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {letter}"
    return f"{value:.3g} "


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
