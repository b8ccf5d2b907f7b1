# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx compare` in print and as JSON."""

from __future__ import annotations

import json

import pytest

from phalanx.cli import main


def test_the_table_fits_the_terminal_and_marks_the_choice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compare", "two_link", "--batch", "16"]) == 0
    text = capsys.readouterr().out
    assert "> cartesian_tensor" in text
    assert "lathrop" in text
    assert max(map(len, text.splitlines())) <= 80


def test_json_holds_every_algorithm_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "two_link", "--function", "mass_matrix", "--batch", "4", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    crba = next(row for row in rows if row["algorithm"] == "crba")
    assert crba["chosen"] is True
    assert crba["cost"]["multiplications"] > 0


def test_an_unknown_robot_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "no_such_robot"]) == 2
    assert "no built-in robot" in capsys.readouterr().err
