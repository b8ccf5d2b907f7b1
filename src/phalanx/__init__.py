# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Phalanx: rigid-body dynamics for many links and many robots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .algorithms import algorithms
from .builder import RobotBuilder
from .dispatch import set_threads
from .errors import PhalanxError, PhalanxWarning
from .loading import chain, coil, dill, load, robots, snake, tree
from .methods import Robot

if TYPE_CHECKING:
    from . import convert, figures, machines, papers
    from .analysis.accuracy import accuracy
    from .explain.closed_form import closed_form
    from .explain.compare import compare
    from .explain.cost import cost
    from .explain.recommend import recommend
    from .explain.schedule import schedule

__version__ = "0.1.0"

__all__ = [
    "PhalanxError",
    "PhalanxWarning",
    "Robot",
    "RobotBuilder",
    "accuracy",
    "algorithms",
    "chain",
    "closed_form",
    "coil",
    "compare",
    "convert",
    "cost",
    "dill",
    "figures",
    "load",
    "machines",
    "papers",
    "recommend",
    "robots",
    "schedule",
    "set_threads",
    "snake",
    "tree",
]

# Imported when first asked for: few programs need them.
_LATER = {
    "accuracy": ".analysis.accuracy",
    "closed_form": ".explain.closed_form",
    "compare": ".explain.compare",
    "convert": ".convert",
    "cost": ".explain.cost",
    "figures": ".figures",
    "machines": ".machines",
    "papers": ".papers",
    "recommend": ".explain.recommend",
    "schedule": ".explain.schedule",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_LATER[name], __name__)
    return module if _LATER[name] == f".{name}" else getattr(module, name)
