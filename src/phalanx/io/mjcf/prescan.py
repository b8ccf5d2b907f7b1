# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A scan of MJCF before MuJoCo reads it: which files it names, and how much it would make of them.

MuJoCo forgives what other XML readers refuse (two hyphens in a comment), so the tags are found here
as it finds them. At a broken tag the scan ends: MuJoCo will say what is wrong there.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from phalanx.errors import PhalanxError

# MuJoCo compares copies with each other: 10,000 take seconds, 100,000 minutes.
MOST_COPIES = 10_000
# Attributes whose numbers multiply to the size of something, the largest size, and what it counts.
_BOUNDS = {
    "hfield": (("nrow", "ncol"), 25_000_000, "heights"),
    "texture": (("width", "height"), 100_000_000, "pixels"),
    "composite": (("count",), 4_000, "elements"),
    "flexcomp": (("count",), 4_000, "elements"),
    "mesh": (("params",), 100_000, "faces"),  # of a built-in one: the square of its resolution
}
# Ranges, and what switches them off; MuJoCo takes a reversed one for none at all.
_RANGES = {
    "range": "limited",
    "actuatorfrcrange": "actuatorfrclimited",
    "ctrlrange": "ctrllimited",
    "forcerange": "forcelimited",
    "actrange": "actlimited",
}
_INCLUDED = ("include", "model", "flexcomp")  # what MuJoCo reads at once; meshes and pictures come later
_OPEN = re.compile(r"""<\s*+([^\s<>/"'=]++)((?:[^<>"']|"[^"]*+"|'[^']*+')*+)>""")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_CLOSE = re.compile(r"<\s*+/[^<>]*+>")
_SKIPPED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))
# A name begins where none is going on: else a long one without "=" would be tried from each of its letters.
_ATTRIBUTE = re.compile(r"""(?<![^\s<>/"'=])([^\s<>/"'=]++)\s*+=\s*+("[^"]*+"|'[^']*+')""")


@dataclass
class _Element:
    """A tag with its attributes, and the number of elements inside after copies and includes."""

    tag: str
    attributes: dict[str, str]
    at: int
    inside: float = 0.0


@dataclass
class _Scan:
    """The state of a scan of a model and of the files it includes."""

    folder: str | None  # of the model; None for a text, which names no files
    copies: float = 0.0
    models: dict[str, float] = field(default_factory=dict)  # how many elements a model to attach has
    reading: list[str] = field(default_factory=list)  # files, each included by the one before


def check_text(text: str | bytes, source: str) -> None:
    """Raise for an MJCF text that includes files or would take too long to compile."""
    _size(_Scan(None), text, source)


def check_file(path: str, source: str) -> None:
    """Raise for an MJCF file that would take too long to compile, with all the files it includes."""
    _size_of_file(_Scan(os.path.dirname(path)), path, source)


def _size_of_file(scan: _Scan, path: str, source: str) -> float:
    """The number of elements of a file with its includes; 0 if MuJoCo refuses it or it includes itself."""
    if path in scan.reading:
        return 0.0
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return 0.0
    scan.reading.append(path)
    size = _size(scan, text, source)
    scan.reading.pop()
    return size


def _size(scan: _Scan, text: str | bytes, source: str) -> float:
    """The number of elements of MJCF after all copies and includes."""
    text = text if isinstance(text, str) else text.decode("utf-8", "replace")
    stack = [_Element("", {}, 0)]
    for element in _elements(text):
        if element is None:  # a closing tag
            if len(stack) == 1:
                break
            done = stack.pop()
            stack[-1].inside += 1.0 + done.inside
            if done.tag == "replicate":
                stack[-1].inside += _copied(scan, done, _line(source, text, done))
            continue
        stack.append(element)
        _check_bounds(element, source, text)
        _check_ends(element, source, text)
        _check_ranges(element, source, text)
        if element.tag in _INCLUDED and "file" in element.attributes:
            element.inside = _size_of_included(scan, element, _line(source, text, element))
        elif element.tag == "attach":
            element.inside = scan.models.get(element.attributes.get("model", ""), 0.0)
    return stack[0].inside


def _copied(scan: _Scan, replicate: _Element, where: str) -> float:
    """The number of elements of all copies; raises if there are too many."""
    size = _product(replicate.attributes.get("count", "1")) * max(replicate.inside, 1.0)
    scan.copies += size
    if scan.copies > MOST_COPIES:
        raise PhalanxError(
            f"{where}: <replicate> makes {_many(scan.copies)} elements; at most {MOST_COPIES:,} are read, "
            "for MuJoCo takes minutes for more. Lower its count."
        )
    return size


def _size_of_included(scan: _Scan, element: _Element, where: str) -> float:
    """How many elements replace one that names a file."""
    name = element.attributes["file"]
    if scan.folder is None:
        raise PhalanxError(
            f'{where}: <{element.tag}> names the file "{name}"; a text or file object reads no other '
            "files. Load the path of the model instead."
        )
    size = 0.0
    # As a file beside the model or beside the file that names it: MuJoCo tries the one, then the other.
    folders = (scan.folder, os.path.dirname(scan.reading[-1]))
    for path in dict.fromkeys(os.path.normpath(os.path.join(folder, name)) for folder in folders):
        if "\0" not in path and os.path.exists(path):
            if not os.path.isfile(path):
                raise PhalanxError(f'{where}: <{element.tag}> names "{name}", which is not a regular file.')
            size = max(size, _size_of_file(scan, path, path) if element.tag != "flexcomp" else 0.0)
    if element.tag == "model":
        scan.models[element.attributes.get("name", "")] = size
        return 0.0
    return size


def _check_bounds(element: _Element, source: str, text: str) -> None:
    """Raise for attributes for which MuJoCo would work longer than some seconds."""
    keys, most, what = _BOUNDS.get(element.tag, ((), math.inf, ""))
    given = {key: element.attributes[key] for key in keys if key in element.attributes}
    size = math.prod(_product(text) for text in given.values())
    if element.tag == "mesh" and "builtin" in element.attributes:
        size = max(_numbers(given.get("params", "")), default=1.0) ** 2
    if size > most:
        attributes = ", ".join(f'{key}="{value:.40}"' for key, value in given.items())
        raise PhalanxError(
            f"{_line(source, text, element)}: <{element.tag}> makes {_many(size)} {what} "
            f"({attributes}); "
            f"at most {most:,} are read. Make it smaller, or remove it if it does not matter."
        )


def _check_ends(element: _Element, source: str, text: str) -> None:
    """Raise for a loop without bodies or sites: after one, MuJoCo 4.0 hangs on all later models."""
    # A null character, which ends a text in MuJoCo, is read as the replacement character.
    values = {key: value.partition("\ufffd")[0] for key, value in element.attributes.items()}
    empty = [key for key, given in values.items() if not given.strip()]
    if element.tag in ("connect", "weld") and empty:
        raise PhalanxError(
            f"{_line(source, text, element)}: <{element.tag}> has the empty attribute {empty[0]}; expected a "
            "value. Remove the attribute."
        )


def _check_ranges(element: _Element, source: str, text: str) -> None:
    """Raise for a range whose lower end is above its upper one, unless it is switched off."""
    for key, switch in _RANGES.items():
        ends = [float(x) for x in element.attributes.get(key, "").split() if _NUMBER.fullmatch(x)]
        if len(ends) == 2 and ends[0] > ends[1] and element.attributes.get(switch) != "false":
            name = element.attributes.get("name", "")
            which = f'{element.tag} "{name}"' if name else f"<{element.tag}>"
            raise PhalanxError(
                f'{_line(source, text, element)}: {which} has {key}="{element.attributes[key]:.40}"; '
                f"expected lower <= upper. Swap them, or correct the one with the wrong sign."
            )


def _elements(text: str) -> Iterator[_Element | None]:
    """Each opening tag as an element, and None for each closing one, up to the first broken tag."""
    at = text.find("<")
    while at >= 0:
        for start, end in _SKIPPED:
            if text.startswith(start, at):
                stop = text.find(end, at + len(start))
                if stop < 0:
                    return
                stop += len(end)
                break
        else:
            if match := _CLOSE.match(text, at):
                yield None
            elif match := _OPEN.match(text, at):
                pairs = _ATTRIBUTE.findall(match[2])
                attributes = {key: html.unescape(value[1:-1]) for key, value in pairs}
                yield _Element(match[1], attributes, at)
                if match[2].endswith("/"):
                    yield None
            else:
                return
            stop = match.end()
        at = text.find("<", stop)


def _line(source: str, text: str, element: _Element) -> str:
    return f"{source}:{text.count(chr(10), 0, element.at) + 1}"


def _numbers(text: str) -> list[float]:
    found = []
    for word in text.split():
        try:
            found.append(abs(float(word)))
        except ValueError:  # MuJoCo says so
            return []
    return [x for x in found if math.isfinite(x)]


def _product(text: str) -> float:
    return math.prod(max(x, 1.0) for x in _numbers(text))


def _many(count: float) -> str:
    return f"{count:,.0f}" if count < 1e15 else f"{count:.3g}"
