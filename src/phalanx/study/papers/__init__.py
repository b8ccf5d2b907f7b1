# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The papers behind the algorithms: what they print next to what this library computes."""

from .catalogue import names, paper, reproduce
from .verdicts import Record

__all__ = ["Record", "names", "paper", "reproduce"]
