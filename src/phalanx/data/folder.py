# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The folder of an unfinished run, its lock, and the check of what runs may replace.

The folder is created with our mark and its lock in it, and removed under that lock. Runs replace or remove
only folders with our mark to which nothing was added. The mark of an output is a file, or an attribute of
a Zarr group, with a hash of the names of all files. Links are never followed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

from ..errors import PhalanxError
from ..files import write_chunks

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _SHARED, _ALONE = 1, 3  # LOCKFILE_FAIL_IMMEDIATELY, without and with LOCKFILE_EXCLUSIVE_LOCK
    _TAKEN = (33, 997)  # ERROR_LOCK_VIOLATION, ERROR_IO_PENDING

    class _Overlapped(ctypes.Structure):
        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", wintypes.DWORD),
            ("offset_high", wintypes.DWORD),
            ("event", wintypes.HANDLE),
        )

    def _locked(file: int, shared: bool) -> bool:
        """Try to take the lock; whether it was taken. msvcrt.locking has no shared locks, Windows has."""
        function = ctypes.WinDLL("kernel32", use_last_error=True).LockFileEx
        function.argtypes = (wintypes.HANDLE, *(wintypes.DWORD,) * 4, ctypes.POINTER(_Overlapped))
        handle = msvcrt.get_osfhandle(file)
        if function(handle, _SHARED if shared else _ALONE, 0, 1, 0, ctypes.byref(_Overlapped())):
            return True
        code = ctypes.get_last_error()
        if code in _TAKEN:
            return False
        raise ctypes.WinError(code)
else:
    import fcntl

    def _locked(file: int, shared: bool) -> bool:
        """Try to take the lock; whether it was taken."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True


class FileLock:
    """A lock on a file that exists."""

    # Windows removes no file that is open.
    outlives_unlink = sys.platform != "win32"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def acquire(self, *, shared: bool = False) -> bool:
        """Try to take the lock without waiting; whether it was taken. FileNotFoundError without its file."""
        self.release()
        file = os.open(self.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            # The file may have been removed, or replaced, before it was locked.
            if _locked(file, shared) and os.path.samestat(os.fstat(file), os.stat(self.path)):
                self._file, file = file, -1
                return True
            return False
        finally:
            if file >= 0:
                os.close(file)

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


_MARK = ".phalanx"
_GROUP, _ATTRIBUTE = "zarr.json", "phalanx_files"
RUN = "phalanx: an unfinished run\n"  # what a plan begins with
PLAN = "plan"


def is_run(folder: Path) -> bool:
    """Whether a folder is one of an unfinished run: its plan says so, and nothing in it is a link."""
    try:
        if not is_real_folder(folder) or not stat.S_ISREG(os.lstat(folder / PLAN).st_mode):
            return False
        with os.scandir(folder) as entries:
            if any(entry.is_symlink() for entry in entries):
                return False
        with (folder / PLAN).open("rb") as file:
            return file.read(len(RUN)) == RUN.encode()
    except OSError:
        return False


def is_real_folder(path: Path) -> bool:
    """Whether a path is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode) and not _is_junction(path)
    except OSError:
        return False


def _is_junction(path: Path) -> bool:
    """Whether it is a junction of Windows."""
    return bool(getattr(os.path, "isjunction", lambda _: False)(path))


def sign(folder: Path) -> None:
    """Write our mark into a folder that a run has made."""
    mark = _names(folder)
    group = folder / _GROUP
    if group.is_file():
        facts = json.loads(group.read_text(encoding="utf-8"))
        facts["attributes"] = {**facts.get("attributes", {}), _ATTRIBUTE: mark}
        group.write_text(json.dumps(facts, indent=2), encoding="utf-8")
    else:
        (folder / _MARK).write_text(f"{mark}\n", encoding="utf-8")


def require_replaceable(out: Path, *, folder: bool) -> None:
    """Raise unless a path may be replaced: nothing is there, a file, or a folder that a run has made."""
    try:
        mode = os.lstat(out).st_mode
    except OSError:
        return  # nothing is there
    if not folder:
        if stat.S_ISREG(mode):
            return
        kind = "a folder" if stat.S_ISDIR(mode) else "a link" if stat.S_ISLNK(mode) else "no regular file"
        raise PhalanxError(f"-o: {out} is {kind}, the output a file; choose another name, or remove it.")
    if not is_real_folder(out):
        kind = "a link" if stat.S_ISLNK(mode) or stat.S_ISDIR(mode) else "a file"
        raise PhalanxError(f"-o: {out} is {kind}, the output a folder; choose another name, or remove it.")
    mark = _signature(out)
    if mark is None:
        raise PhalanxError(
            f"-o: {out} is a folder that no run has made, and nothing in it is replaced; choose another "
            "name, or remove it."
        )
    if mark != _names(out):
        raise PhalanxError(
            f"-o: {out} was made by a run, but files were added to it or taken away since; choose another "
            "name, or remove it."
        )


def _signature(folder: Path) -> str | None:
    """The content of a folder's marker file; None where there is none."""
    for path in (folder / _MARK, folder / _GROUP):
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                continue
            content = path.read_text(encoding="utf-8")
            if path.name == _MARK:
                return content.strip()
            found = json.loads(content)["attributes"][_ATTRIBUTE]
            return found if isinstance(found, str) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return None


def _names(folder: Path) -> str:
    """A hash of the names of all files in a folder, except the marker file."""
    found = []
    for root, folders, files in os.walk(folder):
        links = [name for name in folders if not is_real_folder(Path(root, name))]
        found += [Path(root, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return hashlib.sha256("\n".join(sorted({*found} - {_MARK})).encode()).hexdigest()


_LOCK = "lock"
_TRIES, _PAUSE = 200, 0.01  # seconds between attempts: another process makes or removes the folder


class RunFolder:
    """A folder that processes of one job share."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path = path
        self._plan = f"{RUN}{digest}\n".encode()
        self._lock = FileLock(path / _LOCK)

    def enter(self, *, shared: bool) -> None:
        """Create the folder if necessary and lock it; other processes may create or remove it meanwhile."""
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
        """Whether something other than a folder of runs is at the path.

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
        """Create the folder with its mark in one step; another process may have been faster."""
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
        """Take the exclusive lock; False if others hold a lock, or have finished and removed the folder."""
        self._lock.release()
        try:
            return is_run(self.path) and self._lock.acquire() and self.is_mine()
        except OSError:
            return False  # another process has finished and removed it

    def release(self) -> None:
        """Release the lock; the finished parts remain."""
        self._lock.release()

    def renew(self) -> None:
        """Discard the results of an earlier run of any job."""
        self._empty()
        write_chunks(self.path / PLAN, self._plan)

    def remove(self) -> None:
        """Remove the folder while holding its lock; its mark is removed last."""
        with suppress(OSError):
            self._empty()
            if not FileLock.outlives_unlink:
                self._lock.release()
            for name in (_LOCK, PLAN):
                (self.path / name).unlink()
            self.path.rmdir()
        self._lock.release()

    def _empty(self) -> None:
        """Remove everything in the folder except its mark."""
        for entry in list(self.path.iterdir()):
            if entry.name in (PLAN, _LOCK):
                continue
            if is_real_folder(entry):
                shutil.rmtree(entry)
            else:
                entry.unlink()
