# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The methods of `robot.jax` and `robot.torch`: registered functions, and those of constrained robots."""

from __future__ import annotations

from typing import Any

from ..algorithms import FUNCTIONS
from ..robot.constrained import CONSTRAINED, ConstrainedFunctions
from .signatures import CallStyle, Parameters, declare


def attach(kind: type, style: CallStyle) -> None:
    """Give a class with `evaluate` and `function` a method for each function of a robot."""
    declare(kind, style, FUNCTIONS.values(), _registered)
    for name in CONSTRAINED:
        setattr(kind, name, _constrained(name))


def _registered(parameters: Parameters) -> Any:
    """The method for a registered function."""
    name = parameters.function.name

    def method(self: Any, *given: Any, **options: Any) -> Any:
        inputs, how = parameters.arguments(given, options)
        return self.evaluate(name, inputs, **how)

    return method


def _constrained(name: str) -> Any:
    """The method for a function of robots with constraints: what `robot.function` makes, on these arrays."""

    def method(self: Any, *inputs: Any, contacts: Any = (), actuated: Any = None, **optional: Any) -> Any:
        options = {"contacts": contacts, "optional": tuple(optional)}
        if actuated is not None:
            options["actuated"] = actuated
        return self.function(self.robot.function(name, **options))(*inputs, **optional)

    method.__name__, method.__doc__ = name, getattr(ConstrainedFunctions, name).__doc__
    return method
