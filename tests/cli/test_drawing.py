# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Trees in text: shape, width and length of the drawing."""

from phalanx.cli.drawing import MOST_LINES, draw_tree


def names(n: int) -> list[str]:
    return [f"link{i}" for i in range(n)]


def test_a_branching_indents_and_a_run_does_not() -> None:
    lines = draw_tree([-1, 0, 1, 2, 1, -1], list("abcdef"), width=80)
    assert lines == [
        "world",
        "├─ a",
        "│  b",
        "│  ├─ c",
        "│  │  d",
        "│  └─ e",
        "└─ f",
    ]


def test_a_long_run_keeps_both_ends_and_says_how_many_are_missing() -> None:
    lines = draw_tree(list(range(-1, 9999)), names(10_000), width=80)
    assert len(lines) == 22
    assert lines[1] == "└─ link0"
    assert lines[11] == "   … 9,980 more"
    assert lines[-1] == "   link9999"


def test_everything_prints_every_link_of_a_run() -> None:
    lines = draw_tree(list(range(-1, 9999)), names(10_000), width=80, everything=True)
    assert len(lines) == 10_001


def test_a_large_star_stops_and_counts_the_rest() -> None:
    lines = draw_tree([-1] * 1000, names(1000), width=80)
    assert lines[-1] == f"… {1000 - MOST_LINES:,} more"
    assert len(lines) == MOST_LINES + 2


def test_a_deep_comb_stays_within_the_width() -> None:
    # Every second link is a tip, so that each level would indent once more.
    parents = [-1] + [2 * ((i - 1) // 2) for i in range(1, 4001)]
    lines = draw_tree(parents, names(4001), width=80)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 100
    assert any("more" in line for line in lines)


def test_no_links_leave_the_world_alone() -> None:
    assert draw_tree([], [], width=80) == ["world"]


def test_long_names_are_shortened_to_the_width() -> None:
    lines = draw_tree([-1], ["x" * 200], width=60)
    assert len(lines[1]) == 60
    assert "…" in lines[1]
