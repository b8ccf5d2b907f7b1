# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Bars: on a terminal only, after a second only, gone at the end."""

from __future__ import annotations

import io
import sys
import time

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


def slowly(names: list[str]) -> list[str]:
    """The names, each after a pause in which an impatient bar shows."""
    seen = []
    for name in steps(names, "walking", str):
        time.sleep(0.05)
        seen.append(name)
    return seen


def test_long_work_shows_a_bar_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with bars():
        assert slowly(["one", "two"]) == ["one", "two"]
    text = seen.getvalue()
    assert "walking" in text
    assert "1/2  two" in text
    assert text.endswith("\r\x1b[K")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    with bars():
        assert list(steps([1, 2, 3], "walking")) == [1, 2, 3]
    assert seen.getvalue() == ""


def test_a_library_keeps_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    slowly(["one"])
    with bars(False):
        slowly(["one"])
    assert seen.getvalue() == ""


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with bars():
        slowly(["one"])
        announce("hello")
    assert capsys.readouterr() == ("", "")


def test_a_bar_within_a_bar_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with bars():
        for _ in steps(["a"], "outer"):
            slowly(["b"])
    assert "outer" in seen.getvalue()
    assert "walking" not in seen.getvalue()


def test_an_interrupted_walk_wipes_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)

    def walk() -> None:
        for _ in steps([1, 2], "walking"):
            time.sleep(0.05)
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
