# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The pages on extension points: every row has a test that adds one, and what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from phalanx.algorithms import FUNCTIONS
from phalanx.backends.array_functions import ArrayFunctions

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "phalanx"
TESTS = {
    "a joint type": "test_joint_type.test_it_is_served_wherever_joints_are_used",
    "an algorithm": "test_added.test_an_algorithm",
    "a function": "test_source.test_a_function_a_paper_and_a_command_are_found",
    "an operation": "test_added.test_an_operation",
    "a backend": "test_added.test_a_backend",
    "an integrator": "test_added.test_an_integrator",
    "a law": "test_added.test_a_law",
    "a language": "test_added.test_a_language",
    "a file format": "test_added.test_a_format_of_robot_files",
    "a machine": "test_added.test_a_machine",
    "a paper": "test_source.test_a_function_a_paper_and_a_command_are_found",
    "a format of recordings": "test_added.test_a_format_of_recordings",
    "a command": "test_source.test_a_function_a_paper_and_a_command_are_found",
}


def rows() -> dict[str, str]:
    """What can be added, and what to write for it, as ARCHITECTURE.md tells."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| To add \| Write \| Found by \|\n\|[-|]+\|\n((?:\|.*\n)+)", text)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    return {row[0]: row[1] for row in cells}


def test_every_row_has_a_test() -> None:
    assert set(rows()) == set(TESTS)
    for test in TESTS.values():
        module, _, name = test.partition(".")
        text = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
        assert f"def {name}(" in text, test


def recipes() -> list[tuple[str, str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.findall(r"^## Add (an? .+?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("what", "text"), [*rows().items(), *recipes()])
def test_files_that_are_named_exist(what: str, text: str) -> None:
    """Paths in code style, from the root, from the package, or from the folder named just before."""
    folder = SOURCE
    for name in re.findall(r"`([\w./<>]+(?:\.py|\.md|\.toml|/))`", text):
        if "<" in name or name == "__init__.py":
            continue
        places = [base / name for base in (ROOT, SOURCE, folder)]
        found = next((place for place in places if place.exists()), None)
        assert found is not None, f"{what}: {name}"
        folder = found if found.is_dir() else found.parent


def test_there_is_a_recipe_for_whatever_takes_more_than_a_line() -> None:
    known = {what for what, _ in recipes()}
    assert {
        "a joint type", "an algorithm", "a function", "an operation", "a backend", "an integrator",
        "a machine", "a format", "a paper", "a command",
    } <= known  # fmt: skip


def test_other_arrays_have_all_functions() -> None:
    """So the pages on them need no list."""
    assert all(hasattr(ArrayFunctions, name) for name in FUNCTIONS)
