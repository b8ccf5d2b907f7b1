# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx report`: a page is written, and what it tells comes out as text or JSON too."""

import json
from pathlib import Path

import pytest

import phalanx as px
from phalanx.cli import main


def test_a_page_is_written_and_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.html"
    assert main(["report", "two_link", "-o", str(file), "--quick", "--functions", "inverse_dynamics"]) == 0
    out = capsys.readouterr().out
    assert str(file) in out
    assert "inverse_dynamics" in out
    assert "live in the page: forward_kinematics" in out
    assert all(len(line) <= 80 for line in out.splitlines() if str(file) not in line)
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["two.html"]


def test_json_holds_the_numbers_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.html"
    arguments = [
        "report",
        "two_link",
        "-o",
        str(file),
        "--quick",
        "--functions",
        "inverse_dynamics",
        "--json",
    ]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == file.stat().st_size
    (study,) = told["functions"]
    robot = px.load("two_link")
    for row in study["algorithms"]:
        if row["refused"] is None:
            assert row["cost"]["total"] == px.cost(robot, "inverse_dynamics", row["algorithm"]).total
            assert row["times"] is None
            assert row["errors"]["float64"]["largest"] < 1e-14
    assert study["speedups"]["newton_euler"][0] <= 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two_link", "-o", "page.pdf"], "expected .html"),
        (["two_link", "-o", "page.html", "--functions", "dance"], "unknown function 'dance'"),
        (["nobody", "-o", "page.html"], "nobody"),
        (["two_link", "-o", "page.html", "--quick", "--batch", "4"], "--batch: needs timing"),
    ],
)
def test_bad_arguments_end_with_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["report", *arguments])
    except SystemExit as leaving:  # of the parser
        status = leaving.code
    assert status == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
