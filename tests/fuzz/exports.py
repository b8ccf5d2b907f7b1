# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Hostile exports: names that try to leave comments and strings, functions, options and targets of all kinds.

Every name has the word `injected` in it. Where it is written, it stays inside a comment, a string or a longer
identifier; what remains of a file without comments and strings has no such word.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.languages.names import identifier
from phalanx.simulation.integrators import names

from .values import anything

WORD = "injected"
NAMES = (
    *(
        "*/ int injected; /*",
        "*\\\n/ int injected; /*",
        "??/\nint injected;",
        "\\",
        "injected\\",
        '"; int injected; "',
    ),
    *(
        "\n#define injected\n",
        "// injected \\\nint injected;",
        "\r\nint injected;\r",
        "\u2028injected",
        "%> injected",
    ),
    *(
        "<script>injected()</script>",
        "`${injected}`",
        "') injected(",
        "]]> injected",
        "--> injected",
        "$<injected>",
    ),
    *(
        "${injected}",
        "$ENV{injected}",
        "#[[ injected ]]",
        ") injected(",
        "injected",
        "injected injected",
        "é injected",
    ),
    *(
        "\x00injected",
        "\x1b[2Jinjected",
        "??' injected",
        "injected" * 200,
        'R"(injected)"',
        "\ud800injected",
        "int",
    ),
    *(
        "{injected}",
        "%s injected",
        "$prefix_injected",
        "$info injected",
        "1injected",
        "*" * 50 + "/ injected",
        "0",
    ),
)
SUFFIXES = (".h", ".c", ".cl", ".cu", ".cuh", ".h", ".c", ".cl", ".cu", ".cuh", ".ptx", ".ll", ".o", ".wasm")
TEXTS = (".h", ".c", ".cl", ".cu", ".cuh", ".ptx", ".ll", ".mjs", ".cmake", ".py", ".txt")
TARGETS = ("cortex-m4", "aarch64", "x86-64", "sm_80", "sm_52", "host", "riscv64", "wasm32", "z80", "sm_1", "")
DTYPES = ("float64", "float64", "float64", "float32", np.float32, "float16", "int32", None)


def near(rng: Random, *values: Any, odds: float = 0.04) -> Any:
    return anything(rng) if rng.random() < odds else rng.choice(values)


@cache
def robots() -> list[px.Robot]:
    """Robots of one or two joints with such names; few, so that tracing is shared."""
    made = []
    for seed in range(14):
        rng = Random(f"names {seed}")
        robot = None
        while robot is None:
            try:
                robot = _named(rng)
            except px.PhalanxError:  # names that no robot has
                continue
        made.append(robot)
    arm = px.load("two_link")
    return [*made, arm.fix(dict.fromkeys(arm.joint_names, 0.0))]


def _named(rng: Random) -> px.Robot:
    count = rng.choice((1, 2))
    words = rng.sample(NAMES, 2 * count + 3)
    builder = px.RobotBuilder(words.pop())
    links = [words.pop() for _ in range(count + 1)]
    for name in links:
        builder.add_link(name, mass=1.0, com=(0, 0, 0.1), inertia=(1, 1, 1))
    for a, b in itertools.pairwise(links):
        kind = rng.choice(("revolute", "revolute", "prismatic"))
        builder.add_joint(words.pop(), kind, a, b, axis=(0, 1, 0), origin=(0, 0, 0.3), lower=-1, upper=1)
    builder.add_frame(words.pop(), links[-1], (0, 0, 1))
    return builder.build()


def export(seed: int) -> None:
    """One export from a seed; a refusal leaves no file."""
    rng = Random(f"export {seed}")
    robot = rng.choice(robots())
    suffix = near(rng, *SUFFIXES, odds=0.02)
    stem = rng.choice(("arm", "arm", "arm", "a b", "int", "1", "é", *NAMES))
    if "/" in stem or "\0" in stem:
        stem = stem if rng.random() < 0.1 else "arm"
    path: Any = f"{stem}{suffix}" if isinstance(suffix, str) else suffix
    path = near(rng, path, path, Path(path) if isinstance(path, str) else path, "no/arm.h", odds=0.02)
    more: dict[str, Any] = {}
    if rng.random() < 0.3:
        more["dtype"] = near(rng, *DTYPES)
    if rng.random() < (0.4 if isinstance(suffix, str) and suffix in (".o", ".ptx") else 0.15):
        more["target"] = near(rng, *TARGETS, odds=0.1)
    for name in ("cmake", "casadi", "vectors", "nothing"):
        if rng.random() < 0.05:
            more[name] = near(rng, True, False, 4, 0, odds=0.2)
    try:
        made = robot.export(path, _functions(rng, robot), **more)
        assert made
        for each in made:
            check(each)
    except px.PhalanxError:
        assert not os.listdir(), f"a refused export leaves {os.listdir()}"
        raise
    finally:
        for each in Path().iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()


def _functions(rng: Random, robot: px.Robot) -> Any:
    """What is exported: names, kernels, simulations, mappings."""
    some = [_function(rng, robot) for _ in range(rng.choice((1, 1, 2)))]
    draw = rng.random()
    if draw < 0.7:
        return some
    if draw < 0.85:
        names = rng.sample(
            ("one", "two", "int", "tick", "exp", "INFO", "one_batch", "constructor", *NAMES), len(some)
        )
        return dict(zip(names, some, strict=True))
    if draw < 0.9:
        return some[0]
    return near(rng, (), some, odds=0.5)


def _function(rng: Random, robot: px.Robot) -> Any:
    draw = rng.random()
    if draw < 0.03:
        return anything(rng)
    if draw < 0.08:
        return _simulation(robot, rng.choice(names()), rng.randrange(2))
    if draw < 0.12:
        return _kernel(rng.choice(robots()) if rng.random() < 0.2 else robot)
    name = rng.choice(("gravity_forces", "inverse_dynamics", "frame_pose", *FUNCTIONS))
    if FUNCTIONS[name].optional and rng.random() < 0.15:
        name += f"+{rng.choice((*FUNCTIONS[name].optional, 'value', 'nothing'))}"
    if rng.random() < 0.12:
        name = f"{rng.choice(('jvp', 'vjp', 'hvp', 'xvp'))}:{name}"
    if "frame" in name or "jacobian" in name or rng.random() < 0.03:
        name += f":{rng.choice((*robot.frame_names, 'nowhere', ''))}"
    return name


@cache
def _simulation(robot: px.Robot, integrator: Any, law: int) -> Any:
    def push(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return u - 0.1 * qd + np.sin(t)

    return robot.simulation(integrator=integrator, control=push if law else None)


@cache
def _kernel(robot: px.Robot) -> Any:
    return robot.kernel("gravity_forces")


# ------------------------------------------------------------------------ what is in files

_TRIGRAPHS = {"=": "#", "/": "\\", "'": "^", "(": "[", ")": "]", "!": "|", "<": "{", ">": "}", "-": "~"}
_C = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_JS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`", re.DOTALL)
_HASH = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_LL = re.compile(r";[^\n]*|\"[^\"]*\"")


def check(path: Path) -> None:
    """No name of the robot is code."""
    if path.suffix not in TEXTS:
        assert path.stat().st_size > 100
        return
    if path.suffix == ".cmake" and identifier(path.stem) == WORD:
        return  # the file's own name is that of a library
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    assert text.endswith("\n"), f"{path.name!r} ends within a line"
    found = re.search(rf"\b{WORD}\b", code_of(text, path.suffix))
    assert found is None, f"a name has become code in {path.suffix}: {text[:3000]!r}"
    if path.suffix in (".h", ".c", ".cl", ".cu", ".cuh"):
        odd = [c for c in text if not (c.isprintable() and c.isascii()) and c != "\n"]
        assert not odd, f"characters {odd[:5]} in {path.suffix}"


def code_of(text: str, suffix: str) -> str:
    """A text without its comments and strings, as its language reads them."""
    if suffix in (".h", ".c", ".cl", ".cu", ".cuh"):
        text = re.sub(r"\?\?([=/'()!<>-])", lambda m: _TRIGRAPHS[m[1]], text)
        return _C.sub(" ", text.replace("\\\n", ""))
    if suffix == ".mjs":
        return _JS.sub(lambda m: " ".join(re.findall(r"\$\{[^}]*\}", m[0])) if m[0][0] == "`" else " ", text)
    if suffix == ".ptx":
        return _C.sub(" ", text)
    if suffix == ".ll":
        return _LL.sub(" ", text)
    return _HASH.sub(" ", text)
