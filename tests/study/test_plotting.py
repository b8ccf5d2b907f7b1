# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The common style: lines that can be told apart, files, and what is missing."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest

from phalanx.errors import PhalanxError
from phalanx.study import plotting


def luminance(colour: str) -> float:
    """Relative luminance of a colour (WCAG 2)."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_no_two_lines_look_alike() -> None:
    styles = [tuple(style.values()) for style in islice(plotting.line_styles(), 20)]
    assert len(set(styles)) == 20
    assert len({(marker, dash) for _, marker, dash in styles}) == 20  # without colour, too


def test_every_colour_shows_on_paper() -> None:
    assert all(1.05 / (luminance(c) + 0.05) >= 1.9 for c in plotting.COLOURS)


def test_the_style_leaves_the_users_own_alone() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    with plotting.styled():
        plotting.new_figure()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("ending", plotting.FORMATS)
def test_files_are_written_in_the_format_of_their_ending(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    figure, axes = plotting.new_figure()
    axes.plot([1, 2])
    plotting.saved(figure, tmp_path / f"a.{ending}")
    head = (tmp_path / f"a.{ending}").read_bytes()[:5]
    assert head.startswith({"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending])


def test_unknown_endings_and_folders_are_told(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure, _ = plotting.new_figure()
    with pytest.raises(PhalanxError, match=r"expected one of \.png"):
        plotting.saved(figure, tmp_path / "a.docx")
    with pytest.raises(PhalanxError, match="holds a null character, which no name can"):
        plotting.saved(figure, "a\0b.png")
    with pytest.raises(PhalanxError, match="cannot write"):
        plotting.saved(figure, tmp_path / "nowhere" / "a.png")


def test_without_matplotlib_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PhalanxError, match=r"\.\[viz\]"):
        plotting.new_figure()
