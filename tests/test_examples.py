# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The examples run as they stand and say something."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))


def packages(file: Path) -> set[str]:
    """The packages that a program imports, by their names."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names = plain + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}


def pictures(file: Path) -> list[str]:
    """The files that a program draws."""
    return re.findall(r'savefig\("(.*?)"', file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_example_runs_and_prints(file: Path, tmp_path: Path) -> None:
    if missing := [name for name in sorted(packages(file)) if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{file.name} needs {', '.join(missing)}")
    done = subprocess.run(
        [sys.executable, file],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    for name in pictures(file):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_examples_of_control_and_simulation_draw_and_hold_themselves_to_their_outcome() -> None:
    drawing = [file for file in EXAMPLES if pictures(file)]
    known = ["lqr", "swing_up", "identification", "pendulums", "quadruped", "impedance"]
    assert [file.stem[3:] for file in drawing] == known
    for file in drawing:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        assert sum(isinstance(node, ast.Assert) for node in tree.body) >= 2, file.name
        assert len(file.read_text(encoding="utf-8").splitlines()) < 100, file.name


def test_there_are_examples_in_order() -> None:
    assert [int(file.name[:2]) for file in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
