# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a program shall compute: an algorithm for one robot, and the sizes of what goes in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..algorithms import FUNCTIONS, Algorithm, Function
from ..model import Model


@dataclass(frozen=True)
class Task:
    """An algorithm on a model, with the shapes of its inputs, those given by name, and of its output."""

    algorithm: Algorithm
    model: Model
    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    optional: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)  # what else its text is told

    @property
    def function(self) -> Function:
        return FUNCTIONS[self.algorithm.function]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs, in order."""
        return {**self.inputs, **self.optional}
