# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots that a word names: a file beside this module, or a generator with its size (`snake:200`)."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import PhalanxError, nearest, shown
from ...robot.description import Description
from ..table import read_table
from . import generators

GENERATORS: dict[str, Callable[..., Description]] = {
    f.__name__: f
    for f in (generators.chain, generators.coil, generators.dill, generators.snake, generators.tree)
}
_SUFFIX = ".toml"
_FOLDER = Path(__file__).parent  # `importlib.resources` takes longer to import than a robot to load


def builtin_names() -> list[str]:
    """Names of the built-in robots."""
    return sorted(file.stem for file in _FOLDER.glob(f"*{_SUFFIX}"))


def builtin(name: str) -> Description:
    """The description of the built-in robot of that name, or of a generator's, as in `snake:200`."""
    if ":" in name:
        return _generated(name)
    return read_table(builtin_table(name), source=name + _SUFFIX)


def names_generator(name: str) -> bool:
    """Whether a name is that of a generator with something behind a colon."""
    return name.partition(":")[0] in GENERATORS and ":" in name


def _generated(name: str) -> Description:
    """The robot of `generator:size`, or of `generator:size,option=number` as in `chain:50,seed=3`."""
    word, _, rest = name.partition(":")
    if word not in GENERATORS:
        raise PhalanxError(f'no generator "{word}" of robots;{nearest(word, GENERATORS, what="generators")}')
    make = GENERATORS[word]
    options = [p.name for p in inspect.signature(make).parameters.values() if p.name != "joints"]
    given: dict[str, int | float] = {}
    for k, part in enumerate(rest.split(",")):
        key, equals, text = part.partition("=") if k else (options[0], "=", part)
        value = _number(text)
        if not equals or key not in options or key in given or value is None:
            known = f", then options of {word} ({', '.join(options[1:])})" if options[1:] else ""
            example = f"{word}:{_EXAMPLE[word]}"
            raise PhalanxError(
                f'robot "{name}": got {shown(part)}, expected an integer as in {example}{known}.'
            )
        given[key] = value
    return make(**given)


_EXAMPLE = {"chain": "50", "coil": "100", "dill": "6", "snake": "200", "tree": "30"}


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def builtin_table(name: str) -> dict[str, Any]:
    """The parameter file of the built-in robot of that name, parsed."""
    if name in GENERATORS:
        raise PhalanxError(f'robot "{name}": expected its size too, as in {name}:{_EXAMPLE[name]}.')
    if name not in builtin_names():
        raise PhalanxError(f'no built-in robot "{name}";{nearest(name, builtin_names(), what="built in")}')
    return tomllib.loads((_FOLDER / (name + _SUFFIX)).read_text(encoding="utf-8"))
