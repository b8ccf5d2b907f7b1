# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A run on a Dask cluster: one task of ours is one of Dask's, and workers write the parts.

Workers share the file system with the process that started the run. They cache the job and its kernels, so
that a kernel is compiled once for each, or read from its cache. The task of a worker that died is done again
by another one; a task that kills its workers, or fails, is named.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import PhalanxError, shown
from .arguments import package
from .job import FrameTask, Job
from .source import FilePart
from .store import UnfinishedRun, left_out

_PATIENCE = "10s"  # timeout for a scheduler to answer
_jobs: dict[str, Job] = {}  # of this worker, the last one


@contextmanager
def computed(
    store: UnfinishedRun,
    job: Job,
    skip_bad: bool,
    scheduler: Any,
    note: Callable[[FrameTask, FilePart], FilePart],
) -> Iterator[Callable[[FrameTask], FilePart]]:
    """Start all missing tasks; yields a function that waits for a task and returns its part."""
    distributed = package("distributed", "--scheduler")
    with client_of(scheduler) as client:
        # Data that Dask scatters is lost with the workers that hold it; a file is not.
        pickled = pickle.dumps(job)
        path, mark = store.share(pickled), hashlib.sha256(pickled).hexdigest()
        futures = {
            task.number: client.submit(
                work, str(path), mark, job.digest, task.number, skip_bad, pure=False, priority=-task.number
            )
            for task in job.tasks
            if not store.has(task)
        }

        def wait(task: FrameTask) -> FilePart:
            where = f"{job.recording.sources[task.source].where}: rows {task.start} to {task.stop}"
            try:
                futures.pop(task.number).result()
            except PhalanxError:
                raise
            except distributed.KilledWorker:
                reason = f"{where}: workers died over this task again and again; see their logs"
                if not skip_bad:
                    raise PhalanxError(
                        f"{reason}, or leave it out with skip_bad=True (--skip-bad)."
                    ) from None
                return note(task, left_out(reason))
            except Exception as error:  # Dask raises the exception of the worker
                raise PhalanxError(f"{where}: failed on a worker: {type(error).__name__}: {error}.") from None
            part = store.get(task)
            if part is None:
                raise PhalanxError(
                    f"{where}: its part is not in {store.folder}; workers need the same file system."
                )
            return note(task, part)

        yield wait
        client.cancel(list(futures.values()))


def work(path: str, mark: str, digest: str, number: int, skip_bad: bool) -> int:
    """Make one part on a worker, of the job in a file with that hash; returns its size."""
    from .engine import part_of

    if mark not in _jobs:
        _jobs.clear()
        _jobs[mark] = _job(Path(path), mark, digest)
    job = _jobs[mark]
    task = job.tasks[number]
    part = part_of(job, task, skip_bad)
    UnfinishedRun(job).put(task, part)
    return len(part.body)


def _job(path: Path, mark: str, digest: str) -> Job:
    """The job of a run; unpickles only the file that the run has written."""
    from ..backends.base import set_threads

    set_threads(1)  # the workers run in parallel
    try:
        pickled = path.read_bytes()
    except OSError as error:
        raise PhalanxError(f"{path}: {error.strerror}; workers need the same file system.") from None
    if hashlib.sha256(pickled).hexdigest() != mark:
        raise PhalanxError(f"{path}: not the job of this run; workers need the same file system.")
    job: Job = pickle.loads(pickled)
    if job.digest != digest:
        root = job.recording.layout.root
        raise PhalanxError(f"{root}: differs between this machine and the one where the run was started.")
    return job


def connected(scheduler: Any) -> Any:
    """A client of a scheduler: itself, an address, or `local:4` for processes on this machine."""
    distributed = package("distributed", "--scheduler")
    if not isinstance(scheduler, str):
        if not isinstance(scheduler, distributed.Client):
            raise PhalanxError(
                f'scheduler: got {shown(scheduler)}, expected an address, "local:4" or a client.'
            )
        return scheduler
    if scheduler.startswith("local:"):
        count = scheduler.removeprefix("local:")
        if not count.isdigit() or not int(count):
            raise PhalanxError(f"scheduler: got {scheduler!r}, expected local:N with N processes.")
        cluster = distributed.LocalCluster(
            n_workers=int(count),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        )
        return distributed.Client(cluster)
    try:
        return distributed.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise PhalanxError(f"scheduler: cannot connect to {scheduler}: {error or 'no answer'}.") from None


@contextmanager
def client_of(scheduler: Any) -> Iterator[Any]:
    """A client, closed afterwards, with its processes, if it was made here."""
    client = connected(scheduler)
    try:
        yield client
    finally:
        if client is not scheduler:
            cluster = client.cluster
            client.close()
            if cluster is not None:
                cluster.close()
