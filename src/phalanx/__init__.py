# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Phalanx: rigid-body dynamics for many links and many robots."""

import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .algorithms import algorithms
from .backends.base import set_threads
from .errors import PhalanxError, PhalanxWarning
from .io import generators
from .io.generators import chain, snake, tree
from .io.loading import load, robots
from .methods import Robot
from .robot.builder import RobotBuilder

if TYPE_CHECKING:
    from . import data
    from .backends.native.kernel import Kernel
    from .distributed import DistributedChain
    from .inverse_kinematics import target
    from .io import convert
    from .io.visuals import visuals
    from .robot import constraint
    from .simulation import contact, control
    from .simulation.simulation import Simulation
    from .studio.report import report
    from .study import figures, machines, papers
    from .study.accuracy import accuracy
    from .study.closed_form import closed_form
    from .study.compare import compare
    from .study.cost import cost
    from .study.recommend import recommend
    from .study.schedule import schedule
    from .study.speedup import speedup
    from .tracing import math
    from .tracing.function import OwnFunction

__version__ = "0.1.0"

__all__ = [
    "DistributedChain",
    "Kernel",
    "OwnFunction",
    "PhalanxError",
    "PhalanxWarning",
    "Robot",
    "RobotBuilder",
    "Simulation",
    "accuracy",
    "algorithms",
    "chain",
    "closed_form",
    "compare",
    "constraint",
    "contact",
    "control",
    "convert",
    "cost",
    "data",
    "figures",
    "generators",
    "load",
    "machines",
    "math",
    "papers",
    "recommend",
    "report",
    "robots",
    "schedule",
    "set_threads",
    "snake",
    "speedup",
    "target",
    "tree",
    "visuals",
]

# Imported when first asked for: few programs need them.
_LATER = {
    "DistributedChain": ".distributed",
    "Kernel": ".backends.native.kernel",
    "OwnFunction": ".tracing.function",
    "Simulation": ".simulation.simulation",
    "accuracy": ".study.accuracy",
    "closed_form": ".study.closed_form",
    "compare": ".study.compare",
    "constraint": ".robot.constraint",
    "contact": ".simulation.contact",
    "control": ".simulation.control",
    "convert": ".io.convert",
    "cost": ".study.cost",
    "data": ".data",
    "figures": ".study.figures",
    "machines": ".study.machines",
    "math": ".tracing.math",
    "papers": ".study.papers",
    "recommend": ".study.recommend",
    "report": ".studio.report",
    "schedule": ".study.schedule",
    "speedup": ".study.speedup",
    "target": ".inverse_kinematics.target",
    "visuals": ".io.visuals",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_LATER[name], __name__)
    found = getattr(module, name, module)
    if isinstance(found, ModuleType):  # `dir` shows what it offers, not what it imports
        setattr(found, "__dir__", lambda: sorted(found.__all__))  # noqa: B010
    return found


class _PublicModules:
    """Finds `phalanx.math` and the like, which are elsewhere, for `import phalanx.math`."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, public = name.rpartition(".")
        if package != __name__ or public not in __all__:
            return None
        module = globals().get(public) or __getattr__(public)
        return ModuleSpec(name, _PublicModule(module)) if isinstance(module, ModuleType) else None


class _PublicModule(Loader):
    """Hands out a module that is imported already, and leaves it as it is."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


sys.meta_path.append(_PublicModules)
