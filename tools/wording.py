# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Words, parameters and docstrings of registered functions, for `make_surface.py`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap
from types import ModuleType

SOURCE = Path(__file__).parents[1] / "src" / "phalanx"
if "phalanx" not in sys.modules:  # the registry alone: methods of new functions are not declared yet
    package = ModuleType("phalanx")
    package.__path__ = [str(SOURCE)]
    sys.modules["phalanx"] = package

from phalanx.algorithms import ALGORITHMS, FUNCTIONS, Function  # noqa: E402
from phalanx.algorithms.registry import VALUE, with_value  # noqa: E402, F401

WIDTH = 110

INPUTS = {
    "q": "positions",
    "qd": "rates",
    "qdd": "accelerations",
    "tau": "joint forces (N m of turning joints, N of sliding ones)",
    "external": "wrenches [N m, N] on the links, each in its own link frame at its origin, or some of them "
    'by name as {"link": wrench} with (…, 6) each',
    "inertias": "ten inertial parameters of each link in place of the robot's own, which are "
    "`robot.inertial_parameters.reshape(-1, 10)`",
    "base_velocity": "twist of the base [rad/s, m/s], in its own coordinates",
    "base_acceleration": "the component-wise derivative of that twist",
}
TYPES = {"external": "External"}  # of inputs other than ArrayLike
SIZES = {"q": "nq", "v": "nv", "l": "n_links", "10l": "10 n_links"}
NAMED = ("inertias",)  # optional inputs that nobody gives by position
MOTION = ("kinematics", "energy", "momentum", "center_of_mass")  # files of algorithms


def family(name: str) -> list[Function]:
    """The functions of a family, with files of their own: "motion" is where bodies are and how fast."""
    first = {f.name: next(iter(ALGORITHMS[f.name].values())).run.__module__ for f in FUNCTIONS.values()}
    motion = [f for f in FUNCTIONS.values() if first[f.name].rpartition(".")[2] in MOTION]
    return motion if name == "motion" else [f for f in FUNCTIONS.values() if f not in motion]


def summary(f: Function) -> str:
    """What a function returns, with its shape: the first line of its first algorithm."""
    return _paragraphs(f)[0]


def details(f: Function) -> list[str]:
    """What more there is to say of functions of a frame."""
    return _paragraphs(f)[1:] if f.frame else []


def _paragraphs(f: Function) -> list[str]:
    first = next(iter(ALGORITHMS[f.name.removesuffix(VALUE)].values()))
    summary, *others = cleandoc(first.run.__doc__ or "").split("\n", 1)
    return [summary, *(" ".join(part.split()) for part in "".join(others).split("\n\n") if part.strip())]


def inputs(f: Function) -> list[str]:
    """Of each input, optional ones last, its name, shape and meaning."""
    return [f"`{n}` ({shape(s)}): {INPUTS[n]}." for n, s in (f.inputs | f.optional).items()]


def result(f: Function) -> str:
    """The type of what a function gives."""
    return "Array" if len(f.outputs) == 1 else f"results.{camel(f.name)}[Array]"


def places(f: Function) -> str:
    """The type of what takes it."""
    return "Array" if len(f.outputs) == 1 else f"tuple[{', '.join(['Array'] * len(f.outputs))}]"


def filled(f: Function) -> str:
    """What `out` takes."""
    if len(f.outputs) == 1:
        return "`out` takes the result, an array of its shape"
    return f"`out` takes the results, {len(f.outputs)} arrays of their shapes"


def shapes(f: Function) -> str:
    """The shapes of all results."""
    return ", ".join(f"({shape(sizes)})" for sizes in f.outputs.values())


def shape(symbols: Iterable[str]) -> str:
    return ", ".join(["…", *(SIZES.get(s, s) for s in symbols)])


def algorithm(f: Function) -> str:
    """Which algorithms there are."""
    names = list(ALGORITHMS[f.name])
    return f'`algorithm` is one of `px.algorithms("{f.name}")`' + f" ({', '.join(names)})" * (len(names) > 1)


def typed(name: str) -> str:
    return f"{name}: {TYPES.get(name, 'ArrayLike')}"


def required(f: Function) -> list[str]:
    return [typed(n) for n in f.inputs] + ["frame: str"] * f.frame


def optional(f: Function, *, named: bool) -> list[str]:
    """Optional inputs that are given by name only, or the others."""
    return [f"{typed(n)} | None = None" for n in f.optional if (n in NAMED) == named]


def parameters(f: Function, *keywords: str) -> list[str]:
    """Those of a method: inputs, then what is given by name."""
    return [
        *required(f),
        *optional(f, named=False),
        "*",
        *optional(f, named=True),
        *choices(f),
        *keywords,
    ]


def choices(f: Function) -> list[str]:
    return [f'{n}: {camel(n)} = "{known[0]}"' for n, known in f.choices.items()]


def pairs(names: Iterable[str]) -> str:
    """The content of a dictionary from names to variables."""
    return ", ".join(f'"{name}": {name}' for name in names)


def together(names: Iterable[str]) -> str:
    """A tuple of variables."""
    names = list(names)
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.replace(".", "_").split("_"))


def method(name: str, parameters: list[str], result: str, told: list[str] | None, run: str = "") -> str:
    """A method with its docstring, whose first line is the first of `told`; without, one of its overloads."""
    head = [f"    def {name}({', '.join(['self', *parameters])}) -> {result}:"]
    if len(head[0]) > WIDTH:
        head = [f"    def {name}(", *_rows(["self", *parameters], 8), f"    ) -> {result}:"]
    if told is None:
        return "\n".join(head) + " ...\n"
    return "\n".join([*head, *docstring(told), *(statement(run) if run else [])]) + "\n"


def docstring(told: list[str]) -> list[str]:
    """Paragraphs; inputs make a list."""
    margin = " " * 8
    lines = [f'{margin}"""{told[0]}']
    was_input = False
    for text in told[1:]:
        is_input = re.match(r"`\w+` \(…", text) is not None
        lines += [] if is_input and was_input else [""]
        first, other = (f"{margin}- ", f"{margin}  ") if is_input else (margin, margin)
        lines += wrap(text, WIDTH, initial_indent=first, subsequent_indent=other)
        was_input = is_input
    return [*lines, f'{margin}"""']


def statement(text: str) -> list[str]:
    """A call as a statement, broken behind commas where it is too long."""
    if len(text) + 8 <= WIDTH:
        return [f"        {text}"]
    head, _, inside = text.removesuffix(")").partition("(")
    return [f"        {head}(", *_rows(inside.split(", "), 12), "        )"]


def _rows(parts: Iterable[str], indent: int) -> list[str]:
    """Parts with commas behind them in as few rows as will do; keyword-only ones begin another."""
    rows = [""]
    for part in parts:
        if part == "*" or len(rows[-1]) + len(part) + 2 > WIDTH - indent:
            rows.append("")
        rows[-1] += f" {part}," if rows[-1] else f"{part},"
    return [" " * indent + row for row in rows]
