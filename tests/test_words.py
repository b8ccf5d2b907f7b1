# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names in the sources: those that the field knows, and one name for one thing."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "phalanx"
FILES = sorted(SOURCE.rglob("*.py"))

# Words that no identifier has, and what the field calls such a thing.
INSTEAD = {
    "crowded": "high register pressure",
    "door": "entry point",
    "doors": "entry points",
    "draft": "lowered program",
    "extent": "unroll policy",
    "heir": "heavy child",
    "laden": "loaded",
    "lending": "regularisation",
    "limb": "heavy path",
    "limbs": "heavy paths",
    "pace": "throughput",
    "prices": "unit costs",
    "regions": "buffers",
}
# Classes that two files define, and why.
PARALLEL = {
    "MotionSignatures": "the same methods on arrays of JAX and on tensors of PyTorch",
}


def words(name: str) -> list[str]:
    """The words of an identifier in snake case or camel case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_identifiers_have_words_of_the_field(file: Path) -> None:
    names = {*file.relative_to(SOURCE).with_suffix("").parts}
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline)
    names |= {token.string for token in tokens if token.type == tokenize.NAME}
    coined = {name: INSTEAD[word] for name in names for word in words(name) if word in INSTEAD}
    assert not coined


def test_a_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file.relative_to(SOURCE).as_posix())
    assert {name for name, where in places.items() if len(where) > 1} == set(PARALLEL)
