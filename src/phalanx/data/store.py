# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Unfinished runs: the finished parts, in the folder `OUT.partial` beside the output.

    plan        our mark, and which job this is
    lock        held by the process that appends, or by shards together
    journal     one line for each part that is in its file: where, how long, its note
    files/      the files of the output, growing part by part in the order of tasks
    parts/      parts that other processes have finished and that are not appended yet
    job         the pickled job, for workers of a cluster

The folder is created with its mark and its lock, and nothing is read, written or removed before the lock
is held. Whatever a process was doing when it was killed, the journal says how much of each file counts.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import PhalanxError
from ..files import write_chunks
from .folder import RunFolder, require_replaceable, sign
from .job import FrameTask, Job
from .source import FilePart, WrittenPart

_HEAD = struct.Struct("<8s64sQQ")  # of a part's file: mark, digest of the job, bytes of the note, of the body
_MARK = b"phxpart2"
SKIPPED = "skipped"  # in the note of a task without a result
_COMPLETE = "whole"  # in the note of a part that is a complete file: where its body starts, and its size


def left_out(reason: str) -> FilePart:
    """The empty part of a task that failed, with the reason."""
    return FilePart(b"", {SKIPPED: reason, "rows": 0, "starts": []})


class UnfinishedRun:
    """The folder of an unfinished run."""

    def __init__(self, job: Job, *, skip_bad: bool = False) -> None:
        self.job, self.skip_bad = job, skip_bad
        self.folder = job.out.with_name(job.out.name + ".partial")
        self.done: list[WrittenPart] = []  # in the order of tasks
        self._shared = RunFolder(self.folder, job.digest)
        self._files: dict[int, Any] = {}
        # The process that makes the only part of a file writes that file: no process copies a large folder.
        number = Counter(task.target for task in job.tasks)
        self._alone = {t.target: t for t in job.tasks if number[t.target] == 1 and job.is_folder}
        if job.writer.converts:
            self._alone = {}
        self._journal: Any = None

    # -------------------------------------------------------------------- begin

    def begin(self, *, fresh: bool = False, shared: bool = False) -> None:
        """Create or resume the folder and lock it: exclusively, or `shared` with other shards."""
        try:
            self._shared.enter(shared=shared)
            if fresh:
                self._shared.renew()
            for name in ("parts", "files"):
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as error:
            self.release()
            raise self._failed(error) from None
        if not self._shared.is_mine():
            self.release()
            raise PhalanxError(
                f"{self.folder}: holds an unfinished run with other input, robot or options; run that one "
                "to its end, or start anew with fresh=True (--fresh)."
            )
        if not shared:
            self._resume()

    def leave(self) -> None:
        """Release the shared lock; the finished parts remain."""
        self._shared.release()

    def lock_alone(self) -> bool:
        """Take the exclusive lock, to append all parts; False if other shards still hold theirs."""
        if not self._shared.lock_alone():
            return False
        self._resume()
        return True

    def _resume(self) -> None:
        """Read the journal and truncate the files to the parts that it lists."""
        self.done = []
        journal = self.folder / "journal"
        good, sizes = 0, dict[int, int]()
        for line in journal.read_bytes().splitlines(keepends=True) if journal.exists() else ():
            entry = _entry(line)
            if entry is None or entry["task"] != len(self.done):
                break
            if SKIPPED in entry["note"] and not self.skip_bad:
                break  # tasks that an earlier run skipped are tried again
            target = self.job.tasks[entry["task"]].target
            if not self._has(target, entry["start"] + entry["size"]):
                break
            self.done.append(WrittenPart(entry["start"], entry["size"], entry["note"]))
            sizes[target] = entry["start"] + entry["size"]
            good += len(line)
        self._journal = journal.open("ab")
        self._journal.truncate(good)
        for target in range(len(self.job.targets)):
            waits = target in self._alone and self._waiting(self._alone[target]).exists()
            if self._file_of(target).exists() and not waits:
                os.truncate(self._file_of(target), sizes.get(target, 0))

    def _has(self, target: int, size: int) -> bool:
        path = self._file_of(target)
        return path.exists() and path.stat().st_size >= size

    def _file_of(self, target: int) -> Path:
        return self.folder / "files" / self.job.targets[target]

    # -------------------------------------------------------------------- parts

    def has(self, task: FrameTask) -> bool:
        """Whether the part of a task is done."""
        return task.number < len(self.done) or self._waiting(task).exists()

    def append(self, task: FrameTask, part: FilePart) -> None:
        """Append a part to its file; tasks must come in their order."""
        try:
            if _COMPLETE in part.note:
                start, size = part.note[_COMPLETE]
            else:
                file = self._file(task.target)
                start, size = file.tell(), len(part.body)
                file.write(part.body)
                file.flush()
            entry = {"task": task.number, "start": start, "size": size, "note": part.note}
            self._journal.write(json.dumps(entry).encode() + b"\n")
            self._journal.flush()
        except OSError as error:
            raise self._failed(error) from None
        self.done.append(WrittenPart(start, size, part.note))

    def put(self, task: FrameTask, part: FilePart) -> None:
        """Store a part for the process that appends; a part that is a complete file goes to its path."""
        if task.target in self._alone and SKIPPED not in part.note:
            part = self._written(task, part)
        note = json.dumps(part.note).encode()
        head = _HEAD.pack(_MARK, self.job.digest.encode(), len(note), len(part.body))
        try:
            self._shared.require_mine()
            write_chunks(self._waiting(task), head, note, part.body)
        except OSError as error:
            raise self._failed(error) from None

    def _written(self, task: FrameTask, part: FilePart) -> FilePart:
        """Write a part that is a complete file; returns the part without its body."""
        writer, path = self.job.writer, self._file_of(task.target)
        head = writer.head(int(part.note["rows"]))
        tail = writer.tail([WrittenPart(len(head), len(part.body), part.note)])
        try:
            self._shared.require_mine()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_chunks(path, head, part.body, tail)
        except OSError as error:
            raise self._failed(error) from None
        return FilePart(b"", {**part.note, _COMPLETE: [len(head), len(part.body)]})

    def share(self, job: bytes) -> Path:
        """Store the job for other processes; returns the path."""
        try:
            write_chunks(self.folder / "job", job)
        except OSError as error:
            raise self._failed(error) from None
        return self.folder / "job"

    def note(self, task: FrameTask) -> dict[str, Any] | None:
        """The note of a task's part if another process has written all of it, else None."""
        found = self._read(task, body=False)
        return None if found is None else found.note

    def get(self, task: FrameTask) -> FilePart | None:
        """A task's part if another process has written all of it, else None."""
        return self._read(task, body=True)

    def _read(self, task: FrameTask, *, body: bool) -> FilePart | None:
        try:
            with self._waiting(task).open("rb") as file:
                head = file.read(_HEAD.size)
                if len(head) < _HEAD.size:
                    return None
                mark, digest, note, size = _HEAD.unpack(head)
                if (mark, digest) != (_MARK, self.job.digest.encode()):
                    return None
                if os.fstat(file.fileno()).st_size != _HEAD.size + note + size:
                    return None
                found = json.loads(file.read(note))
                if SKIPPED in found and not self.skip_bad:
                    return None
                return FilePart(file.read() if body else b"", found)
        except OSError:
            return None

    def drop(self, task: FrameTask) -> None:
        """Remove the file of a part that was appended."""
        self._waiting(task).unlink(missing_ok=True)

    def _waiting(self, task: FrameTask) -> Path:
        return self.folder / "parts" / f"{task.number:08d}"

    def _file(self, target: int) -> Any:
        """The file of a target, positioned at its end; only the last one is held open."""
        if target not in self._files:
            self._close()
            path = self._file_of(target)
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab", buffering=0)
            if not file.tell() and not self.job.writer.converts:
                file.write(self.job.writer.head(self._rows(target)))
            self._files[target] = _WriteAll(file)
        return self._files[target]

    def _rows(self, target: int) -> int:
        return sum(t.stop - t.start for t in self.job.tasks if t.target == target)

    def _close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}

    def _close_all(self) -> None:
        self._close()
        if self._journal is not None:
            self._journal.close()
        self._journal = None

    # -------------------------------------------------------------------- end

    def finish(self) -> None:
        """Complete the files and move the output to its path in one step."""
        self._close()
        left = [w.note[SKIPPED] for w in self.done if SKIPPED in w.note]
        if len(left) == len(self.done):
            self.remove()
            self.done = []
            raise PhalanxError(
                f"{self.job.recording.layout.root}: every piece was left out, nothing is written; the first: "
                f"{left[0] if left else 'there are none'}"
            )
        writer = self.job.writer
        made = self.folder / "made"
        try:
            shutil.rmtree(made, ignore_errors=True)
            made.unlink(missing_ok=True)
            for target, name in enumerate(self.job.targets):
                parts = self._parts(target) or [self._nothing(target)]
                if writer.converts:
                    path = made / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    writer.convert(self._file_of(target), parts, path)
                else:
                    self._complete(target, parts)
            root = made if writer.converts else self.folder / "files"
            if self.job.is_folder:
                self.job.complete_folder(root, sum(int(w.note["rows"]) for w in self.done))
            self._publish(root if self.job.is_folder else root / self.job.targets[0])
            self.remove()
        except OSError as error:
            raise self._failed(error) from None

    def _parts(self, target: int) -> Sequence[WrittenPart]:
        pairs = zip(self.job.tasks, self.done, strict=True)
        return [w for t, w in pairs if t.target == target and SKIPPED not in w.note]

    def _nothing(self, target: int) -> WrittenPart:
        """An empty part, for a file all of whose frames were skipped: readers expect the file to exist."""
        part = self.job.nothing(target)
        assert not len(part.body)
        return WrittenPart(len(self.job.writer.head(0)), 0, part.note)

    def _complete(self, target: int, parts: Sequence[WrittenPart]) -> None:
        """Write the tail after the parts, and the final head before them."""
        writer = self.job.writer
        path = self._file_of(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        with path.open("r+b") as file:
            file.write(writer.head(sum(int(p.note["rows"]) for p in parts)))
            file.seek(parts[-1].start + parts[-1].size)
            file.truncate()
            file.write(writer.tail(parts))

    def _publish(self, made: Path) -> None:
        """Move the finished output to its path, replacing that of an earlier run."""
        out = self.job.out
        require_replaceable(out, folder=made.is_dir())
        if not made.is_dir():
            os.replace(made, out)
            return
        sign(made)
        old = self.folder / "replaced"  # inside the folder, so that the next run removes it after a kill
        shutil.rmtree(old, ignore_errors=True)
        if os.path.lexists(out):
            os.rename(out, old)
        os.rename(made, out)

    def release(self) -> None:
        """Close all files and release the lock; the finished parts remain."""
        self._close_all()
        self._shared.release()

    def abandon(self) -> None:
        """Close everything, and remove the folder if no part is done."""
        nothing = not self.done and not self._parts_there()
        if nothing and (self._journal is not None or self.lock_alone()) and not self._parts_there():
            self.remove()
        self.release()

    def _parts_there(self) -> bool:
        return any((self.folder / "parts").glob("*"))

    def remove(self) -> None:
        """Remove the folder while holding its lock."""
        self._close_all()
        self._shared.remove()

    def _failed(self, error: OSError) -> PhalanxError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or str(error)
        kept = f"; {len(self.done)} of {len(self.job.tasks)} parts are kept, run the same again to go on"
        return PhalanxError(
            f"{error.filename or self.folder}: cannot write: {reason}{kept if self.done else ''}."
        )


class _WriteAll:
    """A file whose `write` writes everything or raises."""

    def __init__(self, file: Any) -> None:
        self.file, self.at = file, file.seek(0, os.SEEK_END)

    def tell(self) -> int:
        return int(self.at)

    def write(self, data: Any) -> None:
        rest = memoryview(data).cast("B")
        while len(rest):
            count = self.file.write(rest)
            self.at += count
            rest = rest[count:]

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def _entry(line: bytes) -> dict[str, Any] | None:
    """Parse a line of the journal; None if it is incomplete."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry: dict[str, Any] = json.loads(line)
        return entry if {"task", "start", "size", "note"} <= set(entry) else None
    except ValueError:
        return None
