# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The conventions: known by name, complete, and naming only what the texts have."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS
from phalanx.study.conventions import _SOURCES, CONVENTIONS, convention_of
from phalanx.study.cost import cost

TEXTS = [
    ast.parse(file.read_text(encoding="utf-8"))
    for folder in ("algorithms", "robot/dh")
    for file in (Path(px.__file__).parent / folder).rglob("*.py")
]
FUNCTIONS = {n.name for text in TEXTS for n in ast.walk(text) if isinstance(n, ast.FunctionDef)}
VARIABLES = {
    n.id for text in TEXTS for n in ast.walk(text) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions_name_functions_and_variables_of_the_texts(name: str) -> None:
    c = CONVENTIONS[name]
    assert {f for level in c.given.values() for f in level} | set(c.passes) <= FUNCTIONS
    assert {v for levels in (c.free, c.results) for level in levels.values() for v in level} <= VARIABLES | {
        "tau"
    }
    assert c.source
    assert c.charges.endswith(".")


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention_is_told_where_users_look(name: str) -> None:
    assert f"| {name} |" in (cost.__doc__ or "")


def test_sources_are_algorithms_and_have_conventions() -> None:
    known = {name for algorithms in ALGORITHMS.values() for name in algorithms}
    assert set(_SOURCES) <= known
    assert set(_SOURCES.values()) <= set(CONVENTIONS)


def test_the_convention_of_a_source_is_for_general_equations_only() -> None:
    assert convention_of(None, "lathrop", "none").name == "lathrop"
    assert convention_of(None, "lathrop", "semi").name == "lathrop"
    assert convention_of(None, "lathrop", "full").name == "program"
    assert convention_of(None, "crba", "none").name == "program"
    assert convention_of("kane", "crba", "full").name == "kane"


def test_an_unknown_convention_names_the_known_ones() -> None:
    with pytest.raises(
        px.PhalanxError, match=r'unknown convention .lathrup.; did you mean "lathrop"'
    ) as error:
        convention_of("lathrup", "lathrop", "none")
    assert all(name in str(error.value) for name in CONVENTIONS)
