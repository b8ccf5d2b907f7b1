# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The functions of robots with constraints on arrays of other libraries: by what `robot.function` makes."""

from __future__ import annotations

from typing import Any

from ..robot.constrained import CONSTRAINED, ConstrainedFunctions


def with_constraints(kind: type) -> None:
    """Add the functions of `CONSTRAINED` to a class of functions of a robot."""
    for name in CONSTRAINED:
        setattr(kind, name, _method(name))


def _method(name: str) -> Any:
    def method(self: Any, *inputs: Any, contacts: Any = (), actuated: Any = None, **optional: Any) -> Any:
        options = {"contacts": contacts, "optional": tuple(optional)}
        if actuated is not None:
            options["actuated"] = actuated
        return self.function(self.robot.function(name, **options))(*inputs, **optional)

    method.__name__, method.__doc__ = name, getattr(ConstrainedFunctions, name).__doc__
    return method
