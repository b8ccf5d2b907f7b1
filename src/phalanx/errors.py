# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The few exceptions: one error and one warning, both saying what to do next."""

from collections.abc import Iterable


class PhalanxError(ValueError):
    """Input that Phalanx cannot serve; the message names the place and the remedy."""


class PhalanxWarning(UserWarning):
    """Input that Phalanx serves although something about it deserves a look."""


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
    import difflib  # takes a while, and most names are known

    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    hint = f' did you mean "{close[0]}"?' if close else ""
    return f"{hint} {what}: {listing(known, most=20) or 'none'}."
