# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The built-in robots: one parameter file each, beside this module."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ...errors import PhalanxError, nearest
from ...robot.description import Description
from ..table import read_table

_SUFFIX = ".toml"
_FOLDER = Path(__file__).parent  # `importlib.resources` takes longer to import than a robot to load


def builtin_names() -> list[str]:
    """Names of the built-in robots."""
    return sorted(file.stem for file in _FOLDER.glob(f"*{_SUFFIX}"))


def builtin(name: str) -> Description:
    """The description of the built-in robot of that name."""
    return read_table(builtin_table(name), source=name + _SUFFIX)


def builtin_table(name: str) -> dict[str, Any]:
    """The parameter file of the built-in robot of that name, parsed."""
    if name not in builtin_names():
        raise PhalanxError(f'no built-in robot "{name}";{nearest(name, builtin_names(), what="built in")}')
    return tomllib.loads((_FOLDER / (name + _SUFFIX)).read_text(encoding="utf-8"))
