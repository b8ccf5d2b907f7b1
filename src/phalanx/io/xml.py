# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Untrusted XML: elements with their line numbers, and no document types or entities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat

from phalanx.errors import PhalanxError

_LONGEST = 10_000  # characters of text in an element, from where on pieces are dropped: numbers are shorter

_PIECE = 2**16  # bytes


class Element:
    """A tag with its attributes, children and line; and its text, where that is asked for.

    Names are those of the standard library's elements, so that the same code reads both.
    """

    __slots__ = ("attrib", "children", "line", "tag", "text")

    def __init__(self, tag: str, attrib: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attrib = attrib
        self.children: list[Element] = []
        self.line = line
        self.text = ""

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    def find(self, tag: str) -> Element | None:
        """The first child of that tag, or None."""
        for child in self.children:
            if child.tag == tag:
                return child
        return None

    def findall(self, tag: str) -> list[Element]:
        """The children of that tag, in file order."""
        return [child for child in self.children if child.tag == tag]


class _FoundError(Exception):
    """Ends the parsing at the first tag; expat has no other way to stop."""


def parse(text: str | bytes, *, source: str, keep_text: bool = False) -> Element:
    """The root element of an XML text; `source` names it in messages."""
    root: list[Element] = []
    open_elements: list[Element] = []

    def start(element: Element) -> None:
        (open_elements[-1].children if open_elements else root).append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def data(text: str) -> None:
        if len(open_elements[-1].text) < _LONGEST:
            open_elements[-1].text += text

    _run(text, source, start, end, data if keep_text else None)
    return root[0]


class UnfitError(Exception):
    """A text that `children_quickly` leaves to `parse`."""


def children_quickly(text: str | bytes) -> Iterator[Element]:
    """The root element and then its children, one after another: three times as fast, but without lines.

    The standard library's parser has no say about document types and expands the prefixes of names, so it
    is left to plain files. Children are dropped once they have been used: a large file takes little memory.
    """
    from xml.etree import ElementTree

    builder = ElementTree.TreeBuilder()
    above: Any = builder.start("", {})  # where the root appears as soon as it begins
    try:
        data, encoding, _ = _encoded(text, "")
        if b"\0" in data or b"<!DOCTYPE" in data or b"xmlns" in data:
            raise UnfitError
        parser = ElementTree.XMLParser(target=builder, encoding=encoding)
        begun = False
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
            if len(above) and not begun:
                yield above[0]
                begun = True
            if begun:
                yield from above[0][:-1]  # the last one may not be complete
                del above[0][:-1]
        parser.close()
    except (ElementTree.ParseError, LookupError, ValueError, TypeError):
        raise UnfitError from None
    if begun:
        yield from above[0]


def root_tag(text: str | bytes, *, source: str) -> str:
    """The tag of the root element, without reading further than that."""
    tags: list[str] = []

    def start(element: Element) -> None:
        tags.append(element.tag)
        raise _FoundError

    with contextlib.suppress(_FoundError):
        _run(text, source, start)
    return tags[0]


def _run(
    text: str | bytes,
    source: str,
    start: Callable[[Element], None],
    end: Callable[[str], None] | None = None,
    character_data: Callable[[str], None] | None = None,
) -> None:
    data, encoding, skipped = _encoded(text, source)
    parser = expat.ParserCreate(encoding)

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        start(Element(tag, attributes, parser.CurrentLineNumber + skipped))

    def refuse(*_: object) -> None:
        raise PhalanxError(
            f"{source}:{parser.CurrentLineNumber + skipped}: the file declares a document type or an entity, "
            "which can expand without bound or read other files; expected plain XML. "
            "Remove the <!DOCTYPE …> declaration."
        )

    parser.StartElementHandler = start_element
    parser.EndElementHandler = end
    parser.CharacterDataHandler = character_data
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse  # entities can be declared nowhere else
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        line, what = error.lineno + skipped, expat.ErrorString(error.code)
        rest = data[parser.ErrorByteIndex :]
        if b"\0" in rest and not rest.strip(b"\0 \t\r\n"):
            raise PhalanxError(
                f"{source}:{line}: null bytes stand after the end of the document; expected text only. "
                "Remove them; a program may have padded the file or written the end of a C string."
            ) from None
        raise PhalanxError(f"{source}:{line}: not well-formed XML ({what}); expected URDF or MJCF.") from None
    except PhalanxError:
        raise
    except (LookupError, ValueError, TypeError) as error:  # an encoding that Python or expat does not know
        raise PhalanxError(
            f"{source}: the file declares an encoding that cannot be read ({error}); expected UTF-8. "
            "Save the file as UTF-8."
        ) from None


def _encoded(text: str | bytes, source: str) -> tuple[bytes, str | None, int]:
    """Bytes for expat, their encoding (None = as declared), and the lines skipped before them.

    Text written between triple quotes begins with a newline, which XML forbids before its
    declaration.
    """
    if isinstance(text, bytes):
        stripped = text.lstrip(b" \t\r\n")
        return stripped, None, text[: len(text) - len(stripped)].count(b"\n")
    plain = text.lstrip("\ufeff \t\r\n")
    try:
        data = plain.encode()
    except UnicodeEncodeError as error:
        raise PhalanxError(f"{source}: not text ({error.reason}); expected XML in UTF-8.") from None
    return data, "utf-8", text[: len(text) - len(plain)].count("\n")
