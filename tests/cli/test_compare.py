# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx compare` in print and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phalanx import progress
from phalanx.cli import compare as command
from phalanx.cli import main
from phalanx.study import compare as module


@pytest.fixture(autouse=True)
def operations_take_a_nanosecond_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """No clock: every algorithm takes as long as it has operations."""
    monkeypatch.setattr(
        module,
        "_add_times",
        lambda found, jobs: [
            f.update(one_state=f["cost"].total * 1e-9, per_state=f["cost"].total * 1e-9)
            for f in found.values()
        ],
    )


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


def test_the_reason_and_the_gain_of_processors_are_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compare", "ur5", "--function", "mass_matrix", "--batch", "64", "--processors", "3"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert '> crba is what "auto" takes' in text
    assert "on 3" in text
    assert "gain of 3 processors" in " ".join(text.split())
    marked = [line for line in text.splitlines() if line.startswith("> crba ")]
    assert "x " in marked[0]


def test_json_names_the_recommended_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "two_link", "--batch", "4", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    (row,) = [row for row in json.loads(captured.out) if row["recommended"]]
    assert row["reason"]
    assert row["speedup"] > 0
    assert row["predicted"] > 0


def test_a_plot_is_saved_and_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    place = tmp_path / "bars.png"
    assert main(["compare", "two_link", "--batch", "4", "--plot", str(place)]) == 0
    assert place.read_bytes().startswith(b"\x89PNG")
    assert f"Saved {place}." in capsys.readouterr().out


def test_a_plot_that_cannot_be_made_is_one_line_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "compare", lambda *_, **__: pytest.fail("compared first"))
    assert main(["compare", "two_link", "--plot", str(tmp_path / "bars.docx")]) == 2
    assert "expected one of .png" in capsys.readouterr().err


def test_no_bar_reaches_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert main(["compare", "two_link", "--batch", "4"]) == 0
    assert capsys.readouterr().err == ""


def test_an_unknown_robot_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "no_such_robot"]) == 2
    assert "no built-in robot" in capsys.readouterr().err


def test_threads_have_columns_of_their_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(module, "wall_times", lambda jobs: dict.fromkeys(jobs, 1e-6))
    assert main(["compare", "two_link", "--batch", "16", "--threads", "2"]) == 0
    text = capsys.readouterr().out
    assert "one thread and 2" in text
    row = next(line for line in text.splitlines() if line.startswith("> cartesian_tensor"))
    assert "62.5 ns" in row
    assert "–" in row  # of one state, threads share nothing
    assert max(map(len, text.splitlines())) <= 80
