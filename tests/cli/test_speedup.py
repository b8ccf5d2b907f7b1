# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx speedup` in print and as JSON."""

from __future__ import annotations

import json

import pytest

from phalanx.cli import main


def test_the_answer_comes_first_and_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["speedup", "two_link", "-f", "mass_matrix"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("mass_matrix of two_link, one state: ")
    assert "Measured here: one core" in text
    assert "< knee" in text
    assert max(map(len, text.splitlines())) <= 80


def test_json_and_a_charge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speedup", "two_link", "--message", "2", "--no-measure", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["message_operations"] == 2.0
    assert found["measured"] == []
    assert found["charged"]["speedups"][0] == 1.0


def test_a_wrong_charge_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speedup", "two_link", "--message", "-3", "--no-measure"]) == 2
    assert "message is -3.0, expected operations" in capsys.readouterr().err
