# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots of any size for tests and studies: random chains and trees, and those of the literature."""

from __future__ import annotations

from collections.abc import Sequence

from ..robot.robot import Robot
from .robots import generators as descriptions

__all__ = ["chain", "coil", "dill", "snake", "tree"]


def __dir__() -> list[str]:
    return __all__


def chain(n: int, seed: int = 0, prismatic: float = 0.0) -> Robot:
    """A random serial chain of n links in general position; a fraction `prismatic` of its joints slides."""
    return Robot(descriptions.chain(n, seed, prismatic))


def tree(n: int, branching: float = 0.3, seed: int = 0, joints: Sequence[str] = ("revolute",)) -> Robot:
    """A random tree of n links with joints of the given types."""
    return Robot(descriptions.tree(n, branching, seed, joints))


def snake(n: int) -> Robot:
    """A snake of n modules with alternating axes."""
    return Robot(descriptions.snake(n))


def coil(n: int) -> Robot:
    """Featherstone's coil of n links, a test of accuracy on long chains."""
    return Robot(descriptions.coil(n))


def dill(k: int) -> Robot:
    """Featherstone's dill tree of order k, a test of accuracy on branched systems."""
    return Robot(descriptions.dill(k))
