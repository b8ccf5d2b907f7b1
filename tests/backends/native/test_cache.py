# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Object code on disk: found again, within a size, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import cache, compile, loop
from reference.cached import KEY, fresh, only_entry
from reference.kernels import arguments, in_fresh_interpreter, same_bits

SOURCE = """
import phalanx as px
k = px.load("two_link").kernel("inverse_dynamics")
print(k.cached, k([0.1, 0.2], [0.3, 0.4], [0.5, 0.6]).tolist())
"""

pytestmark = pytest.mark.usefixtures("folder")  # no test sees what another has compiled


def test_a_fresh_robot_finds_the_code_and_computes_the_same_bits(folder: Path) -> None:
    first = fresh()
    second = fresh()
    assert (first.cached, second.cached) == (False, True)
    state = arguments(first.robot, "inverse_dynamics", 9)
    same_bits(second(*state), first(*state))


def test_another_process_finds_the_code() -> None:
    first, second = in_fresh_interpreter(SOURCE), in_fresh_interpreter(SOURCE)
    assert first.startswith("False ")
    assert second == first.replace("False", "True")


def test_the_cached_way_neither_traces_nor_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh()

    def never(*_: Any) -> Any:
        raise AssertionError("this should have come from the cache")

    monkeypatch.setattr(loop, "module", never)
    monkeypatch.setattr(compile, "object_code", never)
    assert fresh().cached


COMPILER = (
    "phalanx.program.trace",
    "phalanx.program.graph",
    "phalanx.program.passes.fuse",
    "phalanx.program.rolled",
)
EMITTERS = (
    "phalanx.program.lowering",
    "phalanx.backends.native.loop",
    "phalanx.backends.native.emit",
)
FIRST = """
import sys
import phalanx as px
robot = px.load("two_link")
robot.inverse_dynamics(*robot.random_state(rng=0))
robot.forward_dynamics(*robot.random_state(3, rng=0))
robot.frame_pose(robot.neutral(), "link2")
robot.kernel("mass_matrix")(robot.neutral())
names = {names}
print(*sorted(m for m in sys.modules if any(m == n or m.startswith(n + ".") for n in names)))
"""


def test_a_cached_kernel_does_without_the_compiler_half() -> None:
    code = FIRST.format(names=(*COMPILER, *EMITTERS, "phalanx.study"))
    assert "phalanx.program.trace" in in_fresh_interpreter(code)
    assert in_fresh_interpreter(code) == ""


def test_what_is_written_is_read() -> None:
    code = np.random.default_rng(0).bytes(5000)
    assert cache.read(KEY) is None
    cache.write(KEY, code)
    assert cache.read(KEY) == code
    assert cache.read("f" * 64) is None


@pytest.mark.skipif(os.name != "posix", reason="folders are made read-only by their mode")
def test_a_folder_that_cannot_be_written_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o500)
    if os.getuid() == 0:  # whom modes do not bind

        def forbidden(*_: Any, **__: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "mkdir", forbidden)
    kernel = fresh()
    assert kernel.cached is False
    assert np.isfinite(kernel(*arguments(kernel.robot, "inverse_dynamics"))).all()
    assert list(cache.entries()) == []
    assert cache.clear() == (0, 0)


def test_a_folder_that_vanishes_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_CACHE_DIR", "/proc/none/such")
    assert fresh().cached is False
    assert list(cache.entries()) == []


def test_a_disk_that_fills_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert fresh().cached is False
    assert [p for p in folder.rglob("*") if p.is_file()] == []


def test_without_a_home_the_temporary_folder_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PHALANX_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert cache.folder() == tmp_path / "phalanx"


@pytest.mark.skipif(sys.platform != "linux", reason="the user's cache folder depends on the system")
def test_the_folder_is_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PHALANX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.folder() == Path("/somewhere/phalanx")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.folder() == Path("/home/me/.cache/phalanx")


# --------------------------------------------------------------------------- size limit


def keys(count: int) -> list[str]:
    return [f"{k:02x}" * 32 for k in range(count)]


def test_the_least_recently_used_entries_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 1000 + 17 + 64 + 32
    monkeypatch.setenv("PHALANX_CACHE_BYTES", str(3 * size))
    for k, key in enumerate(keys(3)):
        cache.write(key, bytes(1000))
        os.utime(cache._path(key), (1000 + k, 1000 + k))
    assert cache.read(keys(1)[0]) is not None  # used: now the youngest
    cache.write(keys(4)[3], bytes(1000))
    assert [cache.read(key) is not None for key in keys(4)] == [True, False, True, True]


def test_an_entry_above_the_limit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_CACHE_BYTES", "100")
    cache.write(KEY, bytes(1000))
    assert cache.read(KEY) is None
    monkeypatch.setenv("PHALANX_CACHE_BYTES", "0")
    assert fresh().cached is False
    assert list(cache.entries()) == []


def compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("the variable should have been noticed before")

    monkeypatch.setattr(compile, "object_code", never)


@pytest.mark.parametrize("value", ["many", "-1", "1e9", "1.5", "9" * 5000])
def test_a_limit_that_is_no_number_is_refused_before_compiling(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("PHALANX_CACHE_BYTES", value)
    compiles_nothing(monkeypatch)
    with pytest.raises(px.PhalanxError, match=r"PHALANX_CACHE_BYTES='.*', expected an integer of bytes"):
        fresh()


@pytest.mark.parametrize("below", ["", "/kernels"])
def test_a_file_in_place_of_the_folder_is_refused_before_compiling(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, below: str
) -> None:
    place = tmp_path / "file"
    place.write_text("in the way")
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(place) + below)
    compiles_nothing(monkeypatch)
    with pytest.raises(
        px.PhalanxError, match=r"PHALANX_CACHE_DIR='.*', expected a folder; .*file\" is there"
    ):
        fresh()


# ------------------------------------------------------------------------- many processes


def test_processes_may_build_the_same_kernel_at_once(folder: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SOURCE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    answers = [p.communicate(timeout=120) for p in running]
    assert [p.returncode for p in running] == [0, 0, 0], answers
    assert len({out.split(maxsplit=1)[1] for out, _ in answers}) == 1
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert only_entry(folder) in files
    assert [p.suffix for p in files] == [".kernel"] * 2  # the kernel and the runtime, nothing half written
    assert fresh().cached


def test_clearing_while_others_write_is_no_error(folder: Path) -> None:
    source = """
from phalanx.backends.native import cache
for k in range(300):
    cache.write(f"{k % 16:02x}" * 32, bytes(2000))
    found = cache.read(f"{k % 7:02x}" * 32)
    assert found in (None, bytes(2000))
"""
    running = [subprocess.Popen([sys.executable, "-c", source]) for _ in range(2)]
    while any(p.poll() is None for p in running):
        cache.clear()
        for path, _ in cache.entries():
            assert path.suffix == ".kernel"
    assert [p.returncode for p in running] == [0, 0]
    cache.clear()
    assert [p for p in folder.rglob("*") if p.is_file()] == []
