# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Object code on disk: found again, never trusted, never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import cache, compile, source
from reference.kernels import arguments, in_fresh_interpreter, same_bits

SOURCE = """
import phalanx as px
k = px.load("two_link").kernel("inverse_dynamics")
print(k.cached, k([0.1, 0.2], [0.3, 0.4], [0.5, 0.6]).tolist())
"""
KEY = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    place = tmp_path / "kernels"
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(place))
    return place


def fresh(function: str = "inverse_dynamics", **more: Any) -> Any:
    """A kernel of a robot that remembers nothing."""
    return px.load("two_link").kernel(function, **more)


def only_entry(folder: Path) -> Path:
    """The entry of the only kernel; that of the runtime, which all share, stands beside it."""
    (path,) = (p for p in folder.rglob("*.kernel") if b"serve" not in p.read_bytes())
    return path


def test_a_fresh_robot_finds_the_code_and_computes_the_same_bits(folder: Path) -> None:
    first = fresh()
    second = fresh()
    assert (first.cached, second.cached) == (False, True)
    state = arguments(first.robot, "inverse_dynamics", 9)
    same_bits(second(*state), first(*state))
    assert second.compile_seconds < first.compile_seconds


def test_another_process_finds_the_code() -> None:
    first, second = in_fresh_interpreter(SOURCE), in_fresh_interpreter(SOURCE)
    assert first.startswith("False ")
    assert second == first.replace("False", "True")


def test_the_cached_way_neither_traces_nor_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh()

    def never(*_: Any) -> Any:
        raise AssertionError("this should have come from the cache")

    monkeypatch.setattr(source, "module", never)
    monkeypatch.setattr(compile, "object_code", never)
    assert fresh().cached


COMPILER = (
    "phalanx.program.trace",
    "phalanx.program.scalar",
    "phalanx.program.rewrite",
    "phalanx.program.rolled",
)
EMITTERS = ("phalanx.backends.native.source", "phalanx.backends.native.loop", "phalanx.backends.native.emit")
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


def flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda d: b"",
    "cut in the head": lambda d: d[:50],
    "head without code": lambda d: d[: 17 + 64 + 32],
    "cut in the code": lambda d: d[:-1],
    "half": lambda d: d[: len(d) // 2],
    "longer": lambda d: d + b"\0",
    "wrong magic": lambda d: flip(d, 3),
    "other version": lambda d: d.replace(b"kernel 1", b"kernel 2", 1),
    "foreign key": lambda d: flip(d, 17 + 5),
    "wrong digest": lambda d: flip(d, 17 + 64 + 5),
    "flipped bit in the code": lambda d: flip(d, len(d) - 100),
    "zeros": lambda d: bytes(len(d)),
    "text": lambda d: b"not a kernel\n" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_rebuilt_and_replaced(folder: Path, damage: str) -> None:
    first = fresh()
    path = only_entry(folder)
    good = path.read_bytes()
    path.write_bytes(DAMAGE[damage](good))
    again = fresh()
    assert again.cached is False
    state = arguments(again.robot, "inverse_dynamics", 3)
    same_bits(again(*state), first(*state))
    assert path.read_bytes() == good
    assert fresh().cached


def test_an_entry_under_the_name_of_another_is_rebuilt(folder: Path) -> None:
    fresh("mass_matrix")
    other = only_entry(folder).read_bytes()
    cache.clear()
    fresh("inverse_dynamics")
    only_entry(folder).write_bytes(other)
    assert fresh("inverse_dynamics").cached is False


def test_an_entry_of_another_user_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write(KEY, b"code")
    assert cache.read(KEY) == b"code"
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert cache.read(KEY) is None


@pytest.fixture
def alarm() -> Iterator[None]:
    """End a test that waits for ever."""

    def over(*_: Any) -> None:
        raise TimeoutError("waited for an entry that never ends")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def replaced_by(path: Path, kind: str) -> None:
    """Put something else in place of an entry."""
    good = path.read_bytes()
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    elif kind == "link to a good entry":
        path.with_name("elsewhere").write_bytes(good)
        path.symlink_to(path.with_name("elsewhere"))
    else:
        path.write_bytes(good)
        path.chmod(0o620 if kind == "writable by the group" else 0o602)


@pytest.mark.skipif(os.name != "posix", reason="pipes, links and modes are those of POSIX")
@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize(
    "kind",
    ["pipe", "link to a device", "link to a good entry", "writable by the group", "writable by others"],
)
def test_what_is_no_private_regular_file_is_rebuilt(folder: Path, kind: str) -> None:
    first = fresh()
    path = only_entry(folder)
    replaced_by(path, kind)
    assert fresh().cached is False
    assert path.is_file()
    assert not path.is_symlink()
    assert fresh().cached
    assert np.array_equal(first.ufunc(*np.ones((3, 2))), fresh().ufunc(*np.ones((3, 2))))


def test_a_file_that_is_huge_is_not_read(folder: Path) -> None:
    fresh()
    with only_entry(folder).open("r+b") as file:
        file.truncate(2**40)  # holes take no room
    assert fresh().cached is False


@pytest.mark.parametrize("garbage", [b"garbage" * 1000, b"x", b"\x7fELF" + bytes(60)])
def test_garbage_with_a_right_digest_is_rebuilt(folder: Path, garbage: bytes) -> None:
    first = fresh()
    path = only_entry(folder)
    key = path.stem
    cache.write(key, garbage)
    assert cache.read(key) == garbage
    again = fresh()
    assert again.cached is False
    state = arguments(again.robot, "inverse_dynamics", 3)
    same_bits(again(*state), first(*state))
    assert fresh().cached


def test_a_folder_in_place_of_an_entry_is_no_error(folder: Path) -> None:
    fresh()
    path = only_entry(folder)
    path.unlink()
    path.mkdir()
    assert fresh().cached is False


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
    now = time.time()
    for k, key in enumerate(keys(3)):
        cache.write(key, bytes(1000))
        os.utime(cache._path(key), (now - 100 + k, now - 100 + k))
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
    with pytest.raises(px.PhalanxError, match=r"PHALANX_CACHE_BYTES='.*', expected a whole number of bytes"):
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


# ---------------------------------------------------------------------------------- keys


@pytest.fixture
def key_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The key under which a kernel is looked up."""
    asked: list[str] = []
    read = cache.read
    monkeypatch.setattr(cache, "read", lambda key: (asked.append(key), read(key))[1])

    def key(robot: px.Robot, function: str = "inverse_dynamics", **more: Any) -> str:
        robot.kernel(function, **more)
        return asked[-1]

    return key


def two_link(**change: Any) -> px.Robot:
    """The planar arm with a frame at its end and perhaps another number somewhere."""
    numbers = {"mass": 1.0, "com": 0.5, "length": 1.0, "inertia": 0.1, "end": 1.0, **change}
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for k in (1, 2):
        com, inertia = (numbers["com"], 0.0, 0.0), np.eye(3) * numbers["inertia"]
        builder.add_link(f"link{k}", mass=numbers["mass"], com=com, inertia=inertia)
    builder.add_link("end")
    axis = (0.0, 1.0, 0.0)
    builder.add_joint("one", "revolute", "base", "link1", axis=axis)
    builder.add_joint("two", "revolute", "link1", "link2", axis=axis, origin=(numbers["length"], 0.0, 0.0))
    builder.add_joint("weld", "fixed", "link2", "end", origin=(numbers["end"], 0.0, 0.0))
    return builder.build()


@pytest.mark.parametrize("number", ["mass", "com", "length", "inertia"])
def test_the_last_digit_of_every_parameter_makes_another_key(key_of: Any, number: str) -> None:
    value = {"mass": 1.0, "com": 0.5, "length": 1.0, "inertia": 0.1}[number]
    assert key_of(two_link(**{number: np.nextafter(value, 2.0)})) != key_of(two_link())


def test_all_frames_share_a_key(key_of: Any) -> None:
    keys = {key_of(two_link(), "jacobian", frame=name) for name in two_link().frame_names}
    assert keys == {key_of(two_link(end=2.0), "jacobian", frame="end")}


def test_two_frames_that_look_alike_in_print_are_told_apart() -> None:
    near, far = two_link(end=1.0), two_link(end=1.0 + 1e-10)
    q = np.zeros(2)
    poses = [r.kernel("frame_pose", frame="end")(q)[0, 3] for r in (near, far)]
    assert poses[1] - poses[0] == pytest.approx(1e-10, rel=1e-4)


def test_everything_that_is_asked_for_makes_another_key(key_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = two_link()
    found = [
        key_of(robot),
        key_of(robot, dtype="float32"),
        key_of(robot, algorithm="newton_euler"),
        key_of(robot, "mass_matrix"),
        key_of(robot, "jacobian", frame="end"),
        key_of(robot, "frame_pose", frame="end"),
        key_of(robot.replace(gravity=(0.0, 0.0, -9.8))),
        key_of(robot.replace(armature=0.1)),
        key_of(robot.with_floating_base()),
    ]
    robot.kernel("inverse_dynamics")(np.zeros(2), np.zeros(2), np.zeros(2), external=np.zeros((2, 6)))
    assert len(set(found)) == len(found)
    assert len(list(cache.entries())) == len(found) + 1  # and one with wrenches


def test_names_make_no_difference(key_of: Any) -> None:
    assert key_of(two_link()) == key_of(two_link().replace(name="another"))


def test_keys_depend_on_options_target_and_sources() -> None:
    parts = ["digest", "f", "a", (("solver", "serial"),), None, (), "<f8"]
    keys = {cache.key_of(*parts), cache.key_of(*parts[:3], (("solver", "odd_even"),), *parts[4:])}
    keys |= {cache.key_of(*parts, "avx2"), cache.key_of("digestf", "", *parts[2:])}
    assert len(keys) == 4
    before = cache.key_of("x")
    sources = cache._sources
    try:
        cache._sources = lambda: "other equations"  # type: ignore[assignment]
        assert cache.key_of("x") != before
    finally:
        cache._sources = sources
    assert cache.key_of("x") == before


def test_keys_are_the_same_in_another_process() -> None:
    source = "from phalanx.backends.native.cache import key_of; print(key_of('x', 1.5, ('a', None)))"
    assert in_fresh_interpreter(source, PYTHONHASHSEED="3") == cache.key_of("x", 1.5, ("a", None))


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
