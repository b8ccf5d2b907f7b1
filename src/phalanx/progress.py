# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Progress on standard error for what takes longer than a second, and only for people.

A library keeps silent: bars appear only inside `bars()`, which the command line opens, and only
where standard error is a terminal.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .errors import printable

T = TypeVar("T")

PATIENCE = 1.0  # seconds that nobody minds waiting for
_WIDTH = 24


class _Stage:
    """Where bars may be drawn, one at a time."""

    bar: _Bar | None = None

    def clear(self) -> None:
        if self.bar is not None:
            self.bar.end()
        self.bar = None


_stage: ContextVar[_Stage | None] = ContextVar("stage", default=None)
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def bars(shown: bool = True) -> Iterator[None]:
    """Show the bars of what runs inside, if standard error is a terminal; else nothing."""
    stage = _Stage() if shown and _is_terminal() else None
    token, silence = _stage.set(stage), _silent.set(not shown)
    try:
        yield
    finally:
        if stage is not None:
            stage.clear()
        _stage.reset(token)
        _silent.reset(silence)


def steps(items: Collection[T], what: str, name: Callable[[T], object] | None = None) -> Iterator[T]:
    """The items one by one, with a bar that shows how many are done and the name of the current one.

    Inside another bar there is none: one line is enough.
    """
    stage = _stage.get()
    if stage is None or stage.bar is not None:
        yield from items
        return
    stage.bar = bar = _Bar(what, len(items))
    try:
        for done, item in enumerate(items):
            bar.update(done, "" if name is None else str(name(item)))
            yield item
    finally:
        stage.clear()


def announce(text: str) -> None:
    """Print a line on a terminal, unless bars are switched off."""
    if _is_terminal() and not _silent.get():
        _write(f"phalanx: {printable(text)}\n")


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class _Bar:
    """A line that is drawn after a second, renewed with every step and wiped at the end."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self.name = what, max(total, 1), 0, ""
        self.drawn = self.ended = False
        self.lock = threading.Lock()
        self.timer = threading.Timer(PATIENCE, self._first)
        self.timer.daemon = True
        self.timer.start()

    def end(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.ended = True
            if self.drawn:
                _write("\r\x1b[K")

    def update(self, done: int, name: str) -> None:
        with self.lock:
            self.done, self.name = done, name
            if self.drawn:
                self._draw()

    def _first(self) -> None:
        with self.lock:
            if not self.ended:
                self.drawn = True
                self._draw()

    def _draw(self) -> None:
        _write("\r" + line(self.what, self.done, self.total, self.name) + "\x1b[K")


def line(what: str, done: int, total: int, name: str = "") -> str:
    """A bar as a string, within the width of the terminal."""
    full = _WIDTH * done // total
    bar = "#" * full + "." * (_WIDTH - full)
    text = f"{what}  [{bar}] {done}/{total}  {printable(name)}".rstrip()
    return text[: max(shutil.get_terminal_size((80, 24)).columns - 1, 20)]


def _write(text: str) -> None:
    """A terminal that went away is no reason to stop the work."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
