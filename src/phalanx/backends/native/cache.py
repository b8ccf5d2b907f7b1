# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Object code on disk, keyed by everything that shapes it.

An entry is read only if its length, its digest and its key are right and it belongs to this
user; anything else is rebuilt. Writes go through a temporary file and a rename, so that
processes may share the folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError

_MAGIC = b"phalanx kernel 1\n"
_SUFFIX = ".kernel"
_NEW = ".new"
_LIMIT = 512 * 2**20


def folder() -> Path:
    """`PHALANX_CACHE_DIR`, else the user's cache folder."""
    if given := os.environ.get("PHALANX_CACHE_DIR"):
        return Path(given)
    try:
        return _user_folder()
    except RuntimeError:  # nobody's home, as in some containers; entries of others are never read
        return Path(tempfile.gettempdir()) / "phalanx"


def _user_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "phalanx"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "phalanx" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phalanx"


def key_of(*parts: object) -> str:
    """A key of everything given and of the package's own sources."""
    sha = hashlib.sha256(_sources().encode())
    for part in parts:
        text = repr(_exact(part)).encode()
        sha.update(len(text).to_bytes(8, "little") + text)
    return sha.hexdigest()


def _exact(part: Any) -> Any:
    """The same with bytes in place of arrays, which print only some of their digits."""
    if isinstance(part, np.ndarray):
        return part.dtype.str, part.shape, part.tobytes()
    if dataclasses.is_dataclass(part):
        return type(part).__name__, [_exact(getattr(part, f.name)) for f in dataclasses.fields(part)]
    if isinstance(part, dict):
        return [(key, _exact(value)) for key, value in part.items()]
    return [_exact(x) for x in part] if isinstance(part, tuple | list) else part


@cache
def _sources() -> str:
    """A digest of all source files of the package, so that no code outlives its equations."""
    root = Path(__file__).parents[2]
    sha = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha.update(path.read_bytes())
    return sha.hexdigest()


def read(key: str) -> bytes | None:
    """The object code under a key, or None."""
    path = _path(key)
    try:
        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            data = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + 64 + 32
    if (
        len(data) <= head
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


def write(key: str, code: bytes) -> None:
    """Keep object code under a key; a full or read-only disk is no error."""
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + key.encode() + hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        _shrink()


def entries() -> Iterator[tuple[Path, os.stat_result]]:
    """The entries of the cache, and what was measured of the machine, with their sizes and ages."""
    with contextlib.suppress(OSError):
        for path in (*folder().glob(f"*/*{_SUFFIX}"), *folder().glob("calibration/*.json")):
            with contextlib.suppress(OSError):
                yield path, path.stat()


def clear() -> tuple[int, int]:
    """Remove every entry; how many there were and their bytes."""
    count = size = 0
    for path, facts in list(entries()):
        with contextlib.suppress(OSError):
            path.unlink()
            count, size = count + 1, size + facts.st_size
    for left in folder().glob(f"*/{_NEW}*"):  # by a process that died while writing
        with contextlib.suppress(OSError):
            left.unlink()
    return count, size


def _path(key: str) -> Path:
    return folder() / key[:2] / (key + _SUFFIX)


def limit() -> int:
    """`PHALANX_CACHE_BYTES`, else half a gibibyte."""
    given = os.environ.get("PHALANX_CACHE_BYTES") or str(_LIMIT)
    if not given.isdecimal():
        raise PhalanxError(f"PHALANX_CACHE_BYTES={given!r}, expected a whole number of bytes.")
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
