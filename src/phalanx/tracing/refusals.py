# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Errors that point at the user's own line: what cannot be recorded there, and what to write instead."""

from __future__ import annotations

import linecache
import os
import sys
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, NoReturn

from ..errors import PhalanxError, shortened

_LIBRARIES = {"phalanx", "numpy", *sys.stdlib_module_names} - {"__main__"}
_LONG = 80  # characters of a line that is shown


FILLED = "make the array by np.zeros(shape, like=q), or join parts by np.stack or np.hstack"

# The refusals of the function that runs.
RAISED: ContextVar[list[RefusalError] | None] = ContextVar("RAISED", default=None)


class RefusalError(PhalanxError):
    """Raised where a user's function cannot be recorded; its message begins with the user's file and line.

    `RAISED` notes it, so that a function which catches it is refused all the same.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if (raised := RAISED.get()) is not None:
            raised.append(self)


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs code that is neither ours, nor NumPy's or Python's."""
    return frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARIES


def users_frame() -> tuple[str, int]:
    """The file and line of the innermost call from outside the libraries."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None and not is_users(frame):
        frame = frame.f_back
    assert frame is not None
    return frame.f_code.co_filename, frame.f_lineno


def users_line(traceback: TracebackType | None) -> tuple[str, int] | None:
    """The file and line of the innermost user's code in a traceback, if there is any."""
    found = None
    while traceback is not None:
        if is_users(traceback.tb_frame):
            found = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def location(file: str, line: int) -> str:
    """A file and line as messages show them: short if the file is below the current folder."""
    try:
        short = os.path.relpath(file)
        file = file if short.startswith("..") else short
    except ValueError:  # of another drive
        pass
    return f"{file}:{line}"


def source(file: str, line: int) -> str:
    """A line of source, quoted; nothing if it is not known."""
    code = linecache.getline(file, line).strip()
    return f'"{shortened(code, _LONG)}" ' if code else ""


def refuse(what: str, remedy: str) -> NoReturn:
    """Raise for the user's line, where something cannot be recorded."""
    file, line = users_frame()
    raise RefusalError(f"{location(file, line)}: {source(file, line)}{what}; {remedy}.")


def refuse_truth() -> NoReturn:
    """Raise where Python asks a traced value for its truth."""
    file, line = users_frame()
    code = linecache.getline(file, line).strip()
    known = "a traced function runs once, on symbols, before it is compiled"
    remedy = "use np.where(condition, a, b), np.minimum or np.maximum, and & or | between conditions"
    if code.startswith("while "):
        what = "loops until a traced condition holds"
        remedy = "use a for loop of a fixed number of iterations with np.where inside"
    elif code.startswith(("if ", "elif ")):
        what = "decides on a traced value"
        remedy = "compute both sides and use np.where(condition, a, b)"
    elif code.startswith("assert "):
        what, remedy = "asserts a traced value", "leave it out, or check a record after the rollout"
    elif " if " in code:
        what, remedy = "decides on a traced value", "write it as np.where(condition, a, b)"
    else:
        what = "needs the truth of a traced value, as if, while, and, or, max() and sorted() do"
        remedy += ", on arrays joined by np.stack or np.array([…], like=q)"
    raise RefusalError(f"{location(file, line)}: {source(file, line)}{what}, but {known}; {remedy}.")


def refuse_number(kind: str) -> NoReturn:
    """Raise where Python asks a traced value for its number."""
    file, line = users_frame()
    code = linecache.getline(file, line).strip()
    if "math." in code:
        what, remedy = "calls a function of math on a traced value", "use that of NumPy, as np.sin"
    elif kind == "index":
        what, remedy = "uses a traced value as an index", "use np.where or np.interp to choose by a value"
    elif _assigns_to_element(code):
        what = "puts a traced value into an array of floats"
        remedy = FILLED
    else:
        what = f"needs the number behind a traced value, as {kind}() does"
        remedy = "leave it traced, and use NumPy's own functions"
    raise RefusalError(f"{location(file, line)}: {source(file, line)}{what}; {remedy}.")


def refuse_array(dtype: Any) -> NoReturn:
    """Raise where NumPy makes an array of numbers of a traced one."""
    file, line = users_frame()
    if _assigns_to_element(linecache.getline(file, line).strip()):
        refuse("puts traced values into an array of floats", FILLED)
    refuse(
        f"makes an array of {dtype} of a traced value",
        "leave it as it is, or copy it as q.copy(); np.stack joins values, np.zeros(n, like=q) takes them",
    )


def _assigns_to_element(code: str) -> bool:
    target, found, _ = code.partition("=")
    return bool(found) and target.rstrip("+-*/ ").endswith("]")
