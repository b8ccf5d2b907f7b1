# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx schedule` in print, as JSON and as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import phalanx as px
from phalanx.cli import main
from phalanx.cli.schedule import machine_of

M = px.machines


@pytest.mark.parametrize(
    "arguments",
    [
        ["panda", "--machine", "pram:8"],
        ["puma560", "--machine", "transputers"],
        ["puma560", "--machine", "systolic", "--algorithm", "luh_walker_paul"],
        ["puma560", "--machine", "array"],
        ["panda", "--function", "forward_dynamics", "--processors", "3", "--granularity", "vector"],
        ["two_link", "--machine", "transputers:assignment=list,start_up=2", "--customise", "semi"],
    ],
)
def test_it_fits_the_terminal_and_tells_the_facts(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["schedule", *arguments]) == 0
    text = capsys.readouterr().out
    for word in ("makespan", "speed-up", "critical path", "critical chain", "processor"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_paper_comes_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", "puma560", "--machine", "transputers"]) == 0
    text = capsys.readouterr().out
    assert "567 operations" in text
    assert "63 with 222 numbers" in text


def test_a_systolic_machine_tells_its_interval_and_what_it_gains(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "gantt.html"
    arguments = ["schedule", "puma560", "--machine", "systolic", "--algorithm", "lathrop"]
    assert main([*arguments, "--plot", str(page)]) == 0
    text = capsys.readouterr().out
    s = px.schedule(px.load("puma560"), "inverse_dynamics", "lathrop", M.systolic())
    assert f"a set every {s.interval:g} operations" in text
    assert f"{s.gain:.2f} once sets follow at that interval" in text
    assert f"gain at that interval</dt><dd>{s.gain:.2f}" in page.read_text(encoding="utf-8")


def test_files_and_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, trace = tmp_path / "gantt.html", tmp_path / "trace.json"
    assert main(["schedule", "two_link", "--plot", str(page), "--trace", str(trace), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["processors"]) == 4
    assert data["tasks"][-1]["end"] <= data["makespan"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_robot"], "no built-in robot"),
        (["two_link", "--machine", "prom"], "unknown machine 'prom'; did you mean \"pram\"?"),
        (["two_link", "--machine", "pram:x"], "processors is 'x'"),
        (["two_link", "--machine", "systolic:speed=3"], "expected options of systolic: nodes"),
        (["two_link", "--machine", "pram:4", "--processors", "2"], "already says how many"),
        (["two_link", "--machine", "systolic", "--processors", "2"], "already says how many"),
        (["two_link", "--algorithm", "nothing"], "unknown algorithm 'nothing'"),
        (["stanford", "--machine", "transputers"], "does not cover robot"),
        (["two_link", "--plot", "chart.doc"], 'plot: "chart.doc" ends in'),
    ],
)
def test_bad_input_is_one_clear_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schedule", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_bad_numbers_leave_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["schedule", "two_link", "--processors", "0"])
    assert left.value.code == 2
    assert "expected an integer of at least 1" in capsys.readouterr().err


def test_machines_by_name() -> None:
    assert machine_of("pram") == M.pram(4)
    assert machine_of("pram:8,addition=0.5") == M.pram(8, addition=0.5)
    assert machine_of("array:n,network=nearest") == M.processor_array("n", network="nearest")
    assert machine_of("systolic:nodes=one") == M.systolic(nodes="one")
    assert machine_of("transputers", 3) == M.transputers(3, assignment="list")


def test_help_has_examples_that_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["schedule", "--help"])
    text = capsys.readouterr().out
    assert "phalanx schedule panda --machine pram:8 --plot gantt.html" in text
    assert max(map(len, text.splitlines())) <= 80
