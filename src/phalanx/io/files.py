# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whole files on disk: read if they are files at all; replaced in one step, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from typing import Any

from ..errors import PhalanxError

LARGEST = 2**30  # bytes of a robot file; a hundred thousand links take some tens of millions


def read_bytes(path: str) -> bytes:
    """The content of a regular file; OSError for anything else, which could block or have no end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(0, "Is a directory")
        if not stat.S_ISREG(mode):
            raise OSError(0, "not a regular file but a pipe or a device; pass the text or an open file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(0, f"larger than {LARGEST // 2**20} MiB, which no robot file is")
    return content


def write_text(path: str | os.PathLike[str], text: str, *, where: str) -> None:
    """Write a text so that the file holds either its old content or all of the new one.

    The text goes into a file beside it that is renamed at the end. Permissions of the old file are kept,
    a link is followed; a device or a pipe is written to directly.
    """
    shown = path_text(path, where)
    try:
        target = os.path.realpath(os.path.expanduser(path))
        old = _status(target)
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(target, "w", encoding="utf-8") as file:
                file.write(text)
        elif old is not None and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")  # a rename would not ask
        else:
            _replace(target, text.encode("utf-8"), old)
    except OSError as error:
        raise PhalanxError(f'{where}: cannot write "{shown}": {error.strerror or error}.') from None


def path_text(path: Any, where: str) -> str:
    """The path as text; raises for one that no file can have."""
    if not isinstance(path, (str, os.PathLike)):
        raise PhalanxError(f"{where}: got {type(path).__name__}, expected a path.")
    name = os.fsdecode(path)
    try:
        bad = "a null character" if "\0" in name else ""
        os.fsencode(name)
    except UnicodeEncodeError:
        bad = "a lone surrogate"
    if bad:
        raise PhalanxError(f"{where}: the path {name!r:.60} holds {bad}, which no file name can.")
    return name


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    """Write the data beside the target and rename; nothing is left behind where that fails."""
    beside = os.path.join(os.path.dirname(target), f".phalanx-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)  # some file systems notice only now that the disk is full
        if old is not None:
            with contextlib.suppress(OSError, AttributeError):  # another owner's file becomes one's own
                os.chown(beside, old.st_uid, old.st_gid)
            os.chmod(beside, stat.S_IMODE(old.st_mode))
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
