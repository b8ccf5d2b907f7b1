# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The folder of an unfinished run: it appears with our mark and its lock in it, and goes under that lock."""

from __future__ import annotations

import errno
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from ..errors import PhalanxError
from ..files import write_chunks
from .locks import FileLock
from .ownership import PLAN, RUN, is_real_folder, is_run

_LOCK = "lock"
_TRIES, _PAUSE = 200, 0.01  # seconds between attempts: another process makes or removes the folder


class RunFolder:
    """A folder that processes of one job share."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path = path
        self._plan = f"{RUN}{digest}\n".encode()
        self._lock = FileLock(path / _LOCK)

    def enter(self, *, shared: bool) -> None:
        """Lock the folder, made where there is none; others may make or remove it meanwhile."""
        for _ in range(_TRIES):
            if not os.path.lexists(self.path):
                self._make()
            if is_run(self.path):
                try:
                    if self._lock.acquire(shared=shared):
                        return
                    if not shared:
                        raise self._busy()
                except FileNotFoundError:
                    pass  # it is being removed
            elif self._is_foreign():
                raise self._foreign()
            time.sleep(_PAUSE)
        raise self._foreign() if os.path.lexists(self.path) and not is_run(self.path) else self._busy()

    def _is_foreign(self) -> bool:
        """Whether something else is at the folder's path.

        Decided by one listing: a run that ends meanwhile removes its plan last, so that its folder has one,
        or is empty.
        """
        if os.path.islink(self.path):
            return True
        try:
            names = os.listdir(self.path)
        except NotADirectoryError:
            return True
        except OSError:
            return False
        return bool(names) and PLAN not in names

    def _busy(self) -> PhalanxError:
        return PhalanxError(f"{self.path}: another process is writing this output; wait for it.")

    def _foreign(self) -> PhalanxError:
        return PhalanxError(
            f"{self.path}: is no unfinished run, and nothing in it is touched; unfinished output would go "
            "there. Move it, or choose another output."
        )

    def _make(self) -> None:
        """Let the folder appear with all that marks it; another process may have been faster."""
        beside = self.path.with_name(f".{self.path.name}.{os.urandom(6).hex()}")
        try:
            beside.mkdir()
            (beside / PLAN).write_bytes(self._plan)
            (beside / _LOCK).touch()
            os.rename(beside, self.path)
        except OSError as error:
            shutil.rmtree(beside, ignore_errors=True)
            was_taken = error.errno in (errno.ENOTEMPTY, errno.EEXIST)  # and may be free again by now
            if not was_taken and not os.path.lexists(self.path):
                raise

    def is_mine(self) -> bool:
        """Whether the folder is one of this job."""
        try:
            return (self.path / PLAN).read_bytes() == self._plan
        except OSError:
            return False

    def require_mine(self) -> None:
        """Raise where another process has removed the folder; workers of a cluster may outlive their run."""
        if not self.is_mine():
            raise OSError(errno.ENOENT, "this run has ended or was started anew", str(self.path))

    def lock_alone(self) -> bool:
        """Lock it alone, after working with others; False if others are at it, or have finished."""
        self._lock.release()
        try:
            return is_run(self.path) and self._lock.acquire() and self.is_mine()
        except OSError:
            return False  # another one has finished and removed it

    def release(self) -> None:
        """Give the lock back; what is done stays."""
        self._lock.release()

    def renew(self) -> None:
        """Forget what an earlier run has done, of whichever job it was."""
        self._empty()
        write_chunks(self.path / PLAN, self._plan)

    def remove(self) -> None:
        """Remove the folder, of which the lock is held; what marks it goes last."""
        with suppress(OSError):
            self._empty()
            if not FileLock.outlives_unlink:
                self._lock.release()
            for name in (_LOCK, PLAN):
                (self.path / name).unlink()
            self.path.rmdir()
        self._lock.release()

    def _empty(self) -> None:
        """Remove all that is in the folder, but what marks it."""
        for entry in list(self.path.iterdir()):
            if entry.name in (PLAN, _LOCK):
                continue
            if is_real_folder(entry):
                shutil.rmtree(entry)
            else:
                entry.unlink()
