# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalar programs on NumPy: each scalar is an array with a number for every state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ..robot.joints import rescale
from .ops import (
    ABS,
    ADD,
    ARCTAN2,
    COS,
    DIV,
    EXP,
    INPUT,
    LESS,
    LOG,
    MAX,
    MIN,
    MUL,
    NEG,
    RESCALE,
    SELECT,
    SIN,
    SQRT,
    SUB,
    TANH,
)
from .scalar import Node
from .trace import TracedProgram

RULES: dict[str, Callable[..., Any]] = {
    ADD: np.add,
    SUB: np.subtract,
    MUL: np.multiply,
    DIV: np.divide,
    NEG: np.negative,
    SIN: np.sin,
    COS: np.cos,
    ABS: np.abs,
    MIN: np.minimum,
    MAX: np.maximum,
    SQRT: np.sqrt,
    EXP: np.exp,
    TANH: np.tanh,
    LOG: np.log,
    ARCTAN2: np.arctan2,
    LESS: lambda a, b: np.where(a < b, np.result_type(a, b).type(1), np.result_type(a, b).type(0)),
    SELECT: lambda mask, a, b: np.where(mask != 0, a, b),
    RESCALE: rescale,
}


def program_on_arrays(program: TracedProgram, inputs: Mapping[str, np.ndarray]) -> Any:
    """The outputs (states, …) of a program for inputs (states, …): one array, or a list of several."""
    first = next(iter(inputs.values()))
    count, dtype = len(first), first.dtype
    flat = {name: array.reshape(count, -1) for name, array in inputs.items()}
    values: dict[int, Any] = {}

    def value(x: Any) -> Any:
        return values[x.number] if type(x) is Node else dtype.type(x)

    for node in program.nodes:
        if node.op is INPUT:
            name, index = node.args
            values[node.number] = flat[name][:, index]
        else:
            rule = RULES.get(node.op)
            if rule is None:
                raise TypeError(f"arrays: no rule for the operation {node.op}.")
            values[node.number] = rule(*map(value, node.args))
    results, made = iter(program.results), []
    for shape in program.outputs.values():
        columns = np.empty((count, prod(shape)), dtype)
        for k in range(prod(shape)):
            columns[:, k] = value(next(results))
        made.append(columns.reshape((count, *shape)))
    return made if len(made) > 1 else made[0]
