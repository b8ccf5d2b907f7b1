# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Markup: whatever names hold, the page gets text; read back by the standard library's parser."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import phalanx as px
from phalanx.studio import markup
from phalanx.studio.playback import Playback

SCHEDULE = px.schedule(px.load("two_link"), "gravity_forces", machine=px.machines.pram(1))
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=http://example.com/x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "</title></svg><iframe src='http://example.com'>",
    "![x](http://example.com/x.png)",
    "a\x00b\x1b[31m\u202e",
    "x" * 5000,
]
ELEMENTS = {"b", "div", "table", "thead", "tbody", "tr", "th", "td", "span"}
ELEMENTS |= {"svg", "line", "text", "rect", "title", "polyline", "circle"}


class Reader(HTMLParser):
    """Tags, attributes and text of some markup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def schedule_of(name: str) -> Playback:
    """A schedule in which everything has one name."""
    tasks = tuple(replace(t, name=name, quantity=name) for t in SCHEDULE.tasks)
    machine = replace(SCHEDULE.machine, unit=name)
    return Playback(replace(SCHEDULE, processors=(name,), tasks=tasks, machine=machine), None)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_files_are_text_everywhere(name: str) -> None:
    whole = "".join(
        [
            markup.note(name),
            markup.note(name, is_error=True),
            markup.table((name, name), [(name, name)], name=name),
            markup.bars([(name, 1.0, name), (name, -2.0, name)], name=name, unit=name),
            markup.swatches({name: "#000000"}),
            markup.gantt(schedule_of(name), name=name),
            markup.curves([0.0, 1.0], {name: [1.0, 2.0]}, name=name, x_label=name, y_label=name),
        ]
    )
    read = Reader(whole)
    assert read.tags <= ELEMENTS
    assert not any(a.startswith("on") or a in ("src", "href") for a in read.names)
    assert "http://" not in "".join(w for w in read.tags)
    assert name[:8].split("\x00")[0] in read.words
    assert "\x1b" not in whole
    assert "\u202e" not in whole


def test_bars_are_as_long_as_their_values() -> None:
    text = markup.bars([("a", 10.0, "10"), ("b", 5.0, "5")], name="x")
    assert "width:100.0%" in text
    assert "width:50.0%" in text
    both = markup.bars([("a", 10.0, "10"), ("b", -5.0, "-5"), ("c", math.nan, "nan")], name="x")
    assert "left:25.0%;width:25.0%" in both
    assert "nan%" not in both


def test_bars_with_limits_reach_to_their_own_limit_from_the_middle() -> None:
    rows = [("a", 5.0, "5 N"), ("b", -5.0, "-5 N"), ("c", 5.0, "5 N"), ("d", 30.0, "30 N")]
    text = markup.bars(rows, name="x", limits=[10.0, 20.0, math.inf, 20.0], most=50.0)
    assert "left:50.0%;width:25.0%" in text  # half of 10
    assert "left:37.5%;width:12.5%" in text  # a quarter of 20
    assert "left:50.0%;width:5.0%" in text  # a tenth of the largest seen
    assert "left:50.0%;width:50.0%" in text  # beyond its limit, and marked
    assert text.count(markup.BEYOND) == 1
    assert 'title="5 N of 10"' in text
    assert 'title="5 N, no limit"' in text


def test_every_line_of_a_plot_is_told_apart() -> None:
    many = {f"joint{k}": [0.0, float(k)] for k in range(16)}
    text = markup.curves([0.0, 1.0], many, name="x", x_label="x", y_label="y")
    looks = re.findall(r'<polyline .*?stroke="(.*?)".*?stroke-dasharray="(.*?)"', text)
    assert len(set(looks)) == 16
    assert all(name in text[text.index("</svg>") :] for name in many)


def test_charts_survive_numbers_without_end() -> None:
    nothing = markup.curves([0.0], {"a": [1.0]}, name="x", x_label="x", y_label="y")
    assert "nothing to draw" in nothing
    text = markup.curves(
        [0.0, 1.0, 2.0], {"a": [1.0, math.nan, math.inf]}, name="x", x_label="x", y_label="y"
    )
    assert "nan" not in text
    empty = Playback(replace(SCHEDULE, processors=(), tasks=()), None)
    assert "<svg" in markup.gantt(empty, name="empty")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 17), (0.001, 0.002), (5, 5), (-1e9, 1e9)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = markup.ticks(low, high, 5)
    assert 1 <= len(found) <= 12
    assert all(low - 1e-9 * abs(low) <= x <= high + 1e-9 * abs(high) for x in found)


def test_numbers_that_are_only_rounding_are_zero() -> None:
    assert markup.figure(-1e-17, "N·m") == "0 N·m"
    assert markup.figure(-12.3456, "N") == "-12.35 N"
