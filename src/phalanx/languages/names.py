# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names of users in exported code: identifiers, strings and comments that no name can break out of.

Robots, links and frames are called as their file says, in any characters. All languages take names from here,
and each kind of name has a list of characters that pass; all others are escaped.
"""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Callable, Iterable

WIDTH = 100  # characters of a line

_WORDS = string.ascii_letters + string.digits + " _-"
# Not in a comment: * (its end, or another beginning), \ (joins lines), ? (trigraphs), < (tags, where a script
# is embedded in a page), $ (the prefix of a file). The list for strings lacks what ends them, too.
_IN_COMMENTS = frozenset(_WORDS + "!\"#%&'()+,./:;=>@[]^`{|}~")
_IN_STRINGS = frozenset(_WORDS + "!#%&'()*+,./:;<=>@[]^`{|}~")
# Reserved words of any of the languages.
_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while class new delete this template kernel global local private constant half bool step count"""
_RESERVED = frozenset(_KEYWORDS.split())
# Helper functions of files, and suffixes of the functions generated for one function.
_HELPERS = "sincos sin_far cos_far minimum maximum exp tanh log arctan2 rescale take give bits number"
_OWN = frozenset(_HELPERS.split())
MACROS = re.compile(r"(?:[A-Z][A-Z0-9_]+|H|FMA\w*)")  # of files; functions may be single letters
_ENDINGS = re.compile(r"_(batch|body\d*|kernel|vectors|state|rows|block|casadi\w*|piece\w*|t\d+)")


def identifier(name: str, *, reserved: bool = True) -> str:
    """A name as languages accept it: ASCII letters, digits and underscores, no reserved word.

    Names of functions have a prefix, and may be reserved words.
    """
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^0-9A-Za-z_]", "_", name)).strip("_") or "robot"
    return f"{plain}_" if reserved and plain in _RESERVED else f"r{plain}" if plain[0].isdigit() else plain


def taken(name: str, others: Iterable[str]) -> str:
    """The reserved or used name with which a function's name collides, in words; empty if none."""
    if name in _OWN:
        return f"the files' own {name}"
    if MACROS.fullmatch(name):
        return "a macro, being all capitals"
    made = (other for other in others if name.startswith(other) and _ENDINGS.fullmatch(name[len(other) :]))
    return next((f"what is made for {other}" for other in made), "")


def in_comment(text: str) -> str:
    """One line of ASCII that neither ends a comment nor reaches into the next line, in any language."""
    return _escaped(text, _IN_COMMENTS, lambda c: f"[U+{ord(c):04X}]")


def c_string(name: str) -> str:
    """A string of C: the bytes of the name in UTF-8, all but plain ones escaped."""
    return f'"{_escaped(name, _IN_STRINGS, _octal)}"'


def comment_lines(text: str, start: str) -> list[str]:
    """The lines of a comment, each behind `start`; the caller's names went through `in_comment`."""
    wrapped = textwrap.wrap(text, WIDTH - len(start), break_on_hyphens=False)
    return [f"{start}{line}" for line in wrapped] or [start.rstrip()]


def filled(items: Iterable[str], width: int) -> list[str]:
    """Lines of comma-separated items up to a width; no item is split."""
    rows = [""]
    for item in items:
        if rows[-1] and len(rows[-1]) + len(item) + 2 > width:
            rows[-1] += ","
            rows.append(item)
        else:
            rows[-1] += f", {item}" if rows[-1] else item
    return rows


def _escaped(text: str, plain: frozenset[str], escape: Callable[[str], str]) -> str:
    return "".join(c if c in plain else escape(c) for c in text)


def _octal(c: str) -> str:
    """Three octal digits a byte, so that a digit after them is not taken for a fourth."""
    return "".join(f"\\{byte:03o}" for byte in c.encode(errors="replace"))
