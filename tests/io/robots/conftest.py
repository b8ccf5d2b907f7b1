# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pinocchio as an independent reader of our descriptions."""

from collections.abc import Callable
from typing import Any

import pytest

from phalanx.robot.description import Description


@pytest.fixture
def pinocchio_model() -> Callable[[Description], Any]:
    """A function that builds Pinocchio's model of a robot with revolute, prismatic and fixed joints."""
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference.pinocchio import model_of

    return lambda description: model_of(description)[0]
