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
OTHERS = sorted(file for end in ("js", "mjs", "ll") for file in SOURCE.rglob(f"*.{end}"))
# What is left out of files that are not Python: comments.
COMMENTS = {".ll": r";.*", ".js": r"/\*[\s\S]*?\*/|(?<!:)//.*", ".mjs": r"/\*[\s\S]*?\*/|(?<!:)//.*"}

# Words that no identifier has, and what the field calls such a thing.
INSTEAD = {
    "crowded": "high register pressure",
    "door": "entry point",
    "doors": "entry points",
    "draft": "lowered program",
    "extent": "unroll policy",
    "had": "the plain verb",
    "heir": "heavy child",
    "laden": "loaded",
    "lend": "regularise",
    "lending": "regularisation",
    "lends": "regularises",
    "limb": "heavy path",
    "limbs": "heavy paths",
    "pace": "throughput",
    "prices": "unit costs",
    "regions": "buffers",
    "telling": "saying, showing",
    "tells": "says, shows",
    "thing": "its own name",
    "things": "their own name",
    "told": "uniforms, or what was passed",
}
# Words with a meaning of their own in a few identifiers, and nowhere else.
ONLY_IN: dict[str, set[str]] = {
    "region": {"SimdRegion", "get_sub_region", "in_region", "on_simd_region", "region"},  # of statements
    "tell": {"tell"},  # of files
}
# Classes that two files define, and why.
PARALLEL: dict[str, str] = {}
# File names that several folders have, and why these folders are parallel.
PARALLEL_FILES = {
    "api": "what users call: of a robot, of exports",
    "arguments": "users' arguments, checked: of commands, recordings, simulations",
    "arrays": "NumPy's and JAX's",
    "base": "the contract: of backends, of devices",
    "build": "all steps to a kernel: of segments as a program, of any program as machine code",
    "builder": "what is put together step by step: a robot, a program",
    "cache": "the command and what it shows",
    "chain": "a chain in Denavit-Hartenberg frames: its links, its symbolic link",
    "codegen": "visitors that write code: LLVM IR, languages like C",
    "columns": "matrices column by column: planned, as a stage, in segments",
    "compare": "the command and the study",
    "cost": "the command, the study and the analysis",
    "cuda": "the export and the device",
    "derivatives": "of results: of one symbolic body, on PyTorch",
    "differentiate": "straight-line code and loops",
    "engine": "what carries out: runs over recordings, simulations",
    "formulas": "of a robot and as machine code",
    "frames": "of a robot, of Denavit and Hartenberg, of the papers on the mass matrix",
    "functions": "one method for each registered function: of robots, on JAX, on PyTorch",
    "generators": "robots and their descriptions",
    "levels": "level by level: eliminations in loops, sweeps on JAX",
    "links": "sweeps over links: declared, of one symbolic link; and the algorithms' bodies of a joint",
    "loops": "over bodies: planned, as stages, counted",
    "markup": "of charts and of the studio",
    "matrices": "over bodies: in sweeps and as stages",
    "objects": "object code: exported, and as built-in functions",
    "opencl": "the export, the language and the device",
    "order": "of sweeps over one symbolic body, and of operations in a program",
    "own_functions": "users' own functions: on JAX, on PyTorch",
    "page": "the studio's and the report's",
    "partition": "one algorithm for three functions",
    "plan": "of loops over bodies, and of those over segments",
    "ptx": "the export and the device",
    "quantities": "what scalars, records and papers' rows are about",
    "rollout": "the program and its machine code",
    "scene": "shapes, and what a report shows of them",
    "schedule": "the command and the study",
    "speedup": "the command and the study",
    "sections": "of a program and of a report",
}


def words(name: str) -> list[str]:
    """The words of an identifier in snake case or camel case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def identifiers(file: Path) -> set[str]:
    """The names in a file, and those of the file and of its folders."""
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    return names | {*file.relative_to(SOURCE).with_suffix("").parts}


def coined(names: set[str]) -> dict[str, str]:
    """Names with a word that does not come back, and what to write instead."""
    found = {name: INSTEAD[word] for name in names for word in words(name) if word in INSTEAD}
    for name in names:
        for word in words(name):
            if name not in ONLY_IN.get(word, {name}):
                found[name] = f"`{word}` is for {', '.join(sorted(ONLY_IN[word]))}"
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_identifiers_have_words_of_the_field(file: Path) -> None:
    assert coined(identifiers(file)) == {}


@pytest.mark.parametrize("file", OTHERS, ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_so_have_those_of_other_languages(file: Path) -> None:
    code = re.sub(COMMENTS[file.suffix], "", file.read_text(encoding="utf-8"))
    sizes = {"extent"}  # of axes and of scenes
    assert coined(set(re.findall(r"[A-Za-z_]\w*", code)) - sizes) == {}


def test_coined_words_are_found_in_any_spelling() -> None:
    assert set(coined({"front_doors", "FrontDoor", "_DOOR", "indoors", "outdoor"})) == {
        "front_doors",
        "FrontDoor",
        "_DOOR",
    }


def test_exceptions_are_still_needed() -> None:
    present = set().union(*map(identifiers, FILES))
    assert {name for allowed in ONLY_IN.values() for name in allowed} - present == set()


def test_a_class_name_is_defined_once() -> None:
    defined = defaultdict(list)
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(file.relative_to(SOURCE).as_posix())
    assert {name for name, where in defined.items() if len(where) > 1} == set(PARALLEL)


def test_a_file_name_repeats_only_where_folders_are_parallel() -> None:
    names = [file.stem for file in FILES if file.name != "__init__.py"]
    assert {name for name in names if names.count(name) > 1} - set(PARALLEL_FILES) == set()
