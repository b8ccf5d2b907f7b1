# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robot files that the tests of the loaders share."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def example_urdfs() -> list[Path]:
    """All URDF files of the package example-robot-data, none if it is not installed."""
    spec = importlib.util.find_spec("cmeel") or importlib.util.find_spec("pinocchio")
    if spec is None or spec.origin is None:
        return []
    # Cmeel packages share one prefix beside the packages; pinocchio itself lives inside it.
    for folder in Path(spec.origin).parents:
        for share in (folder / "cmeel.prefix" / "share", folder / "share"):
            found = sorted((share / "example-robot-data").rglob("*.urdf"))
            if found:
                return found
    return []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `example_urdf` one value per file."""
    if "example_urdf" not in metafunc.fixturenames:
        return
    files = example_urdfs()
    if files:
        metafunc.parametrize("example_urdf", files, ids=[f"{f.parents[1].name}-{f.stem}" for f in files])
    else:
        skip = pytest.mark.skip(reason="the package example-robot-data is not installed")
        metafunc.parametrize("example_urdf", [pytest.param(None, marks=skip)])
