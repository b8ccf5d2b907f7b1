# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What runs may replace or remove: folders with a mark of our own, to which nobody has added anything.

The mark of an output is a file, or an attribute of a Zarr group, with a hash of the names of all files.
Links are never followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

from ..errors import PhalanxError

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
    """Whether it is Windows' other kind of link."""
    return bool(getattr(os.path, "isjunction", lambda _: False)(path))


def sign(folder: Path) -> None:
    """Put our mark into a folder that a run has made."""
    told = _names(folder)
    group = folder / _GROUP
    if group.is_file():
        facts = json.loads(group.read_text(encoding="utf-8"))
        facts["attributes"] = {**facts.get("attributes", {}), _ATTRIBUTE: told}
        group.write_text(json.dumps(facts, indent=2), encoding="utf-8")
    else:
        (folder / _MARK).write_text(f"{told}\n", encoding="utf-8")


def require_replaceable(out: Path, *, folder: bool) -> None:
    """Raise unless an output may take a path: nothing is there, a file, or a folder that a run has made."""
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
    told = _signature(out)
    if told is None:
        raise PhalanxError(
            f"-o: {out} is a folder that no run has made, and nothing in it is replaced; choose another "
            "name, or remove it."
        )
    if told != _names(out):
        raise PhalanxError(
            f"-o: {out} was made by a run, but files were added to it or taken away since; choose another "
            "name, or remove it."
        )


def _signature(folder: Path) -> str | None:
    """The mark of a folder; None where there is none."""
    for place in (folder / _MARK, folder / _GROUP):
        try:
            if not stat.S_ISREG(os.lstat(place).st_mode):
                continue
            told = place.read_text(encoding="utf-8")
            if place.name == _MARK:
                return told.strip()
            found = json.loads(told)["attributes"][_ATTRIBUTE]
            return found if isinstance(found, str) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return None


def _names(folder: Path) -> str:
    """A hash of the names of all that is in a folder, our mark apart."""
    found = []
    for root, folders, files in os.walk(folder):
        links = [name for name in folders if not is_real_folder(Path(root, name))]
        found += [Path(root, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return hashlib.sha256("\n".join(sorted({*found} - {_MARK})).encode()).hexdigest()
