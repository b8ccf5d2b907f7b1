# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""xacro: macros expanded by the `xacro` package, with packages found here instead of by ROS.

Expanding may read every file that the user may read and every environment variable, and evaluates
expressions of the file in Python. So nothing is expanded unless the file is called .xacro or the
caller passes xacro_args.
"""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import PhalanxError, installing, listing, nearest, shown
from .xml import parse

ENVIRONMENT = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
_DEPTH = 4  # folders below a package path in which a package.xml is looked for
_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_LOCK = threading.Lock()  # xacro keeps its state in module variables


class Macros:
    """How macros are expanded: the arguments of the file, and where packages are."""

    def __init__(self, arguments: Any = None, packages: Any = None) -> None:
        self.arguments = _strings(arguments)
        self.packages = package_paths(packages)

    def expand(self, content: str | bytes, source: str, path: Path | None) -> str:
        """The XML text that a xacro file or text expands to."""
        arguments = _Arguments(self.arguments)
        text = _expanded(content, source, path, arguments, Finder(source, path, self.packages))
        if unused := [name for name in self.arguments if name not in arguments.asked]:
            raise PhalanxError(
                f"{source}: xacro_args has {listing(unused)}, which the file does not use;"
                f"{nearest(unused[0], sorted(arguments.asked), what='its arguments')}"
            )
        return text


def _expanded(
    content: str | bytes, source: str, path: Path | None, arguments: _Arguments, finder: Finder
) -> str:
    try:
        import xacro
    except ImportError:
        raise PhalanxError(
            f"{source}: expanding xacro needs the package xacro, which is not installed; "
            f"{installing('xacro')}, or run `xacro robot.xacro > robot.urdf` elsewhere."
        ) from None
    root = parse(
        content, source=source
    )  # refuses what is not well-formed or has a document type, with the line
    data = content.encode() if isinstance(content, str) else content
    with _LOCK, _finding(xacro, finder):
        try:
            xacro.init_stacks(str(path.absolute()) if path else None)
            document = xacro.parse(io.BytesIO(data.lstrip(b" \t\r\n")))
            xacro.process_doc(document, mappings=arguments, verbosity=0)
            text: str = document.toxml()
            empty = not any(
                node.nodeType == node.ELEMENT_NODE for node in document.documentElement.childNodes
            )
        except Exception as error:
            if finder.missing:
                raise finder.missing from None
            raise PhalanxError(_explained(xacro, error, source)) from None
    if empty and (macros := [e.attrib.get("name", "") for e in root.findall("xacro:macro")]):
        raise PhalanxError(only_macros(f"{source}:{root.line}", macros))
    return text


def only_macros(where: str, macros: list[str]) -> str:
    """The message about a file that defines macros and calls none."""
    return (
        f"{where}: the file only defines xacro macros ({listing(macros)}) and calls none of them, so it "
        "has no links. Load the file that includes it and calls them."
    )


class _Arguments(dict[str, str]):
    """The arguments for xacro, which notes those that the file asks for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def _strings(arguments: Any) -> dict[str, str]:
    """Arguments as strings, as on a command line."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise PhalanxError(
            f'load: xacro_args is {shown(arguments)}; expected a mapping such as {{"prefix": "left_"}}.'
        )
    strings = {}
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float | os.PathLike):
            raise PhalanxError(
                f"load: xacro_args has {shown(name)}: {shown(value)}; expected a name and a text, number or "
                "truth value."
            )
        try:
            strings[name] = str(value).lower() if isinstance(value, bool) else str(value)
        except ValueError:  # an integer of thousands of digits
            raise PhalanxError(f'load: xacro_args: "{name}" is {shown(value)}, too long to write.') from None
    return strings


def _explained(xacro: Any, error: Exception, source: str) -> str:
    """An error of xacro in one line, with a remedy if one is known."""
    stack = [name for name in xacro.filestack or [] if name]
    inside = f" (in {stack[-1]})" if len(stack) > 1 else ""
    cause = getattr(error, "exc", None)
    if type(cause).__name__ == "ArgException":
        return (
            f'{source}{inside}: the xacro argument "{cause}" has no value; '
            f'pass xacro_args={{"{cause}": …}}, or give its <xacro:arg> a default.'
        )
    what = " ".join(str(error).split()) or type(error).__name__
    return f"{source}{inside}: xacro cannot expand the file: {what.rstrip('.'):.300}."


# ------------------------------------------------------------------- packages


class _finding:  # noqa: N801 -- used as a statement
    """While it lasts, xacro finds packages by the given function instead of asking ROS."""

    def __init__(self, xacro: Any, find: Callable[[str], str]) -> None:
        from xacro import substitution_args

        self.module, self.find = substitution_args, find

    def __enter__(self) -> None:
        self.before = self.module._eval_find, self.module._eval_dict["find"]
        self.module._eval_find = self.module._eval_dict["find"] = self.find

    def __exit__(self, *_: object) -> None:
        self.module._eval_find, self.module._eval_dict["find"] = self.before


class Finder:
    """Folders of packages: as given, beside the file, or where the environment says."""

    def __init__(self, source: str, path: Path | None, packages: Mapping[str, Path] | list[Path]) -> None:
        self.source = source
        self.named = packages if isinstance(packages, Mapping) else {}
        self.paths = [] if isinstance(packages, Mapping) else packages
        self.above = list(path.absolute().parents) if path else []
        self.missing: PhalanxError | None = None

    def __call__(self, package: str) -> str:
        for folder in self.candidates(package):
            if folder.is_dir():
                return str(folder)
        self.missing = PhalanxError(
            f'{self.source}: $(find {package}): no folder of the package "{package}" is known; pass '
            f'packages={{"{package}": "folder"}} or folders to look in, or set {" or ".join(ENVIRONMENT)}.'
        )
        raise self.missing

    def candidates(self, package: str) -> Iterator[Path]:
        """Where the package may be, the likeliest first."""
        if package in self.named:
            yield self.named[package]
        for folder in self.above:  # a file inside its own package, or beside others
            if folder.name == package or _is_package(folder, package):
                yield folder
            if _is_package(folder / package, package):
                yield folder / package
        known = (os.environ.get(name, "").split(os.pathsep) for name in ENVIRONMENT)
        for folder in (*self.paths, *(Path(entry) for entries in known for entry in entries if entry)):
            if folder.name == package:
                yield folder
            yield folder / package
            yield folder / "share" / package
            yield from _below(folder, package, _DEPTH)


def package_paths(packages: Any) -> dict[str, Path] | list[Path]:
    """Folders by package, or folders to look in."""
    if packages is None:
        return []
    if isinstance(packages, str | os.PathLike):
        packages = [packages]
    several = packages.values() if isinstance(packages, Mapping) else packages
    if not isinstance(several, Iterable) or not all(isinstance(x, str | os.PathLike) for x in several):
        raise PhalanxError(
            f"load: packages is {shown(packages)}; expected folders to look in, or a mapping from packages "
            "to folders."
        )
    if isinstance(packages, Mapping):
        return {str(name): Path(folder).expanduser() for name, folder in packages.items()}
    return [Path(folder).expanduser() for folder in packages]


def _is_package(folder: Path, package: str) -> bool:
    try:
        found = _NAME.search((folder / "package.xml").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False
    return found is not None and found.group(1) == package


def _below(folder: Path, package: str, depth: int) -> Iterator[Path]:
    """Folders at most `depth` levels below whose package.xml has the name."""
    try:
        inside = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return
    for path in map(Path, inside):
        if _is_package(path, package):
            yield path
        elif depth > 1:
            yield from _below(path, package, depth - 1)
