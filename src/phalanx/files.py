# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Files on disk: read only if regular; replaced in one step, or left as they were."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from .errors import PhalanxError

TEMPORARY = ".phalanx-"  # how names of unfinished files begin; they end in .tmp
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


class Replacement:
    """A new file beside its target, which takes the target's name at the end of a `with` block.

    An exception leaves the target as it was and nothing beside it. `private` files are for this user only;
    all others follow the process's umask, or the `old` file's permissions. `sync` waits for the disk: some
    file systems notice only then that it is full. The target may be a link, which is replaced, not followed.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        private: bool = False,
        sync: bool = False,
        old: os.stat_result | None = None,
    ) -> None:
        self.target = os.fspath(target)
        folder = os.path.dirname(self.target)
        self._temporary = os.path.join(folder, f"{TEMPORARY}{os.urandom(8).hex()}.tmp")
        self._sync, self._old = sync, old
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self.file: BinaryIO = os.fdopen(os.open(self._temporary, flags, 0o600 if private else 0o666), "wb")

    def finish(self) -> None:
        """Flush everything to the temporary file beside the target."""
        if self.file.closed:
            return
        self.file.flush()
        if self._sync:
            os.fsync(self.file.fileno())
        self.file.close()
        if self._old is not None:
            with contextlib.suppress(OSError, AttributeError):  # another owner's file becomes one's own
                os.chown(self._temporary, self._old.st_uid, self._old.st_gid)
            os.chmod(self._temporary, stat.S_IMODE(self._old.st_mode))

    def __enter__(self) -> Replacement:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.finish()
                os.replace(self._temporary, self.target)
        except BaseException:
            self._discard()
            raise
        if kind is not None:
            self._discard()

    def _discard(self) -> None:
        with contextlib.suppress(OSError):  # what is still in its buffer does not fit on a full disk either
            self.file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)


def write_chunks(
    target: str | os.PathLike[str], *chunks: Any, private: bool = False, sync: bool = False
) -> None:
    """Write a file that holds all chunks of bytes, or is as it was; OSError where that fails."""
    with Replacement(target, private=private, sync=sync) as new:
        for chunk in chunks:
            new.file.write(chunk)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str], *, where: str) -> Iterator[BinaryIO]:
    """An open binary file that becomes `path` when the `with` block ends, or nothing after an exception.

    For files that users name: the file keeps its permissions, a link is followed; a device or a pipe
    is written to directly.
    """
    with _failures(path_text(path, where), where):
        target = os.path.realpath(os.path.expanduser(path))
        old = _replaceable(target)
        if old is not None and not stat.S_ISREG(old.st_mode):
            with open(target, "wb") as file:
                yield file
        else:
            with Replacement(target, sync=True, old=old) as new:
                yield new.file


def write_text(path: str | os.PathLike[str], text: str, *, where: str) -> None:
    """Write a string as `writing` does: the file holds either its old content or all of the new one."""
    with writing(path, where=where) as file:
        file.write(text.encode("utf-8"))


def write_files(folder: Path, contents: Mapping[str, bytes | str], *, where: str) -> list[Path]:
    """Write several files of a folder, none of which changes before all of them are on disk; their paths."""
    names = '", "'.join(str(folder / name) for name in contents)
    with _failures(names, where, "; nothing was changed"), contextlib.ExitStack() as all_of_them:
        made = []
        for name, content in contents.items():
            target = os.path.realpath(folder / name)
            made.append(Replacement(target, sync=True, old=_replaceable(target)))
            all_of_them.enter_context(made[-1])
            made[-1].file.write(
                content.encode(errors="surrogateescape") if isinstance(content, str) else content
            )
        for each in made:
            each.finish()
    return [folder / name for name in contents]


def path_text(path: Any, where: str) -> str:
    """The path as a string; raises for one that no file can have."""
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


def _replaceable(target: str) -> os.stat_result | None:
    """The status of a file that exists; OSError if it is read-only, which a rename would ignore."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(old.st_mode) and not os.access(target, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    return old


@contextlib.contextmanager
def _failures(path: str, where: str, more: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PhalanxError(f'{where}: cannot write "{path}": {error.strerror or error}{more}.') from None
