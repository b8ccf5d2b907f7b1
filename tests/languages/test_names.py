# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names of users in exported code: none breaks out of a comment or a string, and strings hold the names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.errors import PhalanxError
from phalanx.languages.names import c_string, comment_lines, filled, in_comment
from reference.lexing import code

BAD = "int INJECTED(void);"
HOSTILE = (
    f"*/ {BAD} /*",
    f"*\\\n/ {BAD}",
    f"*\n/ {BAD}",
    f"*\\/ {BAD}",
    f"??/\n{BAD}//",
    f"*??/\n/ {BAD}",
    f"\\\n{BAD}",
    f"\u2028{BAD}\u2029{BAD}\x85{BAD}\x0b{BAD}\r{BAD}",
    f'"; {BAD} char x[] = "',
    f'\\"; {BAD} //\\',
    f"$NQ {BAD} $",
    f"</script>{BAD}<!--",
    f"é ü 漢\u202e {BAD}",
    "a name of words " * 30,
    "x" * 400,
    " ",
)
WHERE = ("arm.h", "arm.c", "arm.cl", "arm.cu", "arm.ptx", "arm.ll", "arm.wasm")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wcomment", "-Wtrigraphs", "-pedantic", "-Werror")


def hostile() -> px.Robot:
    """A robot of one joint and one frame for each name; the names are also those of links."""
    builder = px.RobotBuilder(" ".join(HOSTILE[:13]))
    builder.add_link(HOSTILE[0])
    builder.add_link(HOSTILE[1], mass=1.0, com=(0.1, 0.0, 0.0), inertia=(1, 1, 1))
    builder.add_joint(HOSTILE[2], "revolute", HOSTILE[0], HOSTILE[1], axis=(0, 1, 0))
    for number, name in enumerate(HOSTILE[2:]):
        builder.add_frame(name, HOSTILE[1], (0.0, 0.0, 0.1 * number))
    return builder.build()


ROBOT = hostile()
FUNCTIONS = {f"f{k}": f"frame_velocity:{name}" for k, name in enumerate(HOSTILE[1:])}


@pytest.mark.parametrize("file", WHERE)
def test_no_name_breaks_out_of_any_language(file: str, tmp_path: Path) -> None:
    few = dict(list(FUNCTIONS.items())[:: 1 if file in ("arm.h", "arm.cl") else 4])
    for made in ROBOT.export(tmp_path / file, few):
        if made.suffix != ".wasm":
            text = made.read_text(encoding="utf-8")
            assert "INJECTED" in text
            assert "INJECTED" not in code(text, made.suffix)
            assert text.isascii() or made.suffix == ".mjs"


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_compilers_find_nothing_injected_and_strings_hold_the_names(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    ROBOT.export(tmp_path / "arm.h", FUNCTIONS)
    (tmp_path / "main.c").write_text(
        '#include "arm.h"\n#include <stdio.h>\nstatic const char *const links[] = ARM_LINK_NAMES;\n'
        "int main(void) {\n  int k;\n"
        '  for (k = 0; k < ARM_N_LINKS; ++k) printf("%s\\n--\\n", links[k]);\n  return 0;\n}\n'
    )
    flags = ["-x", "c++", "-std=c++11", *STRICT[1:]] if compiler == "g++" else [*STRICT, "-trigraphs"]
    done = subprocess.run(
        [compiler, *flags, "main.c", "-o", "main", "-lm"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert b"INJECTED" not in subprocess.run(["nm", "main"], cwd=tmp_path, capture_output=True).stdout
    told = subprocess.run(["./main"], cwd=tmp_path, capture_output=True).stdout.decode()
    assert told.split("\n--\n")[:-1] == list(ROBOT.link_names)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_comment_and_a_string_end_where_they_should(name: str) -> None:
    plain = in_comment(name)
    assert plain.isascii()
    assert plain.isprintable()
    assert not set("*\\?<$") & set(plain)
    for start, before, behind in ((" * ", "/*\n", "\n */"), ("// ", "", "")):
        text = before + "\n".join(comment_lines(f"Robot {plain}.", start)) + behind
        assert code(text, ".c").strip() == ""
    string = c_string(name)
    assert code(f"x = {string};", ".c") == 'x = "";'
    assert string.isascii()


def test_lists_are_split_between_items_only() -> None:
    items = [c_string(name) for name in ("a b", "word " * 40, "c, d", "e")]
    rows = filled(items, 20)
    assert rows == [f"{items[0]},", f"{items[1]},", f"{items[2]}, {items[3]}"]
    assert filled([], 20) == [""]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"sincos": "mass_matrix"}, r'would be called "sincos", which is the files\' own sincos'),
        ({"NQ": "mass_matrix"}, r'would be called "NQ", which is a macro'),
        ({"f": "mass_matrix", "f_batch": "mass_matrix"}, r'"f_batch", which is what is made for f'),
    ],
)
def test_functions_named_like_something_else_of_the_file_are_refused(
    functions: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(PhalanxError, match=message):
        px.load("two_link").export(tmp_path / "arm.c", functions)
    assert list(tmp_path.iterdir()) == []


def test_names_of_files_reach_cmake_in_quotes_or_not_at_all(tmp_path: Path) -> None:
    robot = px.load("two_link")
    robot.export(tmp_path / "my arm.c", "mass_matrix", cmake=True)
    assert '"${CMAKE_CURRENT_LIST_DIR}/my arm.c"' in (tmp_path / "my arm.cmake").read_text()
    for name in ("a;b.c", "a${x}.c", "a\nmessage(hello).c", 'a".c'):
        with pytest.raises(PhalanxError, match="is no name that CMake takes as it is"):
            robot.export(tmp_path / name, "mass_matrix", cmake=True)
    with pytest.raises(PhalanxError, match="holds a null character"):
        robot.export("a\0.c", "mass_matrix")
