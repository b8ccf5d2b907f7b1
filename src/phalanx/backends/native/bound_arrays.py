# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Compiled code bound to arrays: a function without arguments that recomputes outputs in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...arrays import is_masked_array, overlaps_itself, require_shape
from ...errors import PhalanxError
from ...robot.checks import require_masses
from ...robot.robot import Robot
from ...typing import Bound
from ..base import require_few_axes
from . import objects
from .build import CompiledCode
from .threads import helpers_of


def bound(
    code: CompiledCode,
    name: str,
    inputs: Mapping[str, Any],
    outs: Mapping[str, Any],
    robot: Robot,
    threads: int = 1,
) -> Bound:
    """A function of no arguments that recomputes the arrays `outs` from `inputs`, both by name, in place.

    So many `threads` share a batch, or one state if the code has groups.
    """
    _check(code, inputs, outs, robot)
    arrays = [*inputs.values(), *outs.values()]
    if threads > 1 and arrays[-1].shape != code.shapes[-1] and objects.usable():
        return _by_threads(code, tuple(arrays), threads)
    helpers = helpers_of(threads, code.groups) if threads > 1 and code.groups > 1 else 0
    if helpers and not all(a.flags.c_contiguous for a in arrays):
        raise PhalanxError(
            f'bind: {threads} threads share one state of robot "{robot.name}" in contiguous arrays only; '
            "pass C-contiguous ones, or threads=1."
        )
    if not objects.usable():
        given, results = tuple(inputs.values()), tuple(outs.values())

        def through_ufunc() -> None:
            code.ufunc(*given, out=results)

        return through_ufunc
    cores = [len(s) for s in code.shapes]
    try:
        step: Bound = objects.bound_function(code.loaded, name, arrays, cores, code.address, code, helpers)
    except ValueError as error:
        raise PhalanxError(f"bind: {error}; pass C-contiguous arrays.") from None
    return step


def _by_threads(code: CompiledCode, arrays: tuple[np.ndarray, ...], threads: int) -> Bound:
    """The function of no arguments for a batch that threads share."""
    inputs, outs = arrays[: -len(code.outputs)], arrays[-len(code.outputs) :]

    def step() -> None:
        if not code.fill(arrays, threads):
            code.ufunc(*inputs, out=outs)

    return step


def _check(code: CompiledCode, inputs: Mapping[str, Any], outs: Mapping[str, Any], robot: Robot) -> None:
    names, arrays = [*inputs, *outs], [*inputs.values(), *outs.values()]
    for name, array, shape in zip(names, arrays, code.shapes, strict=True):
        where = f'bind: {name} for robot "{robot.name}"'
        plain = isinstance(array, np.ndarray) and not is_masked_array(array)
        if not plain or array.dtype != code.dtype:
            kind = array.dtype if plain else type(array).__name__
            raise PhalanxError(f"{where} is {kind}, expected an array of {code.dtype}.")
        require_shape(array.shape, shape, where)
        if not array.flags.aligned or not (array.flags.writeable or name not in outs):
            raise PhalanxError(f"{where} is read-only or not aligned; pass an ordinary array.")
    if "inertias" in inputs:
        require_masses("bind: inertias", inputs["inertias"], robot.link_names, robot.name)
    rows = zip(names, arrays, code.shapes, strict=True)
    batch = _batch({name: a.shape[: a.ndim - len(s)] for name, a, s in rows if name not in outs})
    for k in range(first := len(inputs), len(names)):
        shape = (*batch, *code.shapes[k])
        if arrays[k].shape != shape:
            raise PhalanxError(f"bind: {names[k]} has shape {arrays[k].shape}, expected {shape}.")
        if overlaps_itself(arrays[k]):
            raise PhalanxError(
                f"bind: {names[k]} has several elements in one place of memory (strides "
                f"{arrays[k].strides}); pass an ordinary array."
            )
        if any(np.may_share_memory(a, arrays[k]) for a in arrays[:k]):
            what = "an input" if k == first else "an input or another output"
            raise PhalanxError(f"bind: {names[k]} shares memory with {what}; pass an array of its own.")


def _batch(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch shape of bound arrays."""
    require_few_axes("bind", shapes)
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise PhalanxError(f"bind: the batch shapes {list(shapes.values())} do not broadcast.") from None
