# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What all commands have in common: help, exit status, one line on bad input."""

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from phalanx import cli
from phalanx.cli import info, main
from phalanx.errors import PhalanxWarning

COMMANDS = [command.__name__.rpartition(".")[2] for command in cli.COMMANDS]


def failure(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of standard error with which `arguments` fail."""
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example_and_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"examples:\n  phalanx {command}" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 80


def test_no_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "COMMAND" in failure([], capsys)


def test_an_unknown_command_is_one_line_with_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    line = failure(["inof"], capsys)
    assert "'inof'" in line
    assert "info" in line


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "cache"])
def test_an_unknown_robot_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = failure([command, "no_such_robot"], capsys)
    assert line.startswith(f"phalanx {command}: ")
    assert "no_such_robot" in line


def test_a_file_that_is_no_robot_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text("<robot name='arm'>\n  <link\n")
    assert "arm.urdf" in failure(["info", str(file)], capsys)


def test_a_bad_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'loose'" in failure(["info", "puma560", "--mimic", "loose"], capsys)


@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5"])
def test_a_batch_is_a_whole_number(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "at least 1" in failure(["demo", f"--batch={text}"], capsys)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("phalanx 0.")


def test_ctrl_c_is_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: argparse.Namespace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "load_robot", interrupted)
    assert main(["info", "ur5"]) == 130
    assert capsys.readouterr().err == "phalanx info: interrupted\n"


def test_a_warning_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    load = info.load_robot

    def doubtful(args: argparse.Namespace) -> object:
        warnings.warn("two links\nlook odd.", PhalanxWarning, stacklevel=2)
        return load(args)

    monkeypatch.setattr(info, "load_robot", doubtful)
    with warnings.catch_warnings():
        warnings.simplefilter("default", PhalanxWarning)
        assert main(["info", "ur5"]) == 0
    assert capsys.readouterr().err == "phalanx: warning: two links look odd.\n"


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "phalanx", "info", "ur5"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "ur5" in done.stdout


def test_a_reader_that_leaves_causes_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "phalanx", "info", "ur5"], stdout=write, stderr=subprocess.PIPE, timeout=60
    )
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == b""
