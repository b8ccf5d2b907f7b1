# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A lock on a file, of one process alone or of several together; it ends with the process, even if killed."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

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
        """Whether the lock was taken. msvcrt.locking knows no shared locks; the system does."""
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
        """Whether the lock was taken."""
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
        """Whether the lock was taken, which is not waited for; raises FileNotFoundError without its file."""
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
        """Give the lock back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
