# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The few exceptions: one error and one warning, both saying what to do next.

Names in messages come from files: whatever a terminal would obey instead of show is escaped, and what
is too long to read is cut.
"""

import sys
import warnings
from collections.abc import Iterable
from itertools import islice

_MOST = 1500  # characters of a message
_LONG = 120  # characters of a name in a list of names
_MANY = 5000  # names among which the nearest is looked for: comparing takes some microseconds each
_SPACES = str.maketrans("\t\n\r", "   ")

_PACKAGE = __name__.partition(".")[0]


class PhalanxError(ValueError):
    """Input that Phalanx cannot serve; the message names the argument and the remedy."""

    def __init__(self, *args: object) -> None:
        super().__init__(*map(_readable, args))


class PhalanxWarning(UserWarning):
    """A warning about input that is used, but probably not as intended."""

    def __init__(self, *args: object) -> None:
        super().__init__(*map(_readable, args))


def printable(text: object) -> str:
    """Return a string with control and other invisible characters escaped."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int) -> str:
    """Return a string of at most `most` characters: its beginning and its end, which has the remedy."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"


def _readable(message: object) -> object:
    """Return a message as one line that can be read; anything else as it is."""
    if not isinstance(message, str):
        return message
    cut = shortened(message, 4 * _MOST)  # escapes take up to ten characters each
    return shortened(printable(cut.translate(_SPACES)), _MOST)


def installing(extra: str) -> str:
    """How to get the packages of an extra: from a clone, since no index has Phalanx."""
    return f'pip install ".[{extra}]" in a clone of Phalanx'


def warn(message: str) -> None:
    """Give a `PhalanxWarning` that points at the caller's line: the first one outside this package.

    The depth of the stack differs between entry points, so that no fixed stack level would do.
    """
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE and frame.f_back is not None:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        PhalanxWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),  # shown once per line and message
    )


def listing(names: Iterable[str], *, most: int = 8) -> str:
    """Return `names` quoted and shortened after `most` entries."""
    names = list(names)
    shown = ", ".join(f'"{shortened(str(name), _LONG)}"' for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def shown(value: object) -> str:
    """Return a value as messages show it: arrays by their shape, long strings cut."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and value.shape:
        return f"an array of shape {value.shape}"
    try:
        text = repr(value)
    except Exception:  # objects may do anything there; Python refuses integers of thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_one_of(value: object, choices: Iterable[str]) -> bool:
    """Return whether a value is one of some strings; arrays, lists and the like are not."""
    return isinstance(value, str) and value in choices


def nearest(name: object, known: Iterable[str], *, what: str = "known") -> str:
    """Return ' did you mean …; known: …' for an unknown `name`."""
    known = list(known)
    hint = ""
    text = name if isinstance(name, str) else shown(name)
    if len(text) <= _LONG:
        near = (other for other in known if len(other) <= 2 * _LONG)
        close = closest(text, islice(near, _MANY))
        hint = f' did you mean "{close}"?' if close else ""
    return f"{hint} {what}: {listing(known, most=20) or 'none'}."


def closest(text: str, known: Iterable[str]) -> str:
    """Return the known name that is likely meant, whatever its case, or nothing: a far-off hint misleads."""
    folded: dict[str, str] = {}
    for other in known:
        folded.setdefault(other.casefold(), other)
    import difflib  # takes a while, and most names are known

    text = text.casefold()
    close = difflib.get_close_matches(text, folded, n=1, cutoff=0.7)
    if not close and len(text) >= 3:
        close = [other for other in folded if other.startswith(text)]
    return folded[close[0]] if close else ""
