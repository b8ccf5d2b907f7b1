# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the commands share in print: tables that fit the terminal, numbers, JSON."""

from __future__ import annotations

import errno
import json
import math
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import printable

GAP = "  "
MOST_ROWS = 120  # of a table of joints; longer ones show their ends
ENDS_OF_TABLE = 10
_ASCII = str.maketrans(
    {"←": "<-", "│": "|", "├": "+", "└": "`", "─": "-", "…": "...", "–": "-", "²": "^2", "·": "*"}
)


def terminal_width() -> int:
    """Columns to use: those of the terminal, 80 where there is none."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, 60), 120)


def emit(text: str) -> None:
    """Print `text`, in plain ASCII where the output cannot encode it.

    Names come from files: what a terminal would obey instead of show is escaped.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    text = "\n".join(map(printable, text.split("\n")))
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    print(text, flush=True)


def emit_json(data: Any) -> None:
    """Print `data` as strict JSON; arrays become lists, infinities and NaN become null."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    print(json.dumps(_plain(data), indent=2, allow_nan=False), flush=True)


def one_line(message: object) -> str:
    """Return a message as one line of text."""
    return printable(" ".join(str(message).split()))


def number(value: float) -> str:
    """Return four significant digits; a dash where there is no bound."""
    return f"{value:.4g}" if math.isfinite(value) else "–"


def fit(text: str, width: int) -> str:
    """Return `text` in at most `width` columns, shortened in the middle, on one line."""
    text = printable(text)
    if len(text) <= width:
        return text
    head = max(width - 1, 0) // 2
    tail = max(width - 1, 0) - head
    return text[:head] + "…" + text[len(text) - tail :]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, align: str, width: int) -> list[str]:
    """Return the lines of a table; its first column is cut if `width` is too small.

    `align` holds a letter per column, `<` or `>`.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    sizes = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rest = sum(sizes[1:]) + len(GAP) * (len(sizes) - 1)
    sizes[0] = min(sizes[0], max(width - rest, 8))
    rule = ["─" * size for size in sizes]
    return [
        GAP.join(
            f"{fit(cell, size):{side}{size}}" for cell, size, side in zip(row, sizes, align, strict=True)
        ).rstrip()
        for row in (head, rule, *rows)
    ]


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray | np.generic):
        return _plain(data.tolist())
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
