# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The few exceptions: one error and one warning, both saying what to do next."""

import difflib
import sys
import warnings
from collections.abc import Iterable

_PACKAGE = __name__.partition(".")[0]


class PhalanxError(ValueError):
    """Input that Phalanx cannot serve; the message names the place and the remedy."""


class PhalanxWarning(UserWarning):
    """Input that Phalanx serves although something about it deserves a look."""


def warn(message: str) -> None:
    """Give a `PhalanxWarning` that points at the caller's line: the first one outside this package.

    How deep the package stands in the stack differs from door to door, so no fixed stack level will do.
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
        registry=frame.f_globals.setdefault("__warningregistry__", {}),  # shown once per line and text
    )


def listing(names: Iterable[str], *, most: int = 8) -> str:
    """Return `names` as quoted text, shortened after `most` entries."""
    names = list(names)
    shown = ", ".join(f'"{name}"' for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def shown(value: object) -> str:
    """Return a value as messages show it: arrays by their shape, long texts cut."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and value.shape:
        return f"an array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(name: object, known: Iterable[str], *, what: str = "known") -> str:
    """Return ' did you mean …; known: …' for an unknown `name`."""
    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f' did you mean "{close[0]}"?' if close else ""
    return f"{hint} {what}: {listing(known, most=20) or 'none'}."
