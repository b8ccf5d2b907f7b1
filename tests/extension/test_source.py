# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is added by writing into the sources, written into a copy of them: a function, a paper, a command.

The recipes of CONTRIBUTING.md are followed to the letter; nothing else is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = "# Copyright (c) 2026 The Phalanx developers\n# SPDX-License-Identifier: MIT\n"

FUNCTION = '\nfunction("lever", {"q": "q"}, "3", optional=INERTIAS, symbol="L")\n'
ALGORITHM = '''

@algorithm("lever", name="sum", source="Newton 1687, Book 1", coupled=True)
def lever(model: Model, q: Array) -> Array:
    """Moment (…, 3) of the gravity of a unit mass at the mass centre, in the base frame of the file.

    Source: Newton 1687, Book 1.
    Cost:   work O(n), span O(depth).
    """
    center = mass_center(model, q)
    return cross(center, center * 0.0 + model.gravity)
'''
PAPER = """title = "Toys"
authors = "A. Toy"
year = 2026

[sources]
"table" = "what toys cost"

[[row]]
source = "table"
item = "answer"
published = 42
quantity = "answer"
"""
QUANTITY = '''"""What toys cost."""

from ..quantities import quantity


@quantity
def answer() -> int:
    """Counted on fingers."""
    return 42
'''
COMMAND = '''"""`phalanx toy`: says so."""

from __future__ import annotations

import argparse

from .output import emit

EXAMPLES = "phalanx toy"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""


def run(args: argparse.Namespace) -> int:
    """Print a word; exit status 0."""
    emit("played")
    return 0
'''
CHECK = """
import inspect, io, contextlib
import numpy as np
import phalanx as px
from phalanx import cli
from phalanx.backends.base import installed
from phalanx.backends.array_functions import ArrayFunctions

robot = px.load("panda")
q = robot.random_state(3, rng=0)[0]
wanted = np.cross(robot.center_of_mass(q), robot.gravity)
for backend in installed():
    np.testing.assert_allclose(robot.lever(q, backend=backend), wanted, atol=1e-12)
assert "Moment (…, 3) of the gravity" in inspect.getdoc(px.Robot.lever)
assert type(robot.kernel("lever")).__name__ == "LeverKernel"
np.testing.assert_allclose(robot.kernel("lever")(q), wanted, atol=1e-12)
assert robot.jvp("lever", (q,), (q,)).shape == (3, 3)
assert hasattr(ArrayFunctions, "lever")
if "jax" in installed():
    assert robot.jax.lever(q.astype("f4")).shape == (3, 3)
assert [a.name for a in px.algorithms("lever")] == ["sum"]
assert px.cost(robot, "lever").total > 0
run = robot.simulation().rollout(q[0], 0.0 * q[0], steps=2, record="lever")
assert run["lever"].shape == (2, 3)
import tempfile, pathlib
with tempfile.TemporaryDirectory() as folder:
    (path,) = robot.export(pathlib.Path(folder) / "arm.h", ("lever",))
    assert "arm_lever(" in path.read_text()

(record,) = px.papers.reproduce("toys")
assert (record.published, record.computed, record.verdict) == (42, 42, "exact")

def said(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.main(list(arguments))
    return out.getvalue()

assert "toy" in said("--help") and "played" in said("toy")
assert "answer" in said("papers", "toys")
assert "lever" in said("cost", "two_link", "--function", "lever")
print("found")
"""


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="module", name="copy")
def copy_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with a function, a paper and a command more."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    source = folder / "src" / "phalanx"
    append(source / "algorithms" / "registry.py", FUNCTION)
    append(source / "algorithms" / "momentum.py", ALGORITHM)
    paper = source / "study" / "papers"
    (paper / "toys").mkdir()
    (paper / "toys" / "__init__.py").write_text(HEAD)
    (paper / "toys" / "toys.toml").write_text(PAPER)
    (paper / "toys" / "costs.py").write_text(HEAD + QUANTITY)
    replace(paper / "catalogue.py", '"band_sparsity")', '"band_sparsity", "toys")')
    (source / "cli" / "toy.py").write_text(HEAD + COMMAND)
    replace(source / "cli" / "__init__.py", "COMMANDS = {\n", 'COMMANDS = {\n    "toy": "play",\n')
    return folder


def run(folder: Path, *command: str) -> str:
    env = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_function_a_paper_and_a_command_are_found(copy: Path) -> None:
    run(copy, "tools/make_surface.py")
    assert run(copy, "-c", CHECK).endswith("found\n")


def test_a_function_without_declarations_is_noticed(copy: Path) -> None:
    """The same text that compares declarations with the registry in this repository."""
    run(copy, "tools/make_surface.py")
    declared = (copy / "src" / "phalanx" / "robot" / "api.py").read_text(encoding="utf-8")
    assert declared != (ROOT / "src" / "phalanx" / "robot" / "api.py").read_text(encoding="utf-8")
    assert '"lever"' in declared
