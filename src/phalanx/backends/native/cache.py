# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Object code on disk, keyed by everything that shapes it.

An entry is read only if it is a regular file that this user owns and no one else may write, and if its
length, its digest and its key are right; anything else is rebuilt. So damage is noticed, and other users
cannot inject code; processes of this user can. Writes go through a temporary file and a rename, so that
processes may share the folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...files import TEMPORARY, write_chunks

_MAGIC = b"phalanx kernel 1\n"
_SUFFIX = ".kernel"
_LIMIT = 512 * 2**20
_LARGEST = 2**30  # bytes of an entry that is read at all
# Folders of the package whose sources no kernel depends on; reading them takes longer than a kernel.
_UNRELATED = ("cli", "study")


def folder() -> Path:
    """`PHALANX_CACHE_DIR`, else the user's cache folder."""
    if given := os.environ.get("PHALANX_CACHE_DIR"):
        return Path(given)
    try:
        return _user_folder()
    except RuntimeError:  # a user without a home, as in some containers; entries of others are never read
        from tempfile import gettempdir

        return Path(gettempdir()) / "phalanx"


def check_variables() -> None:
    """Raise if an environment variable of the cache makes no sense, before anything is compiled for it."""
    limit()
    if not (given := os.environ.get("PHALANX_CACHE_DIR")):
        return
    there = [path for path in (Path(given), *Path(given).parents) if os.path.lexists(path)]
    if there and not there[0].is_dir():
        raise PhalanxError(
            f'PHALANX_CACHE_DIR={given!r}, expected a folder; "{there[0]}" is there and is no folder.'
        )


def _user_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "phalanx"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "phalanx" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phalanx"


def key_of(*parts: object) -> str:
    """The hash of all arguments and of the package's own sources: the name of a cache entry."""
    sha = hashlib.sha256(_sources().encode())
    for part in parts:
        data = repr(_exact(part)).encode()
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()


def _exact(part: Any) -> Any:
    """A part of a key with arrays as bytes, since `repr` rounds and abbreviates them."""
    if isinstance(part, np.ndarray):
        return part.dtype.str, part.shape, part.tobytes()
    if dataclasses.is_dataclass(part):
        return type(part).__name__, [_exact(getattr(part, f.name)) for f in dataclasses.fields(part)]
    if isinstance(part, dict):
        return [(key, _exact(value)) for key, value in part.items()]
    return [_exact(x) for x in part] if isinstance(part, tuple | list) else part


@cache
def _sources() -> str:
    """A digest of the source files that shape kernels: a change of any of them invalidates the cache."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    sha = hashlib.sha256()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if folder != root or f not in _UNRELATED)
        for name in sorted(f for f in files if f.endswith((".py", ".ll"))):
            with open(os.path.join(folder, name), "rb", buffering=0) as file:
                sha.update(file.read())
    return sha.hexdigest()


def read(key: str) -> bytes | None:
    """The object code under a key, or None."""
    path = _path(key)
    data = own_file(path)
    head = len(_MAGIC) + 64 + 32
    if (
        data is None
        or len(data) <= head
        or not data.startswith(_MAGIC)
        or data[len(_MAGIC) : len(_MAGIC) + 64] != key.encode()
    ):
        return None
    code = data[head:]
    if hashlib.sha256(code).digest() != data[len(_MAGIC) + 64 : head]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the least recently used go first
    return code


def own_file(path: Path) -> bytes | None:
    """The content of a regular file that this user owns and no one else may write; else None.

    A pipe would be waited for, a device read without end, so neither is opened.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        plain = os.O_RDONLY | getattr(os, "O_BINARY", 0)
        careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, plain | careful), "rb") as file:
            facts = os.fstat(file.fileno())  # of what was opened, whatever its name leads to by now
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST or not _is_private(facts):
                return None
            return file.read(facts.st_size + 1)
    except OSError:
        return None


def _is_private(facts: os.stat_result) -> bool:
    """Whether a file belongs to this user and no one else may write it, where files have owners."""
    if not hasattr(os, "getuid"):
        return True
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def write(key: str, code: bytes) -> None:
    """Store object code under a key; a full or read-only disk is no error."""
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_chunks(path, _MAGIC + key.encode() + hashlib.sha256(code).digest() + code, private=True)
        _shrink()


def entries() -> Iterator[tuple[Path, os.stat_result]]:
    """The entries of the cache, and calibration measurements, with their sizes and ages."""
    with contextlib.suppress(OSError):
        for path in (*folder().glob(f"*/*{_SUFFIX}"), *folder().glob("calibration/*.json")):
            with contextlib.suppress(OSError):
                yield path, path.stat()


def clear() -> tuple[int, int]:
    """Remove every entry; returns how many there were and their bytes."""
    count = size = 0
    for path, facts in list(entries()):
        with contextlib.suppress(OSError):
            path.unlink()
            count, size = count + 1, size + facts.st_size
    for left in folder().glob(f"*/{TEMPORARY}*"):  # by a process that died while writing
        with contextlib.suppress(OSError):
            left.unlink()
    return count, size


def _path(key: str) -> Path:
    return folder() / key[:2] / (key + _SUFFIX)


def limit() -> int:
    """`PHALANX_CACHE_BYTES`, else half a gibibyte."""
    given = os.environ.get("PHALANX_CACHE_BYTES") or str(_LIMIT)
    if not given.isdecimal() or len(given) > 19:
        raise PhalanxError(f"PHALANX_CACHE_BYTES={given!r}, expected an integer of bytes.")
    return int(given)


def _shrink() -> None:
    """Remove the least recently used entries while the folder is above its limit."""
    found = sorted(entries(), key=lambda e: e[1].st_mtime)
    total, allowed = sum(facts.st_size for _, facts in found), limit()
    for path, facts in found:
        if total <= allowed:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            total -= facts.st_size
