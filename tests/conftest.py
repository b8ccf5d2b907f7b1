# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What all tests share: the slow loops of `reference` by name, and short reproducible searches."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "phalanx",
    max_examples=20,
    deadline=None,  # the cores are shared
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("phalanx")
