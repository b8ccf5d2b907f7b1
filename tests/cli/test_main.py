# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What all commands have in common: help, exit status, one line on bad input."""

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from phalanx import cli
from phalanx.cli import info, main
from phalanx.errors import PhalanxWarning

COMMANDS = list(cli.COMMANDS)


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


# What commands ask for behind a robot.
MORE = {"export": ("-o", "arm.h"), "run": ("in.npz", "-o", "out.npz", "-f", "inverse_dynamics")}


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "cache"])
def test_an_unknown_robot_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = failure([command, "no_such_robot", *MORE.get(command, ())], capsys)
    assert line.startswith(f"phalanx {command}: ")
    assert "no_such_robot" in line


def test_a_file_that_is_no_robot_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text("<robot name='arm'>\n  <link\n")
    assert "arm.urdf" in failure(["info", str(file)], capsys)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--jsn", "--js", "--no-such-option=3"])
def test_an_option_that_is_misspelt_or_cut_is_refused(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = [] if command in ("cache", "papers") else ["two_link"]
    line = failure([command, *robot, *MORE.get(command, ()), option], capsys)
    assert line.startswith(
        f"phalanx {command}: unrecognized arguments: {option}; see phalanx {command} --help"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_no_other_one(command: str) -> None:
    code = f"""
import contextlib, io, sys
from phalanx.cli import COMMANDS, main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main([{command!r}, "--help"])
print(*(name for name in COMMANDS if f"phalanx.cli.{{name}}" in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [command], done.stderr


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


ARGUMENTS = [
    ["info", "ur5"],
    ["info", "ur5", "--json"],
    ["cache"],
    ["--help"],
    ["cost", "--help"],
    ["--version"],
]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=" ".join)
def test_a_full_disk_is_one_line_and_status_74(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "phalanx", *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 74
    assert done.stderr.endswith(b"cannot write to standard output: No space left on device\n")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="closing outputs in the child is a matter of POSIX")
@pytest.mark.parametrize("arguments", ARGUMENTS[:4], ids=" ".join)
def test_a_closed_output_is_one_line_and_status_74(arguments: list[str]) -> None:
    shell = f"exec {sys.executable} -m phalanx {' '.join(arguments)} >&-"
    done = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 74
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="closing outputs in the child is a matter of POSIX")
def test_bad_input_keeps_its_status_without_a_place_for_its_line() -> None:
    for place in ("2>&-", "2>/dev/full"):
        shell = f"exec {sys.executable} -m phalanx info no_such_robot {place}"
        assert subprocess.run(["sh", "-c", shell], timeout=60).returncode == 2


def test_escapes_in_names_do_not_reach_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    name = "a\x9b31m\u202eb"
    file = tmp_path / "arm.urdf"
    file.write_text(
        f"""<robot name="{name}"><link name="{name}"/><link name="{name}2"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="5" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="{name}" type="revolute"><parent link="{name}"/><child link="{name}2"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>""",
        encoding="utf-8",
    )
    commands = [
        ["info"],
        ["info", "--all"],
        ["cost"],
        ["cost", "--by", "link"],
        ["schedule"],
        ["demo", "--batch=4"],
    ]
    for command, *options in commands:
        assert main([command, str(file), *options]) == 0
        captured = capsys.readouterr()
        for text in (captured.out, captured.err):
            assert all(line.isprintable() for line in text.split("\n"))
        assert r"a\x9b31m" in captured.out
    assert main(["info", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == name
    assert r"\u202e" in failure(["info", "no_such_robot\u202e\x1b[31m"], capsys)
    assert r"\x1b" in failure(["info", "ur5", "--mimic=\x1b[31m"], capsys)


@pytest.mark.parametrize(("error", "status"), [(BrokenPipeError(), 141), (OSError(28, "full"), 74)])
def test_statuses_need_no_name_that_only_posix_has(error, status, monkeypatch) -> None:
    monkeypatch.delattr("signal.SIGPIPE", raising=False)
    monkeypatch.delattr("os.EX_IOERR", raising=False)
    monkeypatch.setattr(cli, "os", SimpleNamespace(devnull=os.devnull, O_WRONLY=0, open=_refused))
    assert cli._unwritten("phalanx", error) == status


def _refused(*given):
    raise OSError
