# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The lock of the compiler, which forks acquire, and compilation in a thread that Ctrl-C can abandon."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from functools import cached_property
from typing import Any, TypeVar

building = threading.RLock()  # held while a kernel is made; a fork waits, so that no child inherits it locked
_held: list[Any] = []  # llvmlite's lock, while a process forks

_T = TypeVar("_T")
_PAUSE = 0.1  # seconds between checks for signals; Windows delivers them only then
_INTERRUPTED = 130  # exit status
_left: list[threading.Thread] = []  # compiling threads that an interrupt has left behind


def _llvm() -> Any:
    """The lock of llvmlite, if it is loaded: threads that drop kernels enter LLVM without building any."""
    binding = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(binding, "lib", None), "_lock", None) or nullcontext()


def _wait() -> None:
    building.acquire()
    _held.append(_llvm())
    _held[-1].__enter__()


def _go_on() -> None:
    _held.pop().__exit__(None, None, None)
    building.release()


def _go_on_in_child() -> None:
    _go_on()
    if sys.version_info < (3, 12):
        _unlock_properties()


def _unlock_properties() -> None:
    """Give cached properties new locks: a thread that is not in this process may have held the old ones."""
    package = __name__.partition(".")[0]
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == package]:
        for kind in [k for k in vars(module).values() if isinstance(k, type)]:
            for each in vars(kind).values():
                if isinstance(each, cached_property):
                    setattr(each, "lock", threading.RLock())  # noqa: B010


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on_in_child)


# ------------------------------------------------------------------- Ctrl-C


def leavable(work: Callable[[], _T]) -> _T:
    """The result of work inside LLVM, done in a thread that Ctrl-C leaves: the main thread answers signals.

    LLVM cannot be stopped: the thread runs to its end, and the next call of this function waits for it.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    _wait_for_left()
    done: Future[_T] = Future()
    thread = threading.Thread(target=_do, args=(work, done), name="phalanx-compiling", daemon=True)
    try:
        thread.start()
        _wait_for(thread)
    except BaseException:
        _left.append(thread)
        raise
    return done.result()


def _wait_for(thread: threading.Thread) -> None:
    while thread.is_alive():
        thread.join(_PAUSE)


def _wait_for_left() -> None:
    while _left:
        _wait_for(_left[0])
        del _left[0]


def _do(work: Callable[[], _T], done: Future[_T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # for the thread that waits
        done.set_exception(error)


@atexit.register
def _end() -> None:
    """Wait for compiling threads, since LLVM's data must outlive them; a second Ctrl-C ends the process."""
    try:
        _wait_for_left()
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
