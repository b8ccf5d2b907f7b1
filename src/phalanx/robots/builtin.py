# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The built-in robots: one parameter file each, beside this module."""

from __future__ import annotations

import tomllib
from importlib import resources

from ..description import Description
from ..errors import PhalanxError, nearest
from ..io.table import read_table

_SUFFIX = ".toml"


def builtin_names() -> list[str]:
    """Names of the built-in robots."""
    files = (entry.name for entry in resources.files("phalanx.robots").iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))


def builtin(name: str) -> Description:
    """The description of the built-in robot of that name."""
    if name not in builtin_names():
        raise PhalanxError(f'no built-in robot "{name}";{nearest(name, builtin_names(), what="built in")}')
    text = resources.files("phalanx.robots").joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    return read_table(tomllib.loads(text), source=name + _SUFFIX)
