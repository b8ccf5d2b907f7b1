# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Oracles answer every function of the registry, or say that they cannot."""

from __future__ import annotations

import pytest

from phalanx.algorithms import FUNCTIONS
from reference.engines import Mujoco, Oracle, Pinocchio


@pytest.mark.parametrize("engine", [Pinocchio, Mujoco])
def test_an_engine_answers_every_function_or_lists_it(engine: type[Oracle]) -> None:
    answered = {name for name in FUNCTIONS if hasattr(engine, name)}
    assert answered | engine.lacks == set(FUNCTIONS)
    assert not answered & engine.lacks
