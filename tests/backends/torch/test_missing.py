# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.torch` where PyTorch is not installed."""

from __future__ import annotations

import sys

import pytest

import phalanx as px


def test_without_pytorch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("phalanx.backends.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(px.PhalanxError, match=r'needs the package "torch".*pip install "\.\[torch\]" in'):
        _ = px.chain(2).torch
