# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sources as compilers see them: without comments, and with strings emptied."""

from __future__ import annotations

import re

_TRIGRAPHS = dict(zip("=/'()!<>-", "#\\^[]|{}~", strict=True))
_C = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_JS = re.compile(_C.pattern + r"|`(?:[^`\\]|\\.)*`", re.DOTALL)
_ASSEMBLY = {
    ".ll": re.compile(r";[^\n]*|\"[^\"\n]*\""),
    ".ptx": _C,
    ".cmake": re.compile(r"#[^\n]*|\"[^\"]*\""),
}
# What ends a line for one language or the other.
_LINES = re.compile("\r\n|[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


def code(text: str, suffix: str) -> str:
    """The code of a source; raises ValueError where a comment or a string has no end."""
    text = _LINES.sub("\n", text)
    if suffix in (".h", ".c", ".cl", ".cu", ".cuh"):
        text = re.sub(r"\?\?([=/'()!<>-])", lambda m: _TRIGRAPHS[m[1]], text)
        text = re.sub(r"\\[ \t]*\n", "", text)
    pattern = _ASSEMBLY.get(suffix) or (_JS if suffix == ".mjs" else _C)
    made = pattern.sub(lambda m: '""' if m[0][0] in "\"'`" else " ", text)
    left = re.search(r"/\*|\*/" if pattern in (_C, _JS) else r'(?<!")"(?!")', made)
    if left or made.replace('""', "").count('"'):
        raise ValueError(f"a comment or a string without an end: {made[:200]!r}")
    return made
