# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx cache`: what the folder of compiled kernels holds, and clearing it."""

import json
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.backends.native import cache
from phalanx.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    place = tmp_path / "kernels"
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(place))
    return place


def json_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["cache", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_empty_cache_has_no_entries(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json_of([], capsys)
    assert facts == {
        "folder": str(folder),
        "entries": 0,
        "bytes": 0,
        "limit": 512 * 2**20,
        "removed": 0,
        "removed_bytes": 0,
    }
    assert not folder.exists()


def test_compiled_kernels_are_counted_and_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = px.load("two_link")
    robot.kernel("mass_matrix")  # the first kernel of a process compiles the code that all kernels share, too
    shared = len(list(folder.rglob("*.kernel"))) - 1
    robot.kernel("gravity_forces")
    size = sum(path.stat().st_size for path in folder.rglob("*.kernel"))
    facts = json_of([], capsys)
    assert (facts["entries"], facts["bytes"]) == (2 + shared, size)
    facts = json_of(["--clear"], capsys)
    assert (facts["removed"], facts["removed_bytes"]) == (2 + shared, size)
    assert (facts["entries"], facts["bytes"]) == (0, 0)
    assert list(folder.rglob("*.kernel")) == []
    assert px.load("two_link").kernel("mass_matrix").cached is False


def test_text_names_folder_number_and_size(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.write("ab" * 32, b"x" * 3000)
    assert main(["cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"folder    {folder}"
    assert lines[1] == "entries   1"
    assert lines[2] == "size      3.0 KiB of at most 512.0 MiB"
    assert main(["cache", "--clear"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["entries   0", "size      0 B of at most 512.0 MiB", "removed   1 (3.0 KiB)"]


def test_files_of_others_and_left_overs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.write("ab" * 32, b"code")
    (folder / "ab" / ".phalanx-left.tmp").write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    assert json_of(["--clear"], capsys)["removed"] == 1
    assert not (folder / "ab" / ".phalanx-left.tmp").exists()
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_bad_limit_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PHALANX_CACHE_BYTES", "1 GB")
    assert main(["cache"]) == 2
    line = "phalanx cache: PHALANX_CACHE_BYTES='1 GB', expected an integer of bytes.\n"
    assert capsys.readouterr().err == line


def test_a_robot_is_not_expected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["cache", "ur5"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
