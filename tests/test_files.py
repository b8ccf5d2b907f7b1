# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Files hold their old content or the new one, whatever happens on the way."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.files import Replacement, write_chunks, write_files, writing

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and limits of POSIX")
ROBOT = px.load("panda")


@pytest.mark.parametrize("name", ["arm.json", "arm", "ARM.JSON", "arm.urdf", "ARM.URDF"])
def test_the_suffix_chooses_a_format_that_load_reads(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    ROBOT.save(path)
    back = px.load(path)
    assert back.joint_names == ROBOT.joint_names
    assert path.read_text().startswith("<?xml" if name.lower().endswith("urdf") else '{\n  "format"')
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["arm.xml", "arm.toml", "arm.urdf.xacro", "arm.json.gz"])
def test_another_suffix_is_refused_with_those_that_are_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match=r'save: no format for the suffix .* expected "\.json" or none'):
        ROBOT.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


FULL_DISK = """
import resource, sys
import phalanx as px
robot = px.load("panda")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # as on a full disk: writing ends in the middle
try:
    robot.save(sys.argv[1])
except px.PhalanxError as error:
    print(error)
"""


@posix
@pytest.mark.parametrize("name", ["arm.json", "arm.urdf"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("the robot of yesterday")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert f'cannot write "{path}": File too large.' in done.stdout
    assert path.read_text() == "the robot of yesterday"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(
    step: str, failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arm.json"
    path.write_text("the robot of yesterday")

    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(os, step, fail)
    with pytest.raises((px.PhalanxError, KeyboardInterrupt)) as caught:
        ROBOT.save(path)
    assert str(failure.strerror if isinstance(failure, OSError) else failure) in str(caught.value)
    assert path.read_text() == "the robot of yesterday"
    assert os.listdir(tmp_path) == ["arm.json"]


@posix
def test_permissions_and_links_stay_and_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    path, link = tmp_path / "arm.json", tmp_path / "link.json"
    before = os.umask(0o027)
    try:
        ROBOT.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link.symlink_to(path)
    ROBOT.replace(name="second").save(link)
    assert link.is_symlink()
    assert px.load(path).name == "second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@posix
def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.json"
    ROBOT.save(path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(px.PhalanxError, match="the file is read-only"):
        ROBOT.replace(name="second").save(path)
    assert px.load(path).name == "panda"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_device_is_written_to_directly() -> None:
    with pytest.raises(px.PhalanxError, match='cannot write "/dev/full": No space left on device'):
        ROBOT.save("/dev/full")
    ROBOT.save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no/such/folder/arm.json", 'cannot write "no/such/folder/arm.json": No such file or directory'),
        ("a\0b.json", "holds a null character"),
        ("a\ud800.json", "holds a lone surrogate"),
        (3, "got int, expected a path"),
        (None, "got NoneType, expected a path"),
    ],
)
def test_paths_that_cannot_be_are_refused(path: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        ROBOT.save(path)


def test_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    ROBOT.save("~/arm.json")
    assert os.listdir(tmp_path) == ["arm.json"]


def test_an_exception_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(b"old")

    def fail() -> None:
        with writing(path, where="save") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["run.npz"])
    with writing(path, where="save") as file:
        file.write(b"all")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"all", ["run.npz"])


def test_of_several_files_none_changes_before_all_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    seen = []
    finish = Replacement.finish
    monkeypatch.setattr(
        Replacement,
        "finish",
        lambda self: (seen.append((tmp_path / "a").read_text()), finish(self)),
    )
    assert write_files(tmp_path, {"a": "new", "b": b"more"}, where="export") == [
        tmp_path / "a",
        tmp_path / "b",
    ]
    assert seen[:2] == ["old", "old"]
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_bytes()) == ("new", b"more")
    (tmp_path / "c").mkdir()
    with pytest.raises(px.PhalanxError, match=r'export: cannot write ".*a", ".*c": .*; nothing was changed'):
        write_files(tmp_path, {"a": "newer", "c": "no file"}, where="export")
    assert ((tmp_path / "a").read_text(), sorted(os.listdir(tmp_path))) == ("new", ["a", "b", "c"])


@posix
def test_private_files_are_for_this_user_whatever_the_umask(tmp_path: Path) -> None:
    write_chunks(tmp_path / "a", b"x", b"y", private=True)
    assert (tmp_path / "a").read_bytes() == b"xy"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
