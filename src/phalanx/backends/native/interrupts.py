# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Work inside LLVM that Ctrl-C can leave: while the main thread is in there, it answers no signal."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")
_PAUSE = 0.1  # seconds between looks at signals; Windows hears them only then
_INTERRUPTED = 130  # exit status

_left: list[threading.Thread] = []  # what nobody waits for any more


def leavable(work: Callable[[], _T]) -> _T:
    """The result of some work, done in a thread that the main thread leaves where it is interrupted.

    LLVM cannot be stopped: a thread that was left goes on to its end, and whoever compiles next waits for it.
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
    """LLVM's data must outlive its threads; whoever is in a hurry presses Ctrl-C again."""
    try:
        _wait_for_left()
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
