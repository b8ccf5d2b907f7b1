# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The text of an algorithm on JAX arrays of one state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...algorithms import NOTHING, Algorithm
from ...robot.model import Model
from ...sweeps.verbs import ordering
from .arrays import JaxArray, array, unwrap
from .levels import JaxLevels


def run_text(
    text: Algorithm,
    model: Model,
    walk: JaxLevels,
    dtype: Any,
    arrays: Mapping[str, Any],
    arguments: Mapping[str, Any] = NOTHING,
) -> tuple[Any, ...]:
    """All results of an algorithm for inputs by name, swept in an order; `arguments` are no arrays."""
    wrapped = {name: JaxArray(a) for name, a in arrays.items()}
    inputs = [wrapped.pop(name) for name in text.served.inputs]
    with ordering(walk), np.errstate(all="ignore"):  # constants meet each other in NumPy
        made = text(model, *inputs, **wrapped, **arguments)
        return tuple(unwrap(array(x, dtype)) for x in (made if len(text.served.outputs) > 1 else (made,)))
