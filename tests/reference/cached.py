# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels of robots that remember nothing, and the one entry that such a kernel leaves on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import phalanx as px

KEY = "0123456789abcdef" * 4


def fresh(function: str = "inverse_dynamics", **more: Any) -> Any:
    """A kernel of a robot that remembers nothing."""
    return px.load("two_link").kernel(function, **more)


def only_entry(folder: Path) -> Path:
    """The entry of the only kernel; that of the runtime, which all share, stands beside it."""
    (path,) = (p for p in folder.rglob("*.kernel") if b"serve" not in p.read_bytes())
    return path
