# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The layout of the sources: who may import whom, and which words stay out of the equations."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "phalanx"

# A file imports only from its own line or from lines above.
LAYERS = (
    "typing",
    "errors",
    "arrays",
    "files",
    "progress",
    "ranks",
    "spatial",
    "reproducible",
    "robot",
    "io",
    "sweeps",
    "algorithms",
    "program",
    "languages",
    "hardware",
    "backends",
    "dispatch",
    "products",
    "methods",
    "distributed",
    "tracing",
    "constraints",
    "inverse_kinematics",
    "simulation",
    "export",
    "data",
    "study",
    "studio",
    "cli",
    "__init__",
    "__main__",
)

# (file, imported layer): why this one import may point downwards.
ALLOWED: dict[tuple[str, str], str] = {
    ("robot/api.py", "backends"): "the types of kernels and of functions of JAX arrays, for checkers only",
    ("robot/api.py", "simulation"): "the type of simulations, for checkers only",
    ("robot/api.py", "inverse_kinematics"): "the type of solutions, for checkers only",
    ("robot/api.py", "tracing"): "the type of own functions, for checkers only",
}

HEAVY = (
    "jax",
    "torch",
    "mujoco",
    "matplotlib",
    "llvmlite",
    "scipy",
    "networkx",
    "xacro",
    "yaml",
    "ssl",
    "viser",
    "trimesh",
)

FORBIDDEN = re.compile(
    r"(?<![a-z])(numpy|jax|native|llvm|revolute|prismatic|spherical|planar|helical|floating|doubling|sequential)"
    r"(?![a-z])",
    re.IGNORECASE,
)
PUBLISHED_NAMES = ("recursive_doubling",)  # an algorithm's own name, not an order to run it in

FILES = sorted(SOURCE.rglob("*.py"))
# What several algorithms share may handle arrays (`banded/`, `links.py`); the algorithms themselves may not.
ALGORITHMS = SOURCE / "algorithms"
EQUATIONS = sorted(
    file
    for file in ALGORITHMS.rglob("*.py")
    if file.parent != ALGORITHMS / "banded" and file != ALGORITHMS / "links.py"
)


def layer_of(file: Path) -> str:
    """The top-level module or package that a file belongs to."""
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_layers(file: Path) -> Iterator[tuple[int, str]]:
    """Line and layer of every import of our own package, lazy ones and those for types included."""
    package = ["phalanx", *file.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        targets: list[list[str]] = []
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            targets = [[*module, alias.name] for alias in node.names]
        for target in targets:
            if target[0] == "phalanx":
                name = target[1] if len(target) > 1 else "__init__"
                yield node.lineno, name if name in LAYERS else "__init__"


def test_every_module_has_a_layer() -> None:
    assert {layer_of(file) for file in FILES} <= set(LAYERS)


def test_the_architecture_page_lists_the_layers_in_their_order() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page[page.index("## Import order") : page.index("## Extension points")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)(?:\.py|/)`", row)]
    present = {layer_of(file) for file in FILES} - {"__main__"}
    assert named == [layer for layer in LAYERS if layer in present]


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_imports_point_upwards_only(file: Path) -> None:
    name = file.relative_to(SOURCE).as_posix()
    own = layer_of(file)
    wrong = [
        f"{name}:{line} imports {layer}, which stands below {own}"
        for line, layer in imported_layers(file)
        if LAYERS.index(layer) > LAYERS.index(own) and (name, layer) not in ALLOWED
    ]
    assert not wrong, "\n".join(wrong)


def test_allowed_imports_are_still_needed() -> None:
    present = {
        (file.relative_to(SOURCE).as_posix(), layer) for file in FILES for _, layer in imported_layers(file)
    }
    assert set(ALLOWED) <= present


def in_fresh_interpreter(code: str) -> str:
    """What `code` prints in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_import_takes_less_work_than_that_of_numpy() -> None:
    # Counted in calls of functions: the clock would measure how busy the machine is. NumPy takes 0.1 s.
    code = """
import sys
count = 0
def note(frame, event, argument):
    global count
    count += event.endswith("call")
sys.setprofile(note)
import numpy
first = count
import phalanx
sys.setprofile(None)
print(first, count - first)
"""
    numpy, own = map(int, in_fresh_interpreter(code).split())
    assert own < numpy


def test_import_loads_no_heavy_package() -> None:
    code = f"import sys, phalanx; print(*(name for name in {HEAVY} if name in sys.modules))"
    assert in_fresh_interpreter(code) == ""


@pytest.mark.parametrize(
    "study",
    [
        'px.cost(robot, "forward_dynamics")',
        'px.cost(px.chain(40), "mass_matrix")',
        'px.cost(robot, "inverse_dynamics", customise="none")',
        'px.schedule(robot, "inverse_dynamics")',
        'px.schedule(robot, "inverse_dynamics", "newton_euler", px.machines.Pram())',
    ],
)
def test_tracing_counting_and_scheduling_need_no_compiler(study: str) -> None:
    code = f'import sys, phalanx as px; robot = px.load("two_link"); {study}'
    code += '; print("llvmlite" in sys.modules)'
    assert in_fresh_interpreter(code) == "False"


def words_outside_prose(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every token that is neither a comment nor a docstring."""
    prose = {
        (node.value.lineno, node.value.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT and token.start not in prose:
            yield token.start[0], token.string


def forbidden_words(text: str) -> list[tuple[int, str]]:
    """Line and word wherever code names a backend, a joint type or a schedule."""
    found = []
    for line, token in words_outside_prose(text):
        for name in PUBLISHED_NAMES:
            token = token.replace(name, "")
        found += [(line, word.group(1)) for word in FORBIDDEN.finditer(token)]
    return found


@pytest.mark.parametrize("file", EQUATIONS, ids=lambda f: str(f.relative_to(SOURCE)))
def test_equations_name_no_backend_no_joint_type_and_no_schedule(file: Path) -> None:
    assert forbidden_words(file.read_text(encoding="utf-8")) == []


SWEPT = ("algorithms", "sweeps")


@pytest.mark.parametrize("file", [f for f in FILES if layer_of(f) in SWEPT], ids=lambda f: f.name)
def test_nothing_is_decided_by_asking_whether_an_order_or_a_model_has_something(file: Path) -> None:
    calls = [
        node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    asked = [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id in ("getattr", "hasattr")]
    assert asked == []


SHAPES_OF_CODE = {"lanes", "loops", "unrolled", "registers", "width", "vector"}


@pytest.mark.parametrize("file", EQUATIONS, ids=lambda f: str(f.relative_to(SOURCE)))
def test_equations_say_nothing_of_registers_or_of_the_shape_of_code(file: Path) -> None:
    """Imports, attributes and keyword arguments: what an algorithm says of itself is mathematics."""
    said = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg in SHAPES_OF_CODE:
            said.append(node.arg)
        elif isinstance(node, ast.Attribute) and node.attr in SHAPES_OF_CODE:
            said.append(node.attr)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
            "program",
            "backends",
        ):
            said.append(node.module)
        elif isinstance(node, ast.Compare) and any(
            isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "type"
            for x in (node.left, *node.comparators)
        ):
            said.append("type(…)")
    assert said == []


def test_forbidden_words_are_found_in_code_but_not_in_prose() -> None:
    text = '''"""Revolute joints in numpy."""
import numpy as np  # numpy
is_revolute = "alternative" + "Sequential"
def recursive_doubling():
    """A doubling."""
    return doubling_step
'''
    assert forbidden_words(text) == [(2, "numpy"), (3, "revolute"), (3, "Sequential"), (6, "doubling")]


def test_every_source_carries_the_licence_header() -> None:
    header = ("# Copyright (c) 2026 The Phalanx developers", "# SPDX-License-Identifier: MIT")
    missing = [
        file.name for file in FILES if tuple(file.read_text(encoding="utf-8").splitlines()[:2]) != header
    ]
    assert missing == []


def test_no_four_files_share_a_name() -> None:
    names = Counter(file.name for file in FILES if file.name != "__init__.py")
    assert [name for name, count in names.items() if count > 3] == []
