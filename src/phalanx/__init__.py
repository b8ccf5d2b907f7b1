# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Phalanx: rigid-body dynamics for many links and many robots."""

from . import convert
from .algorithms import algorithms
from .analysis.accuracy import accuracy
from .builder import RobotBuilder
from .comparison import compare
from .dispatch import set_threads
from .errors import PhalanxError, PhalanxWarning
from .loading import chain, coil, dill, load, robots, snake, tree
from .robot import Robot

__version__ = "0.1.0"

__all__ = [
    "PhalanxError",
    "PhalanxWarning",
    "Robot",
    "RobotBuilder",
    "accuracy",
    "algorithms",
    "chain",
    "coil",
    "compare",
    "convert",
    "dill",
    "load",
    "robots",
    "set_threads",
    "snake",
    "tree",
]
