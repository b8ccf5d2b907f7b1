# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Bars: on a terminal only, after a second only, gone at the end."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from phalanx import progress
from phalanx.progress import announce, bars, line, steps


class Terminal(io.StringIO):
    """Standard error as a person would see it."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in place of standard error; pytest would replace that of a fixture."""
    place = Terminal()
    monkeypatch.setattr(sys, "stderr", place)
    return place


class Clock:
    """Timers that are over at once, or never: no test waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, over: bool) -> None:
        self.over = over
        self.asked: list[float] = []
        monkeypatch.setattr(progress.threading, "Timer", self.timer)

    def timer(self, seconds: float, action: Callable[[], None]) -> Any:
        self.asked.append(seconds)
        return SimpleNamespace(start=action if self.over else lambda: None, cancel=lambda: None)


def test_long_work_shows_a_bar_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, clock = terminal(monkeypatch), Clock(monkeypatch, over=True)
    with bars():
        assert list(steps(["one", "two"], "walking", str)) == ["one", "two"]
    text = seen.getvalue()
    assert "walking" in text
    assert "1/2  two" in text
    assert text.endswith("\r\x1b[K")
    assert clock.asked == [1.0]


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, clock = terminal(monkeypatch), Clock(monkeypatch, over=False)
    with bars():
        assert list(steps([1, 2, 3], "walking")) == [1, 2, 3]
    assert seen.getvalue() == ""
    assert clock.asked == [1.0]


def test_a_timer_draws_the_bar_of_work_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with bars():
        for _ in steps(["one"], "walking", str):
            while "walking" not in seen.getvalue():
                time.sleep(0.001)


def test_a_timer_that_is_over_too_late_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, late = terminal(monkeypatch), []
    monkeypatch.setattr(
        progress.threading,
        "Timer",
        lambda _, action: SimpleNamespace(start=lambda: late.append(action), cancel=lambda: None),
    )
    with bars():
        list(steps(["one"], "walking"))
    late[0]()
    assert seen.getvalue() == ""


def test_a_library_keeps_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, clock = terminal(monkeypatch), Clock(monkeypatch, over=True)
    list(steps(["one"], "walking"))
    with bars(False):
        list(steps(["one"], "walking"))
    assert seen.getvalue() == ""
    assert clock.asked == []


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, over=True)
    with bars():
        list(steps(["one"], "walking"))
        announce("hello")
    assert capsys.readouterr() == ("", "")
    assert clock.asked == []


def test_a_bar_within_a_bar_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = terminal(monkeypatch), Clock(monkeypatch, over=True)
    with bars():
        for _ in steps(["a"], "outer"):
            list(steps(["b"], "walking"))
    assert "outer" in seen.getvalue()
    assert "walking" not in seen.getvalue()


def test_an_interrupted_walk_wipes_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = terminal(monkeypatch), Clock(monkeypatch, over=True)

    def walk() -> None:
        for _ in steps([1, 2], "walking"):
            raise KeyboardInterrupt

    with bars(), pytest.raises(KeyboardInterrupt):
        walk()
    assert "walking" in seen.getvalue()
    assert seen.getvalue().endswith("\r\x1b[K")


def test_a_line_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert len(line("comparing", 3, 9, "x" * 100)) < 60
    assert "[########................] 3/9" in line("comparing", 3, 9)


def test_announcements_go_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    announce("measuring once")
    with bars():
        announce("again")
    with bars(False):
        announce("never")
    assert seen.getvalue() == "phalanx: measuring once\nphalanx: again\n"
