# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Entries on disk are never trusted: whatever is wrong with one, the kernel is built again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phalanx.backends.native import cache
from reference.cached import KEY, fresh, only_entry
from reference.kernels import arguments, same_bits

pytestmark = pytest.mark.usefixtures("folder")  # no test sees what another has compiled


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


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no numbers of users")
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


@pytest.mark.skipif(sys.platform == "win32", reason="files have no holes there: it would fill the disk")
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
