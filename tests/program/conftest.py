# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tests of programs verify whatever passes return, and whatever is compiled."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `checked` verify."""
    monkeypatch.setenv("PHALANX_VERIFY", "1")
