# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A folder of compiled code for one test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for a test."""
    place = tmp_path / "kernels"
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(place))
    return place
