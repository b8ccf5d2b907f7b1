# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx cost` in print, as JSON and as a picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import phalanx as px
from phalanx.cli import main


def test_the_tables_fit_the_terminal_and_hold_the_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["cost", "puma560", "--algorithm", "zomaya_morris", "--customise", "none", "--formula"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "customise none, convention zomaya_morris" in text
    assert "900  696" in text
    assert "150n" in text
    assert "psi" in text


def test_by_link_lists_the_links_along_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "panda", "--by", "link"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines if line.startswith("panda_link")]
    assert named == [f"panda_link{k}" for k in range(1, 8)]


def test_json_is_the_cost(capsys: pytest.CaptureFixture[str]) -> None:
    choice = ["--function", "forward_dynamics", "--algorithm", "cfa:solver=serial", "--customise", "semi"]
    assert main(["cost", "ur5", *choice, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = px.cost(px.load("ur5"), "forward_dynamics", ("cfa", {"solver": "serial"}), customise="semi")
    assert told["algorithm"] == "cfa"
    assert told["total"] == found.total
    assert told["span"]["total"] == found.span.total
    assert sum(told["width"]) == found.total
    assert told["bytes"]["inputs"] == found.bytes.inputs
    assert "formula" not in told


def test_json_of_formulas_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    choice = ["--function", "mass_matrix", "--algorithm", "composite_variant", "--customise", "none"]
    assert main(["cost", "puma560", *choice, "--formula", "--json"]) == 0
    formula = json.loads(capsys.readouterr().out)["formula"]["operations"]["multiplications"]
    assert formula["coefficients"]["n^2"] == "9/2"
    assert 20 in formula["verified"]


def test_what_has_no_formula_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "ur5", "--algorithm", "lathrop", "--customise", "none", "--formula"]) == 0
    text = capsys.readouterr().out
    assert "no such formula" in text
    assert "2L + 5" in text
    assert "L = ceil(log2(n+1))" in text
    assert "not for n = 1, 2, 4, 8, 16" in " ".join(text.split())


@pytest.mark.parametrize("by", ["quantity", "link"])
def test_a_picture_is_saved(by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    file = tmp_path / "cost.png"
    assert main(["cost", "ur5", "--by", by, "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert f"Saved {file}." in capsys.readouterr().out


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["cost", "ur5", "--plot", "cost.png"]) == 2
    assert 'pip install ".[viz]" in a clone' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--convention", "paper"], "unknown convention 'paper'; conventions:"),
        (["--algorithm", "cfa:solver"], "expected option=value"),
        (["--algorithm", "nothing"], "unknown algorithm 'nothing'"),
        (["--formula"], "a formula in n exists for 'none' and 'semi' only"),
        (["--plot", "cost.txt"], "expected one of .png, .pdf, .svg"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost", "ur5", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
